//! Times: the clocks of the hub and of the runner, the window, gaps, and sets of time.
//!
//! Assumptions: a watch reports a change within [`LATE`], unless it leaves a gap; a list shows the hub at one moment; the
//! runner's clock is not set. Where the hub's clock is set, or two of its API servers have different clocks, a timestamp
//! shows it: it is older than the one before, or later than its arrival. Only a clock that is further ahead than measured,
//! behind a watch that is late, and one that is set by more than [`LATE`] within a gap, show nothing.

mod bucket;
mod clock;
mod edge;
mod set;
mod watched;

pub(crate) use bucket::Bucket;
pub(crate) use clock::{
    CLOCKS_APART, HubClock, SERVERS_APART, known_skew, new_stamp, skew, stamp_of, stamped,
};
pub(crate) use edge::{Edge, put_in_order};
pub(crate) use set::{Set, Stretch};
pub(crate) use watched::{
    Gaps, end, is_log_broken, is_logged_around, is_watched, missed, timestamp, told_by, why_missed,
};

/// Microseconds since the epoch, or between two times: with timestamps of a hub, arithmetic may leave the range of a
/// timestamp.
pub(crate) type Micros = i64;

/// One second.
pub(crate) const SECOND: Micros = 1_000_000;

/// Maximum delay of a watch without a gap in the timeline: shorter interruptions leave none.
pub(crate) const LATE: Micros = 10 * SECOND;
