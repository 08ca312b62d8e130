//! What was seen, as plain data: the only thing that rules know of the world.
//!
//! Collecting fills an [`Evidence`]; judging reads it. What could not be had stands in it as a [`Gap`] or as an
//! [`Asked::No`] with its reason, so that a rule can tell "not broken" from "not seen".

pub mod api;
mod checksum;
pub mod crd;
mod digest;
mod driver;
pub mod dump;
pub mod file;
mod header;
mod history;
mod input;
pub mod json_schema;
mod kind;
pub mod leak;
pub mod lenient;
mod member;
mod object;
mod open;
mod probe;
pub mod redact;
mod request;
mod secret;
pub mod user_file;

pub use checksum::Checksum;
pub use digest::{Digester, SecretError, kubeconfig_in_clear};
pub use driver::{Change, Driver, DriverAction, DriverStep, ProfileKey, Scenario, StepOutcome};
pub use header::{
    Claim, FORMAT, Header, Hub, Implementation, Permission, Scope, ServedVersion, Window, parse_time,
};
pub use history::{Origin, ProfileHistory, Version};
pub use input::{InputError, read_input};
pub use kind::{Asked, Gap, Kind};
pub use member::{
    ClusterProperty, EndpointCall, Lease, Login, LoginOutcome, LoginWith, Look, Member, MemberPart, Readyz,
};
pub use object::{Namespace, ObjectRef, Unreadable};
pub use probe::{Probe, ProbeMethod, ProbeOutcome};
pub use request::{Request, RequestBody, Requests};
pub use secret::{
    Credential, CredentialKind, Kubeconfig, KubeconfigCluster, KubeconfigContext, KubeconfigUser, Secret,
};
use serde::{Deserialize, Serialize};

use crate::api::ClusterProfile;

/// Everything that one run saw of one hub.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Evidence {
    /// Who looked, at what, when and with which rights.
    pub header: Header,
    /// The namespaces, as last seen.
    pub namespaces: Vec<Namespace>,
    /// The profiles, each with every version that was seen, in the order in which they were first seen.
    pub profiles: Vec<ProfileHistory>,
    /// Labelled Secrets, as last seen; never a value of one.
    pub secrets: Vec<Secret>,
    /// What the hub answered to dry runs.
    pub probes: Vec<Probe>,
    /// What the API server's audit log tells of requests on profiles.
    pub requests: Option<Requests>,
    /// What members told of themselves: those that the runner was given a way to.
    pub members: Vec<Member>,
    /// Endpoints of profiles that were called.
    pub endpoint_calls: Vec<EndpointCall>,
    /// Credentials that were tried on their members.
    pub logins: Vec<Login>,
    /// What the run had the implementation do.
    pub driver: Option<Driver>,
    /// What was asked for and could not be had.
    pub gaps: Vec<Gap>,
    /// Objects that do not fit the shape of their kind.
    pub unreadable: Vec<Unreadable>,
}

/// Evidence that was read from a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Input {
    /// The evidence.
    pub evidence: Evidence,
    /// What the reader should know and no verdict depends on: what was ignored, and how often.
    pub notes: Vec<String>,
}

/// For kinds that the header does not mention.
static NEVER: Asked = Asked::No(String::new());

/// How long a new profile may take until its status counts, in seconds: the ledger's default grace of 2 minutes.
pub const GRACE_SECONDS: i64 = 120;

impl Evidence {
    /// The profiles in scope that are there at the end, each in its last version.
    pub fn inventory(&self) -> impl Iterator<Item = &ClusterProfile> {
        self.histories().filter_map(ProfileHistory::current)
    }

    /// Like [`Self::inventory`], without those that are too young or already going: what a manager fills in after
    /// the creation need not be there yet, and need no longer be.
    pub fn settled(&self) -> impl Iterator<Item = &ClusterProfile> {
        self.inventory().filter(|profile| self.is_settled(profile))
    }

    /// Every profile that is there at the end, in scope or not: for rules that compare.
    pub fn everyone(&self) -> impl Iterator<Item = &ClusterProfile> {
        self.profiles.iter().filter_map(ProfileHistory::current)
    }

    /// The histories of the profiles in scope, gone ones included; not those that the run touched itself
    /// ([`Driver::touched`]).
    pub fn histories(&self) -> impl Iterator<Item = &ProfileHistory> {
        self.profiles.iter().filter(|history| {
            history
                .versions
                .iter()
                .any(|v| self.header.scope.holds(&v.profile))
                && !self.is_touched(&history.last().metadata.namespace, &history.last().metadata.name)
        })
    }

    /// Whether the run wrote to the profile of that name, or put it there.
    pub fn is_touched(&self, namespace: &str, name: &str) -> bool {
        let mut touched = self.driver.iter().flat_map(|driver| &driver.touched);
        touched.any(|key| *key.namespace == *namespace && *key.name == *name)
    }

    /// The histories of all profiles that have had that name, whatever the scope: for rules on a driver's steps.
    pub fn histories_named(&self, namespace: &str, name: &str) -> impl Iterator<Item = &ProfileHistory> {
        self.profiles.iter().filter(move |history| {
            let metadata = &history.last().metadata;
            *metadata.namespace == *namespace && *metadata.name == *name
        })
    }

    /// Whether a profile has existed for longer than the grace, and is not being deleted. Where the time of the
    /// look is not known (a dump has none), every profile counts as settled.
    pub fn is_settled(&self, profile: &ClusterProfile) -> bool {
        if profile.metadata.deletion_timestamp.is_some() {
            return false;
        }
        let created = profile
            .metadata
            .creation_timestamp
            .as_deref()
            .and_then(parse_time);
        match (created, self.header.window) {
            (Some(created), Some(window)) => window.until.duration_since(created).as_secs() >= GRACE_SECONDS,
            _ => true,
        }
    }

    /// The namespace of that name, where it was seen.
    pub fn namespace(&self, name: &str) -> Option<&Namespace> {
        self.namespaces.iter().find(|namespace| namespace.name == name)
    }

    /// Whether an object of that kind and name may be among those that could not be read, of which not all is known.
    pub fn may_be_unread(&self, kind: &str, name: &str) -> bool {
        let may_be = |known: &str, wanted: &str| known.is_empty() || known == wanted;
        let mut objects = self.unreadable.iter().map(|unreadable| &unreadable.object);
        objects.any(|object| may_be(&object.kind, kind) && may_be(&object.name, name))
    }

    /// Whether evidence of that kind was asked for.
    pub fn asked(&self, kind: Kind) -> &Asked {
        self.header.asked.get(&kind).unwrap_or(&NEVER)
    }

    /// The gaps in evidence of that kind.
    pub fn gaps(&self, kind: Kind) -> impl Iterator<Item = &Gap> {
        self.gaps.iter().filter(move |gap| gap.kind == kind)
    }

    /// Whether evidence of that kind was asked for and is whole.
    pub fn is_whole(&self, kind: Kind) -> bool {
        matches!(self.asked(kind), Asked::Yes) && self.gaps(kind).next().is_none()
    }
}
