//! What the hub lets a consumer's user do.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the hub lets the consumer's user do beyond what a consumer needs (SubjectAccessReviews). Rights by a group are
/// among them only if each user, or each service account, is in that group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ConsumerRights {
    /// The writes on ClusterProfiles that it may send: `create`, `delete` and `deletecollection` were asked for, in each namespace
    /// of the testbed.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub profiles: BTreeSet<AllowedWrite>,
    /// The same for the status of ClusterProfiles: `update` and `patch`.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub statuses: BTreeSet<AllowedWrite>,
    /// Whether it may list the Secrets of all namespaces.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub all_secrets: bool,
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
