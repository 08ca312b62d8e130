//! What happens to the fleet, and when.

use std::{sync::Arc, time::Duration};

use evidence::api::names::PROPERTY_NODE_COUNT;
use jiff::Timestamp;
use serde_json::Value;

use super::{
    members::{FIRST_TO_JOIN, GROWING, LEAVER, OUTAGE, SECOND_TO_JOIN, UPGRADED},
    status::{Status, healthy, unready},
};
use crate::member::MemberState;

/// Something that happens, so long after the manager's life began.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub at: Duration,
    /// The member's name.
    pub member: String,
    pub action: Action,
}

/// What happens to a member, or what a fault has the manager do to its profile.
#[derive(Clone)]
pub(super) enum Action {
    /// It joins: its profile and its Secrets are created, the status not yet.
    Join,
    /// It is looked at; the status is written where that brought something new.
    Observe(Change),
    /// It leaves: its Secrets and its profile are deleted.
    Leave,
    /// Something happens to the member itself, of which the manager hears when it looks at it.
    Happen(Event),
    /// A merge patch is sent as it stands.
    Request { by: String, via: Via, patch: Value },
}

/// How what the manager knows of a member changes at a moment.
pub(super) type Change = Arc<dyn Fn(&mut Status, Timestamp) + Send + Sync>;

/// How a member itself changes at a moment.
pub(super) type Event = Arc<dyn Fn(&mut MemberState) + Send + Sync>;

/// Through which resource a profile is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Via {
    /// The object itself.
    Object,
    /// Its `/status`.
    Status,
}

impl std::fmt::Debug for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Action::Join => "Join",
            Action::Observe(_) => "Observe",
            Action::Leave => "Leave",
            Action::Happen(_) => "Happen",
            Action::Request { .. } => "Request",
        })
    }
}

/// How long after its creation a profile gets its status: registration takes a moment.
pub(super) const REGISTRATION: Duration = Duration::from_secs(20);
/// How long after something happened to a member the manager says so.
const LAG: Duration = Duration::from_secs(10);
/// When node counts begin to change, and how often one does.
const PULSE_FIRST: Duration = minutes(5);
const PULSE_EVERY: Duration = minutes(7);

/// What of the member's control plane fails during its outage.
const BROKEN_CHECK: &str = "etcd";
/// What the upgraded member is upgraded to.
const NEXT_VERSION: &str = "v1.35.0";

/// So many minutes.
pub(super) const fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}

impl Step {
    /// At this time, the member's status changes so.
    pub(super) fn observe(
        at: Duration,
        member: &str,
        change: impl Fn(&mut Status, Timestamp) + Send + Sync + 'static,
    ) -> Self {
        Self {
            at,
            member: member.to_owned(),
            action: Action::Observe(Arc::new(change)),
        }
    }

    /// Before this time, by as much as the manager needs to see it, something happens to the member.
    pub(super) fn happen(
        seen: Duration,
        member: &str,
        event: impl Fn(&mut MemberState) + Send + Sync + 'static,
    ) -> Self {
        Self::plain(seen - LAG, member, Action::Happen(Arc::new(event)))
    }

    fn plain(at: Duration, member: &str, action: Action) -> Self {
        Self {
            at,
            member: member.to_owned(),
            action,
        }
    }
}

/// Half an hour in the life of an ordinary fleet, node counts aside.
pub(super) fn life() -> Vec<Step> {
    let mut steps = Vec::new();
    for (member, at) in [
        (FIRST_TO_JOIN, Duration::from_secs(60)),
        (SECOND_TO_JOIN, Duration::from_secs(150)),
    ] {
        steps.push(Step::plain(at, member, Action::Join));
        steps.push(Step::observe(at + REGISTRATION, member, |_, _| {}));
    }
    let (breaks, heals, leaves, rises) = (minutes(8), minutes(12), minutes(15), minutes(20));
    steps.push(Step::happen(breaks, OUTAGE, |member| {
        member.failing_checks.insert(BROKEN_CHECK.to_owned());
    }));
    steps.push(Step::observe(breaks, OUTAGE, |status, now| {
        status.report(&unready(BROKEN_CHECK, now));
    }));
    steps.push(Step::happen(heals, OUTAGE, |member| {
        member.failing_checks.clear()
    }));
    steps.push(Step::observe(heals, OUTAGE, |status, now| {
        status.report(&healthy(now));
    }));
    steps.push(Step::plain(leaves, LEAVER, Action::Leave));
    steps.push(Step::happen(rises, UPGRADED, |member| {
        member.version = NEXT_VERSION.to_owned();
    }));
    steps.push(Step::observe(rises, UPGRADED, |status, _| {
        status.kubernetes = Some(NEXT_VERSION.to_owned());
    }));
    steps
}

/// The changes of node counts. They go on for as long as the manager lives: a node comes to each growing member in
/// turn, and then goes from each.
pub(super) fn pulses() -> impl Iterator<Item = Step> {
    (0..).flat_map(|index: u32| {
        let turn = index as usize / GROWING.len();
        let member = GROWING[index as usize % GROWING.len()];
        let change = move |nodes: u32| match turn % 2 {
            0 => nodes + 1,
            _ => nodes.saturating_sub(1),
        };
        let at = PULSE_FIRST + PULSE_EVERY * index;
        [
            Step::happen(at, member, move |member| member.nodes = change(member.nodes)),
            Step::observe(at, member, move |status, _| {
                let nodes: u32 = status.value(PROPERTY_NODE_COUNT).parse().unwrap_or(0);
                status.set_value(PROPERTY_NODE_COUNT, &change(nodes).to_string());
            }),
        ]
    })
}
