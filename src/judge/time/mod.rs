//! Times: the clocks of the hub and of the runner, the window, gaps, and sets of time.
//!
//! Assumptions: a watch reports a change within [`LATE`], unless it leaves a gap; a list shows the hub at one moment; the
//! runner's clock is not set. Where the hub's clock is set, or two of its API servers have different clocks, a timestamp
//! shows it: it is older than the one before, or later than its arrival. Only a clock that is further ahead than measured,
//! behind a watch that is late, and one that is set by more than [`LATE`] within a gap, show nothing.

mod bucket;
mod clock;
mod set;

pub(crate) use bucket::Bucket;
pub(crate) use clock::{
    CLOCKS_APART, Gaps, HubClock, SERVERS_APART, end, is_log_broken, is_logged_around, is_watched,
    known_skew, missed, new_stamp, skew, stamp_of, stamped, timestamp, told_by, why_missed,
};
pub(crate) use set::{Set, Stretch};

/// Microseconds since the epoch, or between two times: with timestamps of a hub, arithmetic may leave the range of a
/// timestamp.
pub(crate) type Micros = i64;

/// One second.
pub(crate) const SECOND: Micros = 1_000_000;

/// Maximum delay of a watch without a gap in the timeline: shorter interruptions leave none.
pub(crate) const LATE: Micros = 10 * SECOND;

/// Some moment of a closed span, by the runner's clock. Either end may be infinite ([`Micros::MIN`], [`Micros::MAX`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    /// The earliest possible moment.
    pub(crate) earliest: Micros,
    /// The latest possible moment.
    pub(crate) latest: Micros,
}

impl Edge {
    pub(crate) fn at(moment: Micros) -> Self {
        Self {
            earliest: moment,
            latest: moment,
        }
    }

    /// Some moment up to `latest`, but not before `earliest`. What contradicts the latest moment is not believed.
    pub(crate) fn between(earliest: Micros, latest: Micros) -> Self {
        Self {
            earliest: earliest.min(latest),
            latest,
        }
    }

    /// Some moment of either.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            earliest: self.earliest.min(other.earliest),
            latest: self.latest.max(other.latest),
        }
    }

    /// Whether a moment may be the one.
    #[cfg(test)]
    pub(crate) fn holds(self, moment: Micros) -> bool {
        (self.earliest..=self.latest).contains(&moment)
    }
}

/// Narrows the edges of one object: its changes come in order, so none is before the one before it, nor after the next.
pub(crate) fn put_in_order<'a>(edges: impl DoubleEndedIterator<Item = &'a mut Edge>) {
    let mut edges: Vec<&mut Edge> = edges.collect();
    let mut bound = Micros::MAX;
    for edge in edges.iter_mut().rev() {
        bound = bound.min(edge.latest);
        edge.latest = bound;
        edge.earliest = edge.earliest.min(bound);
    }
    let mut bound = Micros::MIN;
    for edge in &mut edges {
        bound = bound.max(edge.earliest);
        edge.earliest = bound;
    }
}
