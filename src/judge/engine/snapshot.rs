//! A single list or a dump has no history: whether what it shows is old enough to be judged.

use evidence::{Evidence, Tracked, parse_time};

use crate::time::{Micros, SECOND, known_skew};

/// How old an object must be in a single list if implementations fill the field some time after the creation: 10 min.
pub(super) const FILLED_LATER: Micros = 600 * SECOND;

/// The reason for no verdict if nothing is old enough.
pub(super) const TOO_EARLY: &str = "too early to tell: no object has been unchanged for longer than the grace period; watch it for some minutes";

/// Whether all objects were unchanged for the grace period when they were read, by their newest server timestamp. True as
/// well if the evidence does not say when they were read.
pub(super) fn is_settled<'e, T: Tracked>(
    evidence: &Evidence,
    objects: impl Iterator<Item = &'e T>,
    grace: Micros,
) -> bool {
    let Some(read) = read_at(evidence) else {
        return true;
    };
    let newest = objects.filter_map(newest_timestamp).max();
    newest.is_none_or(|newest| read.saturating_sub(newest) >= grace)
}

/// When the objects were read, by the hub's clock, at the latest.
fn read_at(evidence: &Evidence) -> Option<Micros> {
    let header = &evidence.header;
    let end = header.window.map(|window| window.until).or(header.read_at)?;
    let ahead = known_skew(evidence).unwrap_or_default();
    Some(end.as_microsecond().saturating_add(ahead))
}

/// The newest timestamp that the hub wrote into an object's metadata.
pub(crate) fn newest_timestamp<T: Tracked>(object: &T) -> Option<Micros> {
    let metadata = object.metadata();
    let writers = metadata.writers.as_deref().unwrap_or_default();
    let times = writers.iter().filter_map(|writer| writer.time.as_deref());
    let times = times.chain(metadata.creation_timestamp.as_deref());
    times
        .filter_map(parse_time)
        .map(|time| time.as_microsecond())
        .max()
}
