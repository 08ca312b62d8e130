//! Object metadata as the suite reads it: reduced to what rules use, and shared between versions.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ProfileLabels,
    labels::annotations,
    shape::{is_default, or_default},
    sharing::{share, share_list, share_some},
};

/// The object metadata that rules use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// Name within the namespace.
    #[serde(deserialize_with = "or_default")]
    pub name: Arc<str>,
    /// Namespace; empty for a cluster-scoped object.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub namespace: Arc<str>,
    /// Uid; empty in hand-written input.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub uid: Arc<str>,
    /// The hub's opaque version.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub resource_version: String,
    /// Counts the changes of the spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// The prefix of a generated name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generate_name: Option<Arc<str>>,
    /// RFC 3339, as given by the hub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<Arc<str>>,
    /// RFC 3339; set while the object waits for its finalizers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<Arc<str>>,
    /// Labels.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub labels: Arc<ProfileLabels>,
    /// Annotations. No rule is about them, but none may hold a credential.
    #[serde(deserialize_with = "annotations", skip_serializing_if = "is_default")]
    pub annotations: Arc<ProfileLabels>,
    /// Field ownership; `None` if the input has no `managedFields`.
    #[serde(alias = "managedFields", skip_serializing_if = "Option::is_none")]
    pub writers: Option<Arc<[Writer]>>,
}

/// One entry of `managedFields`, reduced to ownership.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(default)]
pub struct Writer {
    /// The field manager's name.
    pub manager: Arc<str>,
    /// `Apply` or `Update`.
    pub operation: Arc<str>,
    /// The subresource of the write; empty for the object itself.
    #[serde(skip_serializing_if = "is_default")]
    pub subresource: Arc<str>,
    /// When the entry last changed, RFC 3339 to the second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Arc<str>>,
    /// The owned parts, sorted: two levels (`spec.clusterManager`, `status.conditions`), labels and annotations
    /// with their key (`metadata.labels[x-k8s.io/cluster-manager]`).
    pub owns: Arc<[Box<str>]>,
}

impl Metadata {
    /// Shares every part that equals the one in `previous`, which may be of another object.
    pub fn share_with(&mut self, previous: &Self) {
        share(&mut self.name, &previous.name);
        share(&mut self.namespace, &previous.namespace);
        share(&mut self.uid, &previous.uid);
        share(&mut self.labels, &previous.labels);
        share(&mut self.annotations, &previous.annotations);
        if let (Some(own), Some(previous)) = (&mut self.writers, &previous.writers) {
            share_list(own, previous, |own, previous| {
                share(&mut own.manager, &previous.manager);
                share(&mut own.operation, &previous.operation);
                share(&mut own.subresource, &previous.subresource);
                share_some(&mut own.time, &previous.time);
                share(&mut own.owns, &previous.owns);
            });
        }
    }
}
