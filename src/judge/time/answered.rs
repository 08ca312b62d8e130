//! Whether an object was as it should be when the time for an answer was over, and what was missed of that time.

use evidence::{Evidence, Tracked};
use jiff::{SignedDuration, Timestamp};

use super::{LATE, gaps::earliest};

/// When a watch has told all that was written by a moment.
pub(crate) fn told_by(moment: Timestamp) -> Timestamp {
    let late = SignedDuration::from_micros(LATE);
    moment.saturating_add(late).unwrap_or(Timestamp::MAX)
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
