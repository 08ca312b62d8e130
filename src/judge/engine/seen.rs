//! When a version was seen.

use evidence::Evidence;
use jiff::Timestamp;

use crate::time::{Micros, known_skew};

/// When a version of an object was seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// When it arrived, by the runner's clock; none in a dump.
    arrival: Option<Timestamp>,
    /// How far the hub's clock is ahead of the runner's; none if unknown.
    skew: Option<Micros>,
}

/// Whether a time was still to come when a version was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ahead {
    /// It lay in the future by more than the given margin.
    Yes,
    /// It did not.
    No,
    /// The version has no arrival time, as in a dump.
    NoArrival,
    /// The hub's clock is unknown.
    NoClock,
}

impl Seen {
    /// When a version arrived.
    pub(super) fn at(evidence: &Evidence, arrival: Option<Timestamp>) -> Self {
        Self {
            arrival,
            skew: known_skew(evidence),
        }
    }

    /// The hub's time when the version arrived, at least; none in a dump.
    pub(crate) fn hub_time(&self) -> Option<Micros> {
        let arrival = self.arrival?.as_microsecond();
        Some(arrival.saturating_add(self.skew.unwrap_or_default()))
    }

    /// Whether `time` lay more than `margin` ahead when the version arrived, by the hub's clock and by the runner's.
    pub(crate) fn is_ahead(&self, time: Timestamp, margin: Micros) -> Ahead {
        let Some(arrival) = self.arrival else {
            return Ahead::NoArrival;
        };
        let latest_clock = arrival
            .as_microsecond()
            .saturating_add(self.skew.unwrap_or_default().max(0));
        let is_ahead = time.as_microsecond() > latest_clock.saturating_add(margin);
        match (is_ahead, self.skew) {
            (false, _) => Ahead::No,
            (true, Some(_)) => Ahead::Yes,
            (true, None) => Ahead::NoClock,
        }
    }
}
