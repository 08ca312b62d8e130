//! What a hub serves and allows, and what is read of it besides profiles and slices: here what evidence is requested, and why
//! it is missing. Callers may add what to do about it.

pub(crate) mod error;
pub(crate) mod listed;
pub(crate) mod permissions;
pub(crate) mod probe;
pub(crate) mod rbac;
pub(crate) mod target;

/// The plan names no audit log: the same as for a dump.
pub(crate) use evidence::dump::NO_AUDIT_LOG;
use evidence::{Gap, Kind, ObjectKey, Reason, ReasonId, Requested};

pub(crate) use self::{
    error::CollectError,
    listed::{may_read_namespaces, secret_places, secrets_path},
    permissions::{Permissions, places},
    target::{HubTarget, target},
};

pub(crate) const SINGLE_SNAPSHOT: Reason =
    Reason::new(ReasonId::SingleSnapshot, "the run read the hub only once");
pub(crate) const NO_MEMBERS: Reason = Reason::new(ReasonId::NoMembers, "no member was contacted");
pub(crate) const NO_PLUGINS: Reason = Reason::new(ReasonId::NoPlugins, "no credential plugin was run");
pub(crate) const NO_DRIVER: Reason = Reason::new(ReasonId::NoDriver, "no driver was given");
pub(crate) const NO_TESTBED: Reason =
    Reason::new(ReasonId::NoDriver, "no profile was published for a consumer");
pub(crate) const NO_OUTPUTS: Reason = Reason::new(
    ReasonId::NoDriver,
    "the place of the consumer's outputs is not configured",
);
/// The plan does not claim that Secrets are pushed, so Secrets without the label are not read.
pub(crate) const NO_CLAIM: Reason = Reason::new(
    ReasonId::NoClaim,
    "consumers' Secrets without the label are read only where consumer-secrets is claimed",
);
pub(crate) const NO_WATCH: Reason = Reason::new(
    ReasonId::NoWatch,
    "a single snapshot does not show what the implementation does",
);
pub(crate) const NO_MUTATIONS: Reason =
    Reason::new(ReasonId::NoMutations, "the run may not write to the hub");

pub(crate) const NO_NAMESPACES: Reason = Reason::new(
    ReasonId::ReadForbidden,
    "the runner may not read Namespaces: grant list on namespaces",
);
pub(crate) const NO_SECRETS: Reason = Reason::new(
    ReasonId::ReadForbidden,
    "the runner may not list Secrets: grant list on secrets",
);
pub(crate) const NO_DRY_RUN: Reason = Reason::new(
    ReasonId::ReadForbidden,
    "the runner may not change ClusterProfiles, not even in a dry run: grant patch on clusterprofiles",
);

/// Whether a kind of evidence is requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvidenceRequest {
    /// Requested by the user: what is unavailable is a gap.
    Explicit,
    /// Requested by default: what the runner may not read counts as not requested.
    IfAllowed,
    /// Not requested, and why.
    No(Reason),
}

impl EvidenceRequest {
    /// Whether a kind of evidence counts as requested, and the gap if it is requested but not allowed.
    pub(crate) fn decide(&self, is_allowed: bool, kind: Kind, refusal: Reason) -> (Requested, Option<Gap>) {
        match self {
            EvidenceRequest::No(reason) => (Requested::No(reason.clone()), None),
            EvidenceRequest::Explicit if !is_allowed => (Requested::Yes, Some(Gap::of(kind, refusal))),
            EvidenceRequest::IfAllowed if !is_allowed => (Requested::No(refusal), None),
            EvidenceRequest::Explicit | EvidenceRequest::IfAllowed => (Requested::Yes, None),
        }
    }

    /// Whether a kind of evidence is requested explicitly; `otherwise` is why it is missing by default.
    pub(crate) fn requested_if_explicit(&self, otherwise: Reason) -> Requested {
        match self {
            EvidenceRequest::No(reason) => Requested::No(reason.clone()),
            EvidenceRequest::Explicit => Requested::Yes,
            EvidenceRequest::IfAllowed => Requested::No(otherwise),
        }
    }
}

/// Reads `namespace/name`, where the name may be a label's value.
pub(crate) fn profile_key(text: &str) -> Option<ObjectKey> {
    let (namespace, name) = text.trim().split_once('/')?;
    let is_name = |part: &str| {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        !part.is_empty() && part.len() <= 253 && part.chars().all(is_allowed)
    };
    (is_name(namespace) && is_name(name)).then(|| ObjectKey {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    })
}
