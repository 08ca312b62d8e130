//! A PlacementDecision as the suite reads it: v1alpha1 and v1alpha2 in one, and lenient as profiles are.

use std::{ops::Deref, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Metadata, names,
    shape::{is_default, object_or_default, object_or_none, or_default, share, share_list, share_some},
};

/// One slice of a scheduler's decision (KEP-5313): the members that it selected, at most 100.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PlacementDecision {
    /// The API version that it was read in, for example `multicluster.x-k8s.io/v1alpha1`.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub api_version: Arc<str>,
    /// The object metadata that rules use.
    #[serde(deserialize_with = "object_or_default")]
    pub metadata: SliceMetadata,
    /// The scheduler that produced it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler_name: Option<Arc<str>>,
    /// The selected members; `None` if the list is absent or `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decisions: Option<Arc<[ClusterDecision]>>,
}

/// The metadata of a slice: that of a profile, and by what it is owned and kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SliceMetadata {
    /// What all objects have.
    #[serde(flatten)]
    pub common: Metadata,
    /// The objects with which it is deleted.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub owner_references: Vec<OwnerReference>,
    /// What must be done before it goes.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub finalizers: Vec<String>,
}

/// An object that owns a slice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// API version of the owner.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub api_version: Arc<str>,
    /// Kind of the owner.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub kind: Arc<str>,
    /// Name of the owner.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub name: Arc<str>,
    /// Uid of the owner.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub uid: Arc<str>,
    /// True for the one owner that manages the slice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<bool>,
}

/// One selected member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterDecision {
    /// Its ClusterProfile; `None` if the reference is absent.
    #[serde(deserialize_with = "object_or_none", skip_serializing_if = "Option::is_none")]
    pub cluster_profile_ref: Option<ClusterProfileReference>,
    /// Why it was selected, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
}

/// Refers to a ClusterProfile.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ClusterProfileReference {
    /// Its name.
    #[serde(deserialize_with = "or_default")]
    pub name: Arc<str>,
    /// Its namespace; empty means that of the slice.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub namespace: Arc<str>,
}

impl Deref for SliceMetadata {
    type Target = Metadata;

    fn deref(&self) -> &Metadata {
        &self.common
    }
}

impl PlacementDecision {
    /// The selected members; empty if the list is absent.
    pub fn clusters(&self) -> &[ClusterDecision] {
        self.decisions.as_deref().unwrap_or_default()
    }

    /// The profiles that it refers to, each with its namespace filled in. Leaves out absent references.
    pub fn references(&self) -> impl Iterator<Item = ClusterProfileReference> {
        let references = self
            .clusters()
            .iter()
            .filter_map(|one| one.cluster_profile_ref.as_ref());
        references.map(|reference| self.resolved(reference))
    }

    /// A reference with its namespace filled in: empty means that of the slice (PlacementDecision types › ClusterProfileReference › Namespace).
    pub fn resolved(&self, reference: &ClusterProfileReference) -> ClusterProfileReference {
        let mut reference = reference.clone();
        if reference.namespace.is_empty() {
            reference.namespace = Arc::clone(&self.metadata.namespace);
        }
        reference
    }

    /// The scheduler that produced it; empty if it names none.
    pub fn scheduler(&self) -> &str {
        self.scheduler_name.as_deref().unwrap_or_default()
    }

    /// Shares every part that equals the one in `previous`, which may be another slice.
    pub fn share_with(&mut self, previous: &Self) {
        share(&mut self.api_version, &previous.api_version);
        self.metadata.common.share_with(&previous.metadata.common);
        share_some(&mut self.scheduler_name, &previous.scheduler_name);
        if let (Some(decisions), Some(previous)) = (&mut self.decisions, &previous.decisions) {
            share_list(decisions, previous, |decision, previous| {
                let references = (&mut decision.cluster_profile_ref, &previous.cluster_profile_ref);
                if let (Some(reference), Some(previous)) = references {
                    share(&mut reference.name, &previous.name);
                    share(&mut reference.namespace, &previous.namespace);
                }
                share_some(&mut decision.reason, &previous.reason);
            });
        }
    }

    /// A label's value.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.metadata.labels.get(key).map(String::as_str)
    }

    /// The owner that manages it.
    pub fn controller(&self) -> Option<&OwnerReference> {
        let mut owners = self.metadata.owner_references.iter();
        owners.find(|owner| owner.controller == Some(true))
    }
}

/// A decision: by its key or, without one, by the name of its only slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DecisionId<'e> {
    /// The namespace of its slices.
    pub namespace: &'e str,
    /// The scheduler that its slices name; empty if they name none.
    pub scheduler: &'e str,
    /// The label `decision-key`; none if it is absent or empty.
    pub key: Option<&'e str>,
    /// The name of the slice; empty if the decision has a key.
    pub slice: &'e str,
}

impl<'e> DecisionId<'e> {
    /// The decision that a slice belongs to.
    pub fn of(slice: &'e PlacementDecision) -> Self {
        let key = slice.label(names::LABEL_DECISION_KEY);
        let key = key.filter(|key| !key.is_empty());
        Self {
            namespace: &slice.metadata.namespace,
            scheduler: slice.scheduler(),
            key,
            slice: match key {
                Some(_) => "",
                None => &slice.metadata.name,
            },
        }
    }

    /// The decision of a slice; none for a slice without a key.
    pub fn of_keyed(slice: &'e PlacementDecision) -> Option<Self> {
        Some(Self::of(slice)).filter(|id| id.key.is_some())
    }

    /// Its key or, without one, the name of its slice.
    pub fn name(&self) -> &'e str {
        self.key.unwrap_or(self.slice)
    }

    /// `decision web in namespace apps`, or the slice that is a decision by itself.
    pub fn describe(&self) -> String {
        match self.key {
            Some(key) => format!("decision {key} in namespace {}", self.namespace),
            None => format!("slice {}/{}", self.namespace, self.slice),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn slice_is_written_as_it_was_read() {
        let slice = json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1",
            "metadata": {
                "name": "web-0", "namespace": "apps", "uid": "u", "resourceVersion": "7",
                "labels": {"multicluster.x-k8s.io/decision-key": "web"},
                "ownerReferences": [{"apiVersion": "v1", "kind": "Placement", "name": "web", "uid": "o", "controller": true}],
                "finalizers": ["example.com/wait"],
            },
            "schedulerName": "s",
            "decisions": [{"clusterProfileRef": {"name": "a", "namespace": "fleet"}, "reason": "near"}],
        });
        let read: PlacementDecision = from_value(slice.clone()).expect("a slice");
        assert_eq!(to_value(&read).expect("serialises"), slice);
        assert_eq!(read.controller().map(|owner| &*owner.uid), Some("o"));
    }

    #[test]
    fn null_counts_as_absent_and_empty_does_not() {
        for text in [
            r#"{"metadata": {"name": "a"}}"#,
            r#"{"metadata": {"name": "a", "ownerReferences": null, "finalizers": null, "labels": null}, "decisions": null}"#,
        ] {
            let read: PlacementDecision = serde_json::from_str(text).expect(text);
            assert_eq!(read.decisions, None, "{text}");
            assert!(read.clusters().is_empty() && read.metadata.owner_references.is_empty());
        }
        let empty: PlacementDecision = from_value(json!({"decisions": []})).expect("a slice");
        assert_eq!(empty.decisions.as_deref(), Some(&[][..]));
    }

    #[test]
    fn reference_defaults_to_the_namespace_of_the_slice() {
        let slice: PlacementDecision = from_value(json!({
            "metadata": {"name": "a", "namespace": "apps"},
            "decisions": [{"clusterProfileRef": {"name": "one"}}, {"clusterProfileRef": {"name": "two", "namespace": "fleet"}}, {}],
        }))
        .expect("a slice");
        let references = slice.references();
        let paths = references.map(|to| format!("{}/{}", to.namespace, to.name));
        let paths: Vec<String> = paths.collect();
        assert_eq!(paths, ["apps/one", "fleet/two"]);
    }
}
