//! Whether two profiles describe the same member cluster, as far as they tell.

use std::collections::{BTreeSet, HashMap};

use crate::{
    api::{ClusterProfile, names},
    evidence::Evidence,
    rules::{
        Findings,
        endpoints::{Endpoints, Place, normal},
    },
};

/// What one piece of evidence says of two profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// They describe one cluster.
    Same,
    /// They describe two clusters.
    Different,
    /// It does not tell.
    Unknown,
}

/// Values that stand where an id is not known, in lower case.
const PLACEHOLDERS: [&str; 8] = [
    "",
    "-",
    "00000000-0000-0000-0000-000000000000",
    "n/a",
    "none",
    "null",
    "undefined",
    "unknown",
];

/// The ClusterSets of namespaces, by their label: an id is unique within a ClusterSet only.
pub(super) struct ClusterSets<'a>(HashMap<&'a str, &'a str>);

impl<'a> ClusterSets<'a> {
    /// Reads the labels of all namespaces.
    pub(super) fn of(evidence: &'a Evidence) -> Self {
        let label = |labels: &'a crate::api::Labels| {
            let kep = labels.get(names::LABEL_CLUSTERSET);
            kep.or(labels.get(names::LABEL_CLUSTERSET_GO)).map(String::as_str)
        };
        Self(
            evidence
                .namespaces
                .iter()
                .filter_map(|namespace| Some((&*namespace.name, label(&namespace.labels)?)))
                .collect(),
        )
    }

    /// The ClusterSet of a profile: by its property, its label, or its namespace's label.
    fn set(&self, profile: &'a ClusterProfile) -> Option<&'a str> {
        profile
            .property(names::PROPERTY_CLUSTERSET)
            .map(|property| &*property.value)
            .or_else(|| profile.label(names::LABEL_CLUSTERSET_GO))
            .or_else(|| self.0.get(&*profile.metadata.namespace).copied())
            .filter(|set| !set.is_empty())
    }

    /// What the ids of the clusters say.
    pub(super) fn by_ids(&self, one: &'a ClusterProfile, other: &'a ClusterProfile) -> Relation {
        let pairs = || {
            names::PROPERTIES_CLUSTER_ID
                .iter()
                .filter_map(|name| Some((cluster_id(one, name)?, cluster_id(other, name)?)))
        };
        let equal = pairs().any(|(one, other)| one == other);
        let unequal = pairs().any(|(one, other)| one != other);
        match (equal, unequal) {
            (true, false) => match (self.set(one), self.set(other)) {
                (Some(one), Some(other)) if one != other => Relation::Unknown,
                _ => Relation::Same,
            },
            (false, true) => Relation::Different,
            _ => Relation::Unknown,
        }
    }

    /// What the ids say, or else the endpoints.
    pub(super) fn by_all(&self, one: &'a ClusterProfile, other: &'a ClusterProfile) -> Relation {
        match self.by_ids(one, other) {
            Relation::Unknown => by_endpoints(one, other),
            told => told,
        }
    }
}

/// Says so where profiles of the whole hub were to be compared, and only some namespaces were looked at.
pub(super) fn note_bounds(evidence: &Evidence, findings: &mut Findings) {
    let namespaces = &evidence.header.scope.namespaces;
    if !namespaces.is_empty() {
        findings.note(format!(
            "profiles were compared within these namespaces only: {}",
            namespaces.join(", ")
        ));
    }
}

/// What the endpoints say: one set, two sets without a common member, or something between. One set of addresses for
/// private use says nothing: nearly every cluster knows itself by such an address.
pub(super) fn by_endpoints(one: &ClusterProfile, other: &ClusterProfile) -> Relation {
    let (one, other) = (endpoint_set(one), endpoint_set(other));
    if one.is_empty() || other.is_empty() {
        Relation::Unknown
    } else if one == other {
        match one.iter().all(|endpoint| is_private(endpoint)) {
            true => Relation::Unknown,
            false => Relation::Same,
        }
    } else if one.is_disjoint(&other) {
        Relation::Different
    } else {
        Relation::Unknown
    }
}

/// A cluster id, unless its value only holds the place of one.
pub(super) fn cluster_id<'a>(profile: &'a ClusterProfile, property: &str) -> Option<&'a str> {
    let value = profile.property(property)?.value.trim();
    let placeholder = PLACEHOLDERS.iter().any(|p| p.eq_ignore_ascii_case(value));
    (!placeholder).then_some(value)
}

/// Calls with each place that the endpoints lead to, and tells whether all of them could be read: when one of them
/// cannot be, or identifies no member, the rest would be another set than the manager meant.
pub(super) fn each_place(profile: &ClusterProfile, mut take: impl FnMut(&Place<'_>)) -> bool {
    let Some(property) = profile.property(names::PROPERTY_ENDPOINTS) else {
        return false;
    };
    Endpoints::read(&property.value)
        .entries()
        .iter()
        .all(|entry| Place::read(entry).inspect(&mut take).is_some())
}

/// The places that the endpoints lead to; empty when they cannot all be told.
fn endpoint_set(profile: &ClusterProfile) -> BTreeSet<String> {
    let Some(property) = profile.property(names::PROPERTY_ENDPOINTS) else {
        return BTreeSet::new();
    };
    let endpoints = Endpoints::read(&property.value);
    let places = endpoints.entries().iter().map(|entry| normal(entry));
    places.collect::<Option<_>>().unwrap_or_default()
}

/// Whether an endpoint is an address for private use.
fn is_private(endpoint: &str) -> bool {
    Place::read(endpoint).is_some_and(|place| place.is_private())
}

/// Whether both have an access provider with the same server, CA and settings. The settings count, because a
/// gateway may tell the members behind it apart by them. Without a CA, a server with an address for private use may be
/// another one for each of them.
pub(super) fn share_access(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    one.access().any(|ours| {
        other.access().any(|theirs| {
            let (ours, theirs) = (&ours.cluster, &theirs.cluster);
            let servers = (server(ours), server(theirs));
            let has_ca = ours.certificate_authority_data.is_some();
            matches!(servers, (Some(ours), Some(theirs)) if ours == theirs && (has_ca || !ours.is_private()))
                && ours.certificate_authority_data == theirs.certificate_authority_data
                && ours.tls_server_name == theirs.tls_server_name
                && ours.proxy_url == theirs.proxy_url
                && ours.extensions == theirs.extensions
        })
    })
}

/// The place of an access provider's server, where it identifies one.
pub(super) fn server(cluster: &crate::api::Cluster) -> Option<Place<'_>> {
    Place::read(cluster.server.as_deref()?)
}
