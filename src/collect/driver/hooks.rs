//! Interfaces of a driver: hooks that make the implementation act, and offers of members.

use std::path::PathBuf;

use evidence::{DriverAction, ObjectKey, PlacementRequest};
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

/// Makes the implementation act.
pub trait Hooks: Send + Sync {
    /// Why the implementation cannot do that; none if it can.
    fn lacking(&self, action: DriverAction) -> Option<String>;

    /// Makes it act, and waits until that is done or `stop` is cancelled.
    fn call<'a>(&'a self, call: &'a Call<'a>, stop: CancellationToken) -> BoxFuture<'a, Called>;
}

/// What the implementation should do.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// The action.
    pub action: DriverAction,
    /// The member; none for the whole implementation.
    pub member: Option<&'a Member>,
    /// The profile of that member, if it is known.
    pub profile: Option<ObjectKey>,
    /// The version that the member should have after an upgrade.
    pub version: Option<String>,
    /// The namespace of the run's own in which the member's profile should be; none if the implementation chooses it.
    pub namespace: Option<&'a str>,
    /// What is requested from a scheduler, or no longer.
    pub placement: Option<&'a PlacementRequest>,
}

/// Hooks, each with the hook that undoes it.
pub(super) const UNDONE_BY: [(DriverAction, DriverAction); 5] = [
    (DriverAction::Join, DriverAction::Leave),
    (DriverAction::Break, DriverAction::Heal),
    (DriverAction::Disconnect, DriverAction::Reconnect),
    (DriverAction::Place, DriverAction::Unplace),
    (DriverAction::Stop, DriverAction::Start),
];

pub(super) fn undone_by(action: DriverAction) -> Option<DriverAction> {
    let undone = UNDONE_BY.iter().find(|(one, _)| *one == action);
    undone.map(|(_, undo)| *undo)
}

/// Whether a hook undoes what another one did. The run calls it even when it stops.
pub(super) fn undoes(action: DriverAction) -> bool {
    UNDONE_BY.iter().any(|(_, undo)| *undo == action)
}

impl<'a> Call<'a> {
    /// A call for the whole implementation.
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

    /// The name of its member or placement; empty for the whole implementation.
    pub(super) fn name(&self) -> &str {
        let placement = self.placement.map(|placement| &placement.name);
        let name = self.member.map(|member| &member.name).or(placement);
        name.map_or("", String::as_str)
    }
}

/// A member, as a hook knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// Its name: a DNS label, unless it is the implementer's own.
    pub name: String,
    /// Its kubeconfig.
    pub kubeconfig: MemberKubeconfig,
}

/// The kubeconfig of a member.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum MemberKubeconfig {
    /// The hook has it.
    #[default]
    Unknown,
    /// Its content.
    Text(String),
    /// Its file.
    File(PathBuf),
}

/// The result of a call.
#[derive(Clone, Debug, Default)]
pub struct Called {
    /// Why it failed, if it did.
    pub failure: Option<String>,
    /// The end of its output, without credentials.
    pub output: String,
    /// The member's profile, if the hook prints it.
    pub profile: Option<ObjectKey>,
    /// The namespace and the key of the placement's decision, if the hook prints them.
    pub decision: Option<ObjectKey>,
}

/// A fake member cannot be offered.
#[derive(Debug, thiserror::Error)]
#[error("failed to offer a fake member: {0}")]
pub struct OfferError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// Offers fake members.
pub trait Offer: Send + Sync {
    /// Offers a new member of that name: healthy, and running until it is dropped.
    fn offer<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Box<dyn Offered>, OfferError>>;
}

/// A fake member.
pub trait Offered: Send + Sync {
    /// A kubeconfig for it; none if the hooks need none.
    fn kubeconfig(&self) -> Option<String>;
    /// The address of its API server, by which its profile may be recognized; none if it has none.
    fn server(&self) -> Option<String>;
    /// Breaks its control plane: its API server no longer answers.
    fn break_down(&self);
    /// Repairs it.
    fn heal(&self);
    /// Gives it another version, and returns that.
    fn upgrade(&self) -> String;
}

impl std::fmt::Debug for MemberKubeconfig {
    /// Without the content.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            MemberKubeconfig::Unknown => f.write_str("Unknown"),
            MemberKubeconfig::Text(_) => f.write_str("Text(…)"),
            MemberKubeconfig::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}

impl Called {
    /// A success.
    pub fn done() -> Self {
        Self::default()
    }

    /// A failure with its reason.
    pub fn failed(reason: impl Into<String>) -> Self {
        Self {
            failure: Some(reason.into()),
            ..Self::default()
        }
    }
}

/// Calls a hook that undoes an earlier one: for the member or the placement of that name, or for the whole implementation.
pub(super) async fn call_undo(
    hooks: &dyn Hooks,
    action: DriverAction,
    member: &Member,
    profile: Option<ObjectKey>,
) -> Called {
    let placement = PlacementRequest {
        name: member.name.clone(),
        ..PlacementRequest::default()
    };
    let is_on_placements = action.is_on_placements();
    let call = Call {
        member: (!is_on_placements && !member.name.is_empty()).then_some(member),
        placement: is_on_placements.then_some(&placement),
        profile,
        ..Call::of(action)
    };
    hooks.call(&call, CancellationToken::new()).await
}

/// Reads `namespace/name`, where the name may be a label's value.
pub(super) fn profile_key(text: &str) -> Option<ObjectKey> {
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
