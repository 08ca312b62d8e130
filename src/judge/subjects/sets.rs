//! The ClusterSets of profiles and namespaces.

use std::collections::HashMap;

use evidence::{
    Evidence,
    api::{ClusterProfile, Labels, names},
};

use crate::text::is_placeholder;

/// The ClusterSets of namespaces, from their labels or else as declared by the user.
pub(crate) struct ClusterSets<'a>(HashMap<&'a str, &'a str>);

impl<'a> ClusterSets<'a> {
    /// Reads the labels of all namespaces, and the declarations.
    pub(crate) fn of(evidence: &'a Evidence) -> Self {
        let declared = &evidence.header.claim.clustersets;
        let mut sets: HashMap<&str, &str> = declared
            .iter()
            .map(|(namespace, set)| (&**namespace, &**set))
            .collect();
        sets.extend(
            evidence
                .namespaces
                .iter()
                .filter_map(|namespace| Some((&*namespace.name, labelled(&namespace.labels)?))),
        );
        Self(sets)
    }

    /// The ClusterSet that the profiles of a namespace represent.
    pub(crate) fn of_namespace(&self, namespace: &str) -> Option<&'a str> {
        self.0.get(namespace).copied()
    }

    /// The ClusterSet of a profile: its own claim, or that of its namespace.
    pub(crate) fn of_profile(&self, profile: &'a ClusterProfile) -> Option<&'a str> {
        let claimed = claims(profile).map(|(_, set)| set).next();
        claimed.or_else(|| self.of_namespace(&profile.metadata.namespace))
    }
}

/// The ClusterSet in a namespace's label: the KEP's key first, then that of the API's Go package.
fn labelled(labels: &Labels) -> Option<&str> {
    label(labels, names::LABEL_CLUSTERSET).or_else(|| label(labels, names::LABEL_CLUSTERSET_GO))
}

/// A namespace's label, unless it is empty: some managers write an empty one outside of ClusterSets.
pub(crate) fn label<'a>(labels: &'a Labels, key: &str) -> Option<&'a str> {
    labels.get(key).map(String::as_str).filter(|set| !set.is_empty())
}

/// The ClusterSets that a profile claims, each with the path of the field.
pub(crate) fn claims(profile: &ClusterProfile) -> impl Iterator<Item = (&'static str, &str)> {
    let property = profile.property(names::PROPERTY_CLUSTERSET);
    [
        (
            "status.properties[clusterset.k8s.io].value",
            property.map(|property| property.value.trim()),
        ),
        (
            "metadata.labels[multicluster.x-k8s.io/clusterset]",
            profile.label(names::LABEL_CLUSTERSET_GO),
        ),
        (
            "metadata.labels[clusterset.multicluster.x-k8s.io]",
            profile.label(names::LABEL_CLUSTERSET),
        ),
    ]
    .into_iter()
    .filter_map(|(path, set)| Some((path, set.filter(|set| !is_placeholder(set))?)))
}
