//! Who looked, at what, when, with which rights, and by which documents.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Asked, Kind};
use crate::api::{ClusterProfile, Edition, Feature, names};

/// The version of the evidence format that this suite writes.
pub const FORMAT: &str = "conformance.clusterprofile/evidence/v1";

/// The head of the evidence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Header {
    /// Version of the format: [`FORMAT`].
    pub format: String,
    /// Version of the suite that collected.
    pub suite_version: String,
    /// By which documents to judge, and what the implementation claims.
    pub claim: Claim,
    /// The hub.
    pub hub: Hub,
    /// Which profiles are judged.
    pub scope: Scope,
    /// When the runner looked; none for a dump, which does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// Why the run ended before it had seen all that it was to see, where it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<String>,
    /// How far the hub's clock runs ahead of the runner's, in milliseconds, where it could be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_skew_ms: Option<i64>,
    /// What the runner may do on the hub.
    pub permissions: Vec<Permission>,
    /// Which kinds of evidence were asked for; a kind that is absent was not.
    pub asked: BTreeMap<Kind, Asked>,
}

/// By which documents to judge, and what the implementation claims.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Claim {
    /// The edition.
    pub edition: Edition,
    /// Features that the implementation claims.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub features: BTreeSet<Feature>,
    /// Features that the implementation declares not to have.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub no_features: BTreeSet<Feature>,
    /// Whether a broken SHOULD counts as a failure.
    pub strict: bool,
    /// Names of the consumers that are declared to need credentials.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub consumers: Vec<String>,
    /// By how many a profile's node count may differ from the member's.
    #[serde(skip_serializing_if = "is_zero")]
    pub node_tolerance: u64,
    /// ClusterSets that are declared to be represented by the profiles of a namespace, by the namespace's name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub clustersets: BTreeMap<String, String>,
    /// Who made the implementation, for reports that are submitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub implementation: Option<Implementation>,
}

/// Who made the implementation, and which version of it was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Implementation {
    /// The organization behind it.
    pub organization: String,
    /// The project's name.
    pub project: String,
    /// The project's home.
    pub url: String,
    /// The version that was looked at.
    pub version: String,
    /// Who answers questions: names, addresses or handles.
    pub contact: Vec<String>,
}

/// The hub, as far as it told of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Hub {
    /// Where the evidence comes from, such as `context kind-hub`, `lab` or a file's name.
    pub source: String,
    /// The API server's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_version: Option<String>,
    /// The version of the ClusterProfile API that was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// The versions that the CRD serves; empty where the CRD could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub served: Vec<ServedVersion>,
}

/// A version of ClusterProfile that the hub's CRD serves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ServedVersion {
    /// Its name, such as `v1alpha1`.
    pub name: String,
    /// Whether its schema has a rule that keeps `spec.clusterManager` as it is.
    pub immutable_manager: bool,
    /// Whether status is a subresource.
    pub status_subresource: bool,
}

/// Which profiles are judged; empty means all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Scope {
    /// Namespaces that were looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    /// The manager whose profiles are judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_manager: Option<String>,
}

/// A span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// Its beginning.
    #[schemars(with = "crate::json_schema::Time")]
    pub from: Timestamp,
    /// Its end.
    #[schemars(with = "crate::json_schema::Time")]
    pub until: Timestamp,
}

/// One answer of the hub on what the runner may do (SelfSubjectAccessReview).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Permission {
    /// Verb, such as `list`.
    pub verb: String,
    /// API group; empty for the core group.
    pub group: String,
    /// Resource, with its subresource behind a slash.
    pub resource: String,
    /// Namespace; empty for all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Whether it is allowed.
    pub allowed: bool,
}

impl Scope {
    /// Whether a profile is judged. A profile belongs to a manager that its spec or its label names, so that one
    /// whose label and spec disagree is not lost.
    pub fn holds(&self, profile: &ClusterProfile) -> bool {
        let namespace =
            self.namespaces.is_empty() || self.namespaces.iter().any(|n| **n == *profile.metadata.namespace);
        namespace
            && self.cluster_manager.as_deref().is_none_or(|manager| {
                profile.manager() == manager || profile.label(names::LABEL_MANAGER) == Some(manager)
            })
    }
}

impl Window {
    /// The span from the beginning of the first of the two to the end of the last.
    pub fn with(self, other: Self) -> Self {
        Self {
            from: self.from.min(other.from),
            until: self.until.max(other.until),
        }
    }

    /// Its length in seconds.
    pub fn seconds(&self) -> i64 {
        self.until.duration_since(self.from).as_secs()
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Reads an RFC 3339 time as the hub writes it.
pub fn parse_time(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}
