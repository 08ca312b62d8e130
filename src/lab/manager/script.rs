//! What happens to the fleet, and when.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::members::{FIRST_TO_JOIN, GROWING, LEAVER, OUTAGE, SECOND_TO_JOIN, UPGRADED};
use super::status::{Status, healthy, unreachable};
use crate::api::names::PROPERTY_NODE_COUNT;

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
    /// A merge patch is sent as it stands.
    Request { by: String, via: Via, patch: Value },
}

/// How what the manager knows of a member changes at a moment.
pub(super) type Change = Arc<dyn Fn(&mut Status, Timestamp) + Send + Sync>;

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
            Action::Request { .. } => "Request",
        })
    }
}

/// How long after its creation a profile gets its status: registration takes a moment.
pub(super) const REGISTRATION: Duration = Duration::from_secs(20);
/// When node counts begin to change, and how often one does.
const PULSE_FIRST: Duration = minutes(5);
const PULSE_EVERY: Duration = minutes(7);

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
    steps.push(Step::observe(minutes(8), OUTAGE, |status, now| {
        status.report(&unreachable(now));
    }));
    steps.push(Step::observe(minutes(12), OUTAGE, |status, now| {
        status.report(&healthy(now));
    }));
    steps.push(Step::plain(minutes(15), LEAVER, Action::Leave));
    steps.push(Step::observe(minutes(20), UPGRADED, |status, _| {
        status.kubernetes = Some("v1.35.0".to_owned());
    }));
    steps
}

/// The `index`th change of a node count. They go on for as long as the manager lives: a node comes to each growing
/// member in turn, and then goes from each.
pub(super) fn pulse(index: u32) -> Step {
    let turn = index as usize / GROWING.len();
    let member = GROWING[index as usize % GROWING.len()];
    Step::observe(PULSE_FIRST + PULSE_EVERY * index, member, move |status, _| {
        let nodes: u32 = status.value(PROPERTY_NODE_COUNT).parse().unwrap_or(0);
        let nodes = match turn % 2 {
            0 => nodes + 1,
            _ => nodes.saturating_sub(1),
        };
        status.set_value(PROPERTY_NODE_COUNT, &nodes.to_string());
    })
}
