//! What the arrivals of two changes tell. A watch brings them in order, each at most [`LATE`] after it was made.

use super::{LATE, Micros};

/// Whether time surely passed between a change that arrived at one moment and the next one.
pub(crate) fn is_surely_later(arrival: Micros, next: Micros) -> bool {
    surely_between(arrival, next) > 0
}

/// How long it surely was between two changes by their arrivals, the second of which need not be one: what was seen until
/// then may have changed already.
pub(crate) fn surely_between(arrival: Micros, next: Micros) -> Micros {
    next.saturating_sub(arrival).saturating_sub(LATE).max(0)
}
