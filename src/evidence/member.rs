//! Members: what their own API servers tell, and whether credentials for them work.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ObjectRef;

/// One member cluster that the runner was given a way to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Member {
    /// The profile that describes it.
    pub profile: ObjectRef,
    /// The way, for people: `context lisbon of members.yaml`, `Secret consumer/a`.
    pub way: String,
    /// What it said, each time that it was asked, oldest first; empty where it never said anything: a gap tells why.
    pub looks: Vec<Look>,
}

/// What a member said when it was asked once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Look {
    /// When the first question was sent, by the runner's clock.
    #[schemars(with = "crate::json_schema::Time")]
    pub from: Timestamp,
    /// When the last answer had come.
    #[schemars(with = "crate::json_schema::Time")]
    pub until: Timestamp,
    /// `gitVersion` of `/version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What `/readyz` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readyz: Option<Readyz>,
    /// The leases in `kube-system` by which the controller manager and the scheduler tell that they live; empty where
    /// the member has none, as those that keep them elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leases: Option<Vec<Lease>>,
    /// How many nodes there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u64>,
    /// The API groups that its CRDs define; one set for all looks that found the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_resource_groups: Option<Arc<BTreeSet<String>>>,
    /// Its ClusterProperties (KEP-2149); empty where it does not serve the kind. One list for all looks that found the
    /// same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_properties: Option<Arc<[ClusterProperty]>>,
    /// What could not be had this time, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: BTreeMap<MemberPart, String>,
}

/// A part of what a member is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MemberPart {
    /// Its version.
    Version,
    /// Its health.
    Readyz,
    /// The leases of its control plane.
    Leases,
    /// Its nodes.
    Nodes,
    /// The groups of its CRDs.
    CustomResourceGroups,
    /// Its ClusterProperties.
    ClusterProperties,
}

/// What `/readyz?verbose` says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Readyz {
    /// Whether the member calls itself ready.
    pub ready: bool,
    /// The checks that fail, such as `etcd`, as far as the member names them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
}

/// A lease of a part of the control plane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Lease {
    /// `kube-controller-manager` or `kube-scheduler`.
    pub name: String,
    /// How long ago it was renewed when the member was asked, in seconds, by the member's clock.
    pub age_seconds: i64,
    /// For how long a renewal lasts, in seconds.
    pub duration_seconds: i64,
}

/// A ClusterProperty of a member (KEP-2149).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterProperty {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Whether it has the label `multicluster.x-k8s.io/clusterProfile: "true"`.
    pub labelled: bool,
}

/// An endpoint of a profile that was called from where the runner stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EndpointCall {
    /// When, by the runner's clock.
    #[schemars(with = "crate::json_schema::Time")]
    pub at: Timestamp,
    /// The profile that names it.
    pub profile: ObjectRef,
    /// The endpoint, as the profile names it.
    pub endpoint: String,
    /// The HTTP status code; none where nothing answered in HTTP over TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<u16>,
    /// Why nothing answered.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// A credential that was tried on the member that it is for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Login {
    /// When, by the runner's clock.
    #[schemars(with = "crate::json_schema::Time")]
    pub at: Timestamp,
    /// The profile of the member.
    pub profile: ObjectRef,
    /// Where the credential came from.
    pub with: LoginWith,
    /// What came of it.
    pub outcome: LoginOutcome,
}

/// Where a credential came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LoginWith {
    /// A consumer's Secret.
    Secret(ObjectRef),
    /// The credential plugin of that access provider (KEP-5339).
    Plugin(String),
}

/// What came of a credential.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "answer")]
pub enum LoginOutcome {
    /// The member knows who asks (SelfSubjectReview).
    Accepted {
        /// As whom.
        user: String,
        /// Whether that user may do everything to everything; none where the member did not tell.
        #[serde(skip_serializing_if = "Option::is_none")]
        everything: Option<bool>,
    },
    /// The member does not accept the credential.
    Refused {
        /// HTTP status code.
        code: u16,
        /// The member's message, without credentials.
        message: String,
    },
    /// There was no credential to try: the plugin failed.
    NoCredential {
        /// In which way; quotes nothing of what may be a credential.
        reason: String,
    },
    /// The member did not answer: this tells nothing of the credential.
    Unanswered {
        /// Why.
        reason: String,
    },
}

impl Member {
    /// The last look that has that part.
    pub fn last<T>(&self, part: impl Fn(&Look) -> Option<T>) -> Option<(&Look, T)> {
        self.looks
            .iter()
            .rev()
            .find_map(|look| part(look).map(|value| (look, value)))
    }
}

impl Look {
    /// Whether it has that part.
    pub fn has(&self, part: MemberPart) -> bool {
        match part {
            MemberPart::Version => self.version.is_some(),
            MemberPart::Readyz => self.readyz.is_some(),
            MemberPart::Leases => self.leases.is_some(),
            MemberPart::Nodes => self.nodes.is_some(),
            MemberPart::CustomResourceGroups => self.custom_resource_groups.is_some(),
            MemberPart::ClusterProperties => self.cluster_properties.is_some(),
        }
    }
}

impl MemberPart {
    /// All parts.
    pub const ALL: [MemberPart; 6] = [
        MemberPart::Version,
        MemberPart::Readyz,
        MemberPart::Leases,
        MemberPart::Nodes,
        MemberPart::CustomResourceGroups,
        MemberPart::ClusterProperties,
    ];

    /// For people: completes "could not be read: ".
    pub fn name(self) -> &'static str {
        match self {
            MemberPart::Version => "version",
            MemberPart::Readyz => "health",
            MemberPart::Leases => "leases of the control plane",
            MemberPart::Nodes => "nodes",
            MemberPart::CustomResourceGroups => "custom resource definitions",
            MemberPart::ClusterProperties => "ClusterProperties",
        }
    }
}
