//! When the runner stopped looking.

use evidence::{Evidence, api::ClusterProfile};
use jiff::Timestamp;

use super::Micros;

/// When the runner stopped looking; none for a dump.
pub(crate) fn end(evidence: &Evidence) -> Option<Micros> {
    evidence.header.window.map(|window| window.until.as_microsecond())
}

/// When the runner stopped looking at a profile's namespace; none for a dump.
pub(crate) fn end_of(evidence: &Evidence, profile: &ClusterProfile) -> Option<Micros> {
    let end = evidence.end_of(&profile.metadata.namespace)?;
    Some(end.as_microsecond())
}

/// The moment as a timestamp; the first or the last one for a moment beyond.
pub(crate) fn timestamp(at: Micros) -> Timestamp {
    let beyond = if at < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_microsecond(at).unwrap_or(beyond)
}
