//! Compares times of different clocks. The hub stamps creations, managers stamp what they report, and the runner stamps
//! what it sees.

use evidence::{Evidence, GRACE_SECONDS, Origin, ProfileHistory, api::ClusterProfile, parse_time};

use super::write_time::{CLOCKS_APART, LATE, Micros, SECOND, end_of, gap_around, on_our_clock};
pub(super) use crate::time::known_skew;

/// The default grace of the ledger: 2 min.
pub(super) const GRACE: Micros = GRACE_SECONDS * SECOND;

/// The reason for no verdict if the age of a fault depends on clocks that cannot be compared.
pub(super) const CLOCKS_UNKNOWN: &str =
    "too early to tell: the clocks do not show whether a fault is older than the grace of 2 min";

/// The reason for no verdict on a time that is later than the runner's clock.
pub(super) const HUB_CLOCK_UNKNOWN: &str =
    "the hub's clock is unknown, so a time after the runner's present may not be in the future";

/// Whether something has lasted for longer than the grace period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Age {
    /// Longer than the grace.
    Settled,
    /// The clocks do not tell.
    Unsure,
    /// Not longer than the grace.
    New,
}

/// Whether a profile is older than the grace and not terminating. Without a window, as in a dump, every profile is.
pub(super) fn is_settled(evidence: &Evidence, history: &ProfileHistory) -> bool {
    history.last().metadata.deletion_timestamp.is_none() && age(evidence, history) == Age::Settled
}

/// [`age_at`] the end of the window. Without a window, as in a dump, every profile is older than the grace.
pub(super) fn age(evidence: &Evidence, history: &ProfileHistory) -> Age {
    let end = end_of(evidence, history.last());
    end.map_or(Age::Settled, |end| age_at(evidence, history, end))
}

/// Whether a profile existed for longer than the grace at a moment, such as when it was last seen. If the watch saw too
/// little of that, the creation time decides, as far as the clocks can be compared.
pub(super) fn age_at(evidence: &Evidence, history: &ProfileHistory, end: Micros) -> Age {
    let first = &history.versions[0];
    let seen = first.at.as_microsecond();
    if end.saturating_sub(seen) >= GRACE {
        return Age::Settled;
    }
    // Before the gap in which it came, it was not there.
    let came_within = || gap_around(evidence, &first.object, first.at);
    let is_younger = match history.origin {
        Origin::Created => true,
        Origin::Relisted => came_within().is_some_and(|gap| end.saturating_sub(gap) < GRACE),
        Origin::Listed => false,
    };
    if is_younger {
        return Age::New;
    }
    let created = first.object.metadata.creation_timestamp.as_deref();
    let Some(created) = created.and_then(parse_time).map(|time| time.as_microsecond()) else {
        return Age::Settled;
    };
    match known_skew(evidence).map(|skew| created.saturating_sub(skew)) {
        // A creation after the first sight shows that the skew is wrong.
        Some(created) if created <= seen.saturating_add(LATE) => {
            if end.saturating_sub(created) >= GRACE {
                Age::Settled
            } else {
                Age::New
            }
        }
        _ if end.saturating_sub(created) >= GRACE.saturating_add(CLOCKS_APART) => Age::Settled,
        _ => Age::Unsure,
    }
}

/// [`age_of_transitions_at`] the end of the window. Without a window, they are longer ago than the grace.
pub(super) fn age_of_transitions(evidence: &Evidence, profile: &ClusterProfile, conditions: &[&str]) -> Age {
    let end = end_of(evidence, profile);
    end.map_or(Age::Settled, |end| {
        age_of_transitions_at(evidence, profile, conditions, end)
    })
}

/// Whether the last transitions of these conditions were longer ago than the grace at a moment. The manager stamps them by
/// a clock that may differ from the runner's.
pub(super) fn age_of_transitions_at(
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
pub(super) fn transition(evidence: &Evidence, profile: &ClusterProfile, kind: &str) -> Option<Micros> {
    let time = profile.condition(kind)?.last_transition_time.as_deref()?;
    on_our_clock(evidence, time)
}
