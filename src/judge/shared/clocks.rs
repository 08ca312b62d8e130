//! Compares times of different clocks. The hub stamps creations, managers stamp what they report, and the runner stamps
//! what it sees.

use evidence::{Evidence, ProfileHistory, api::ClusterProfile};

pub(crate) use crate::time::{Age, GRACE, age_at};
use crate::time::{CLOCKS_APART, Micros, end, on_our_clock};

/// The reason for no verdict if the age of a fault depends on clocks that cannot be compared.
pub(crate) const CLOCKS_UNKNOWN: &str =
    "too early to tell: the clocks do not show whether a fault is older than the grace of 2 min";

/// Whether a profile is older than the grace and not terminating. Without a window, as in a dump, every profile is.
pub(crate) fn is_settled(evidence: &Evidence, history: &ProfileHistory) -> bool {
    history.last().metadata.deletion_timestamp.is_none() && age(evidence, history) == Age::Settled
}

/// [`age_at`] the end of the window. Without a window, as in a dump, every profile is older than the grace.
pub(crate) fn age(evidence: &Evidence, history: &ProfileHistory) -> Age {
    let end = end(evidence);
    end.map_or(Age::Settled, |end| age_at(evidence, history, end))
}

/// [`age_of_transitions_at`] the end of the window. Without a window, they are longer ago than the grace.
pub(crate) fn age_of_transitions(evidence: &Evidence, profile: &ClusterProfile, conditions: &[&str]) -> Age {
    let end = end(evidence);
    end.map_or(Age::Settled, |end| {
        age_of_transitions_at(evidence, profile, conditions, end)
    })
}

/// Whether the last transitions of these conditions were longer ago than the grace at a moment. The manager stamps them by
/// a clock that may differ from the runner's.
pub(crate) fn age_of_transitions_at(
    evidence: &Evidence,
    profile: &ClusterProfile,
    conditions: &[&str],
    end: Micros,
) -> Age {
    let transitions = conditions
        .iter()
        .filter_map(|kind| transition(evidence, profile, kind));
    match transitions.max().map(|last| end.saturating_sub(last)) {
        Some(age) if age < GRACE => Age::New,
        Some(age) if age < GRACE.saturating_add(CLOCKS_APART) => Age::Unsure,
        _ => Age::Settled,
    }
}

/// The last transition time of a condition, by the runner's clock if the manager follows the hub's.
pub(crate) fn transition(evidence: &Evidence, profile: &ClusterProfile, kind: &str) -> Option<Micros> {
    let time = profile.condition(kind)?.last_transition_time.as_deref()?;
    on_our_clock(evidence, time)
}
