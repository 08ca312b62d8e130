//! Interfaces of a driver: hooks that make the implementation act, and offers of members.

use std::path::PathBuf;

use evidence::{DriverAction, ObjectKey, PlacementRequest};
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

/// How the names of what a hook is told begin.
pub(super) const PREFIX: &str = "CONFORMANCE_";

/// Makes the implementation act.
pub trait Hooks: Send + Sync {
    /// Why the implementation cannot do that; none where it can.
    fn lacking(&self, action: DriverAction) -> Option<String>;

    /// Makes it act, and waits until that is done or `stop` is cancelled.
    fn call<'a>(&'a self, call: &'a Call<'a>, stop: CancellationToken) -> BoxFuture<'a, Called>;
}

/// What the implementation is to do.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// What.
    pub action: DriverAction,
    /// With which member; none where it concerns the whole implementation.
    pub member: Option<&'a Member>,
    /// The profile of that member, where it is known.
    pub profile: Option<ObjectKey>,
    /// The version that the member is to have, for an upgrade.
    pub version: Option<String>,
    /// The namespace of the run's own in which the member's profile is to be; none if the implementation chooses it.
    pub namespace: Option<&'a str>,
    /// What is asked of a scheduler, or taken back.
    pub placement: Option<&'a PlacementRequest>,
}

/// Whether a hook undoes what another one did. The run calls it even when it stops.
pub(super) fn undoes(action: DriverAction) -> bool {
    matches!(
        action,
        DriverAction::Leave | DriverAction::Heal | DriverAction::Reconnect | DriverAction::Unplace
    )
}

impl<'a> Call<'a> {
    /// A call that concerns the whole implementation.
    pub(crate) fn of(action: DriverAction) -> Self {
        Self {
            action,
            member: None,
            profile: None,
            version: None,
            namespace: None,
            placement: None,
        }
    }
}

/// A member, as a hook is told of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// Its name: a DNS label, unless it is the implementer's own.
    pub name: String,
    /// The way to it.
    pub way: Way,
}

/// The way to a member.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Way {
    /// The hook knows it.
    #[default]
    Unknown,
    /// A kubeconfig.
    Kubeconfig(String),
    /// The file of one.
    File(PathBuf),
}

/// What came of a call.
#[derive(Clone, Debug, Default)]
pub struct Called {
    /// Why it was not done, if so.
    pub failure: Option<String>,
    /// The end of what was printed, without credentials.
    pub output: String,
    /// Which profile is the member's, where the hook tells.
    pub profile: Option<ObjectKey>,
    /// The namespace and the key of the placement's decision, where the hook tells.
    pub decision: Option<ObjectKey>,
}

/// A stand-in cannot be offered.
#[derive(Debug, thiserror::Error)]
#[error("failed to offer a stand-in: {0}")]
pub struct OfferError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// Offers members that stand in for real ones.
pub trait Offer: Send + Sync {
    /// Offers a new member of that name: healthy, and there until it is dropped.
    fn offer<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Box<dyn Offered>, OfferError>>;
}

/// A member that stands in for a real one.
pub trait Offered: Send + Sync {
    /// A kubeconfig for it; none where the hooks need none.
    fn kubeconfig(&self) -> Option<String>;
    /// The address of its API server, by which its profile may be known; none where it has none.
    fn server(&self) -> Option<String>;
    /// Its control plane breaks: its API server answers no more.
    fn break_down(&self);
    /// It is as healthy as before.
    fn heal(&self);
    /// It gets another version, and says which.
    fn upgrade(&self) -> String;
}

impl std::fmt::Debug for Way {
    /// Without the kubeconfig.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Way::Unknown => f.write_str("Unknown"),
            Way::Kubeconfig(_) => f.write_str("Kubeconfig(…)"),
            Way::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}

impl Called {
    /// It was done.
    pub fn done() -> Self {
        Self::default()
    }

    /// It was not, and why.
    pub fn failed(reason: impl Into<String>) -> Self {
        Self {
            failure: Some(reason.into()),
            ..Self::default()
        }
    }
}
