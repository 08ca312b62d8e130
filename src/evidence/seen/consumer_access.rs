//! What the consumers of placements may do on the hub, as it answers SubjectAccessReviews.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The rights of one user that reads placements.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ConsumerAccess {
    /// The user, as the hub names it: `system:serviceaccount:argocd:controller` or another.
    pub user: String,
    /// The writes on PlacementDecisions that the hub allows it: `create`, `update`, `patch`, `delete` and
    /// `deletecollection` were asked for, in each namespace with decisions.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub writes: BTreeSet<AllowedWrite>,
    /// Whether it may get ClusterProfiles, by namespace of a reference.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<ReadableNamespace>,
}

/// A write in a namespace that the hub allows.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AllowedWrite {
    /// The namespace.
    pub namespace: String,
    /// The verb.
    pub verb: String,
}

/// Whether a consumer may get the ClusterProfiles of a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ReadableNamespace {
    /// The namespace.
    pub namespace: String,
    /// True if it may.
    pub readable: bool,
}
