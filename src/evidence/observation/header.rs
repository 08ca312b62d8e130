//! The header of evidence: the observer, the hub, the time, the permissions, and the edition.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    About, Kind, ObjectKey, Requested, Settled,
    api::{ClusterProfile, Edition, Feature, ObjectKind, PlacementDecision, Role, names, shape::is_default},
};

/// The version of the evidence format that this suite writes.
pub const FORMAT: &str = "conformance.clusterprofile/evidence/v3";

/// The header of the evidence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Header {
    /// Version of the format: [`FORMAT`].
    pub format: String,
    /// Version of the suite that collected the evidence.
    pub suite_version: String,
    /// The edition to judge by, and the implementation's claims.
    pub claim: Claim,
    /// The hub.
    pub hub: Hub,
    /// The profiles to judge.
    pub scope: Scope,
    /// When the runner observed the hub; none for a dump.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// How the run watched on after the window; none for a dump, and in evidence of older suites.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled: Option<Settled>,
    /// When a dump was read, by the reader's clock; none for a run that observed the hub. The dump is not newer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_at: Option<Timestamp>,
    /// Why the run ended early, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<String>,
    /// How far the hub's clock is ahead of the runner's, in milliseconds: 0 if they agree, none if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_skew_ms: Option<i64>,
    /// What the run cost the hub; none for a dump, and in evidence of older suites.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
    /// The runner's permissions on the hub.
    pub permissions: Vec<Permission>,
    /// Which kinds of evidence were requested. An absent kind was not.
    pub requested: BTreeMap<Kind, Requested>,
    /// Profiles that other conformance runs created, or whose members they joined. They are not judged.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub other_runs: BTreeSet<ObjectKey>,
}

/// The edition to judge by, and the implementation's claims.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Claim {
    /// The edition.
    pub edition: Edition,
    /// The edition of a second role that the run judges too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub also: Option<Edition>,
    /// Features that the implementation claims.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub features: BTreeSet<Feature>,
    /// Features that the implementation declares unsupported.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub no_features: BTreeSet<Feature>,
    /// True if a broken SHOULD counts as a failure.
    pub strict: bool,
    /// Names of the consumers declared to need credentials.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub consumers: Vec<String>,
    /// Programs of the consumer that is judged: the user agent up to the first `/`. They narrow its user.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub consumer_agents: Vec<String>,
    /// All users, programs, and field managers of the cluster manager.
    #[serde(skip_serializing_if = "Identity::is_unnamed")]
    pub cluster_manager: Identity,
    /// All users, programs, and field managers of the scheduler.
    #[serde(skip_serializing_if = "Identity::is_unnamed")]
    pub scheduler: Identity,
    /// The number of profiles that the cluster manager should publish.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_profiles: Option<usize>,
    /// Largest accepted difference between a profile's node count and the member's.
    #[serde(skip_serializing_if = "is_default")]
    pub node_tolerance: u64,
    /// Declared ClusterSets by namespace: the set that the profiles of the namespace represent.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub clustersets: BTreeMap<String, String>,
    /// What the user says of the run, for submitted reports.
    #[serde(flatten)]
    pub about: About,
}

/// By which names the hub knows an implementation. An empty list says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Identity {
    /// Its users: those of all its replicas and components.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<String>,
    /// Its field managers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub field_managers: Vec<String>,
    /// Its programs: the user agent up to the first `/`. They narrow a user that several programs share.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
}

/// The hub, as it describes itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Hub {
    /// The source of the evidence, for example `context kind-hub`, `lab` or a file's name.
    pub source: String,
    /// The API server's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_version: Option<String>,
    /// The version of the ClusterProfile API that the run read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// The versions that the CRD serves; empty if the CRD could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub served: Vec<ServedVersion>,
    /// The version of the PlacementDecision API that the run read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement_version: Option<String>,
    /// The versions of PlacementDecision that the CRD serves; empty if the CRD could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub placement_served: Vec<ServedVersion>,
}

/// A version that the hub's CRD of one kind serves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ServedVersion {
    /// Its name, for example `v1alpha1`.
    pub name: String,
    /// True if a rule of its schema makes `spec.clusterManager` immutable; only of ClusterProfile.
    pub immutable_manager: bool,
    /// True if status is a subresource.
    pub status_subresource: bool,
}

/// The profiles to judge; empty means all. An unknown key is an error, as it may narrow the scope.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Scope {
    /// The observed namespaces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    /// The manager whose profiles to judge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_manager: Option<String>,
    /// True if the run named that manager by itself, on a test hub.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub manager_by_default: bool,
    /// The scheduler whose decisions to judge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
}

/// A span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// Its beginning.
    pub from: Timestamp,
    /// Its end.
    pub until: Timestamp,
}

/// What a run cost its hub.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Traffic {
    /// The number of requests that the runner sent.
    pub requests: u64,
    /// The number of bytes in the bodies of the answers.
    pub bytes: u64,
}

/// The hub's answer to one permission check (SelfSubjectAccessReview).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Permission {
    /// Verb, for example `list`.
    pub verb: String,
    /// API group; empty for the core group.
    pub group: String,
    /// Resource, with its subresource behind a slash.
    pub resource: String,
    /// Namespace; empty for all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// True if it is allowed.
    pub allowed: bool,
}

impl Identity {
    /// Returns `true` if it has no name at all.
    pub fn is_unnamed(&self) -> bool {
        self.users.is_empty() && self.field_managers.is_empty() && self.agents.is_empty()
    }

    /// Returns `true` if that is one of its users.
    pub fn has_user(&self, name: &str) -> bool {
        self.users.iter().any(|user| user == name)
    }

    /// Returns `true` if that is one of its field managers.
    pub fn has_field_manager(&self, name: &str) -> bool {
        self.field_managers.iter().any(|manager| manager == name)
    }
}

impl Claim {
    /// The editions to judge by, of one role each.
    pub fn editions(&self) -> impl Iterator<Item = Edition> {
        [self.edition].into_iter().chain(self.also)
    }

    /// The roles that are judged.
    pub fn roles(&self) -> impl Iterator<Item = Role> {
        self.editions().map(Edition::role)
    }

    /// By which names the hub knows who publishes a kind of objects, to add to.
    pub fn identity_mut(&mut self, kind: ObjectKind) -> &mut Identity {
        match kind {
            ObjectKind::ClusterProfile => &mut self.cluster_manager,
            ObjectKind::PlacementDecision => &mut self.scheduler,
        }
    }

    /// The edition to judge a role by; none if it is not judged.
    pub fn edition_of(&self, role: Role) -> Option<Edition> {
        self.editions().find(|edition| edition.role() == role)
    }
}

impl Scope {
    /// The name of the role's implementation whose objects alone are judged; none if those of all are.
    pub fn publisher(&self, role: Role) -> Option<&str> {
        match role {
            Role::Manager => self.cluster_manager.as_deref(),
            Role::Scheduler => self.scheduler.as_deref(),
            Role::Consumer => None,
        }
    }

    /// Returns `true` if the profile is judged.
    pub fn holds(&self, profile: &ClusterProfile) -> bool {
        self.holds_namespace(&profile.metadata.namespace)
            && self.holds_manager(profile.manager(), profile.label(names::LABEL_MANAGER))
    }

    /// Returns `true` if profiles in that namespace are judged.
    pub fn holds_namespace(&self, namespace: &str) -> bool {
        self.namespaces.is_empty() || self.namespaces.iter().any(|name| name == namespace)
    }

    /// Returns `true` if a slice is judged. Only `schedulerName` names the scheduler; no label does.
    pub fn holds_slice(&self, slice: &PlacementDecision) -> bool {
        self.holds_namespace(&slice.metadata.namespace)
            && self
                .scheduler
                .as_deref()
                .is_none_or(|name| slice.scheduler() == name)
    }

    /// Returns `true` if a manager's profiles are judged. The label counts only if the spec names no manager.
    pub fn holds_manager(&self, manager: &str, label: Option<&str>) -> bool {
        self.cluster_manager.as_deref().is_none_or(|name| match manager {
            "" => label == Some(name),
            manager => manager == name,
        })
    }
}

impl Traffic {
    /// What came after `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(earlier.requests),
            bytes: self.bytes.saturating_sub(earlier.bytes),
        }
    }
}

impl Window {
    /// The span from the earlier start to the later end.
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

/// Why a text does not name a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// It names no program.
    #[error("expected the part of the user agent before the first `/`, for example manager")]
    Empty,
    /// It holds more than the program.
    #[error("expected only the part of the user agent before the first `/`: write {0}")]
    NotProgram(String),
}

/// Reads the name of a program, as user agents begin with it: not empty, without a `/` or blanks.
pub fn agent_program(text: &str) -> Result<String, AgentError> {
    let mut words = text.split(|sign: char| sign == '/' || sign.is_whitespace());
    match words.find(|word| !word.is_empty()) {
        None => Err(AgentError::Empty),
        Some(program) if program == text => Ok(text.to_owned()),
        Some(program) => Err(AgentError::NotProgram(program.to_owned())),
    }
}

/// Reads an RFC 3339 time, as the hub writes it.
pub fn parse_time(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}
