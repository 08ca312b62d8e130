//! The script: what happens to the fleet, and when.

use std::{sync::Arc, time::Duration};

use evidence::api::names::PROPERTY_NODE_COUNT;
use jiff::Timestamp;
use serde_json::Value;

use super::{
    members::{FIRST_TO_JOIN, GROWING, LEAVER, OUTAGE, SECOND_TO_JOIN, UPGRADED},
    status::{Status, healthy, unready},
};
use crate::{client::Via, member::MemberState};

/// A step of the script, at a time after the manager's start.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub at: Duration,
    /// The member's name.
    pub member: String,
    pub action: Action,
}

/// An event of a member, or a request that a fault adds.
#[derive(Clone)]
pub(super) enum Action {
    /// It joins: the manager creates its profile, without a status, and its Secrets.
    Join,
    /// The manager observes it, and writes the status if it changed.
    Observe(Change),
    /// It leaves: the manager deletes its Secrets and its profile.
    Leave,
    /// The member itself changes. The manager sees that when it observes the member.
    Happen(Event),
    /// The manager sends this merge patch.
    Request { by: String, via: Via, patch: Value },
}

/// A change of the manager's knowledge of a member.
pub(super) type Change = Arc<dyn Fn(&mut Status, Timestamp) + Send + Sync>;

/// A change of a member itself.
pub(super) type Event = Arc<dyn Fn(&mut MemberState) + Send + Sync>;

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

/// The time from the creation of a profile to its first status.
pub(super) const REGISTRATION: Duration = Duration::from_secs(20);
/// The time from a change of a member to the update of its profile.
const LAG: Duration = Duration::from_secs(10);
/// The first change of a node count, and the time between changes.
const PULSE_FIRST: Duration = minutes(5);
const PULSE_EVERY: Duration = minutes(7);

/// The check that fails during the outage.
const BROKEN_CHECK: &str = "etcd";
/// The version after the upgrade.
const NEXT_VERSION: &str = "v1.35.0";

/// So many minutes.
pub(super) const fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}

impl Step {
    /// At this time, the manager changes the member's status.
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

    /// The member changes so early that the manager sees it at this time.
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

/// Half an hour of an ordinary fleet, without the changes of node counts.
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

/// The changes of node counts, without end: each growing member in turn gains a node, then each loses one.
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
