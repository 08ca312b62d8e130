//! Members: the answers of their API servers, and whether credentials for them work.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ObjectRef, Reason,
    api::shape::{is_default, share, share_some},
};

/// One member cluster that the runner could access.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Member {
    /// The profile of the member.
    pub profile: ObjectRef,
    /// The access, for people: `context lisbon of members.yaml`, `Secret consumer/a`.
    pub access: String,
    /// Its answers, oldest first. Empty if it never answered; a gap has the reason.
    pub samples: Vec<MemberSample>,
}

/// One round of answers of a member. Equal samples share their parts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemberSample {
    /// When the first request was sent, by the runner's clock.
    pub from: Timestamp,
    /// When the last answer arrived.
    pub until: Timestamp,
    /// `gitVersion` of `/version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Arc<str>>,
    /// The answer of `/readyz`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readyz: Option<Arc<Readyz>>,
    /// The leases of controller manager and scheduler in `kube-system`; empty if the member keeps none there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leases: Option<Arc<[Lease]>>,
    /// The number of nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u64>,
    /// The API groups of its CRDs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_resource_groups: Option<Arc<BTreeSet<String>>>,
    /// Its ClusterProperties (KEP-2149); empty if it does not serve the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_properties: Option<Arc<[ClusterProperty]>>,
    /// The parts that were unavailable this time, with the reason.
    #[serde(default, skip_serializing_if = "is_default")]
    pub missing: Arc<BTreeMap<MemberPart, Reason>>,
}

impl MemberSample {
    /// A sample without any answer, for these reasons.
    pub fn without_answers(at: Timestamp, missing: BTreeMap<MemberPart, Reason>) -> Self {
        Self {
            from: at,
            until: at,
            missing: Arc::new(missing),
            ..Self::default()
        }
    }
}

/// A part of a sample.
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

/// The answer of `/readyz?verbose`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Readyz {
    /// True if the member reports ready.
    pub ready: bool,
    /// The failing checks, for example `etcd`, if the member names them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
}

/// A lease of a control plane component.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Lease {
    /// `kube-controller-manager` or `kube-scheduler`.
    pub name: String,
    /// Seconds since its last renewal at the time of the request, by the member's clock.
    pub age_seconds: i64,
    /// The lease's duration, in seconds.
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
    /// True if it has the label `multicluster.x-k8s.io/clusterProfile: "true"`.
    pub labelled: bool,
}

/// A call to an endpoint of a profile, from the runner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EndpointCall {
    /// When, by the runner's clock.
    pub at: Timestamp,
    /// The profile with the endpoint.
    pub profile: ObjectRef,
    /// The endpoint, as in the profile.
    pub endpoint: String,
    /// The HTTP status code; none without an answer in HTTP over TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<u16>,
    /// Why there was no answer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// A credential that the run tried on its member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Login {
    /// When, by the runner's clock.
    pub at: Timestamp,
    /// The profile of the member.
    pub profile: ObjectRef,
    /// The source of the credential.
    pub credential: LoginCredential,
    /// The result.
    pub outcome: LoginOutcome,
}

/// The source of a credential.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LoginCredential {
    /// A consumer's Secret.
    Secret(ObjectRef),
    /// The credential plugin of this access provider (KEP-5339).
    Plugin(String),
}

/// The result of trying a credential.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "answer")]
pub enum LoginOutcome {
    /// The member authenticates the user (SelfSubjectReview).
    Accepted {
        /// The user.
        user: String,
        /// True if that user has all permissions; none if the member did not answer.
        #[serde(rename = "allPermissions", skip_serializing_if = "Option::is_none")]
        everything: Option<bool>,
    },
    /// The member rejects the credential.
    Refused {
        /// HTTP status code.
        code: u16,
        /// The member's message, without credentials.
        message: String,
    },
    /// The plugin failed, so there was no credential to try.
    NoCredential {
        /// How it failed. Quotes no output that may be a credential.
        reason: String,
    },
    /// The member did not answer, so nothing is known of the credential.
    Unanswered {
        /// The reason.
        reason: Reason,
    },
}

impl Member {
    /// Lets all samples share their equal parts.
    pub fn share(&mut self) {
        for index in 1..self.samples.len() {
            let (earlier, later) = self.samples.split_at_mut(index);
            later[0].share_with(earlier);
        }
    }

    /// The last sample with that part.
    pub fn last<T>(&self, part: impl Fn(&MemberSample) -> Option<T>) -> Option<(&MemberSample, T)> {
        self.samples
            .iter()
            .rev()
            .find_map(|sample| part(sample).map(|value| (sample, value)))
    }
}

impl MemberSample {
    /// Shares each part that equals the one of the sample before.
    pub fn share_with(&mut self, earlier: &[MemberSample]) {
        let Some(before) = earlier.last() else { return };
        share_some(&mut self.version, &before.version);
        share_some(&mut self.readyz, &before.readyz);
        share_some(&mut self.leases, &before.leases);
        share_some(&mut self.custom_resource_groups, &before.custom_resource_groups);
        share_some(&mut self.cluster_properties, &before.cluster_properties);
        share(&mut self.missing, &before.missing);
    }

    /// Returns `true` if it has that part.
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
    /// All parts, most important first.
    pub const ALL: [MemberPart; 6] = [
        MemberPart::Readyz,
        MemberPart::Version,
        MemberPart::Leases,
        MemberPart::Nodes,
        MemberPart::ClusterProperties,
        MemberPart::CustomResourceGroups,
    ];

    /// The name for people: completes "could not be read: ".
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
