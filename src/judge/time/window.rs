//! When the runner stopped looking.

use evidence::{Asked, Evidence, Tracked};
use jiff::Timestamp;

use super::Micros;

/// When the runner stopped looking; none for a dump.
pub(crate) fn end(evidence: &Evidence) -> Option<Micros> {
    evidence.header.window.map(|window| window.until.as_microsecond())
}

/// The moment as a timestamp; the first or the last one for a moment beyond.
pub(crate) fn timestamp(at: Micros) -> Timestamp {
    let beyond = if at < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_microsecond(at).unwrap_or(beyond)
}

/// Whether the run watched the objects of a kind. A dump and a single list have no history.
pub(crate) fn is_watched<T: Tracked>(evidence: &Evidence) -> bool {
    evidence.header.window.is_some() && matches!(evidence.asked(T::WATCHED), Asked::Yes)
}
