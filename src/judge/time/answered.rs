//! Whether an object was as it should be when the time for an answer was over, and what was missed of that time.

use evidence::{Evidence, Tracked};
use jiff::{SignedDuration, Timestamp};

use super::{LATE, gaps::earliest};

/// When a watch has told all that was written by a moment.
pub(crate) fn told_by(moment: Timestamp) -> Timestamp {
    let late = SignedDuration::from_micros(LATE);
    moment.saturating_add(late).unwrap_or(Timestamp::MAX)
}

/// Whether a watch may have lost something between the version of an object that arrived at that time and the one before it:
/// it arrived in a gap, or with the list that ended one. An earlier gap hid nothing, as its list showed the version before.
pub(crate) fn is_after_gap<T: Tracked>(
    evidence: &Evidence,
    object: (&str, &str),
    arrival: Timestamp,
) -> bool {
    missed::<T>(evidence, Some(object), arrival, arrival).is_some()
}

/// From when on nobody watched the objects of a kind in a closed span, if so; or one of them, by namespace and name.
pub(crate) fn missed<T: Tracked>(
    evidence: &Evidence,
    object: Option<(&str, &str)>,
    from: Timestamp,
    until: Timestamp,
) -> Option<Timestamp> {
    let first = match object {
        Some(object) => earliest(evidence, T::WATCHED, object, from.as_microsecond()),
        None => evidence.gaps.times(T::WATCHED).earliest(from.as_microsecond()),
    };
    let begins = first.filter(|start| *start <= until.as_microsecond());
    begins.map(|start| Timestamp::from_microsecond(start).map_or(from, |start| start.max(from)))
}
