//! When: what the evidence tells about the time of things, and what it does not.
//!
//! A watch tells late, is interrupted, begins and ends, and the clocks of the hub and of the runner differ. All of that is
//! read here and nowhere else. What comes out are values that say how much they know: an [`Edge`] is a span that holds a
//! change, a [`Timeline`] has runs that nobody saw, and what is asked of them is answered by a [`Known`].
//!
//! The assumptions behind all answers: a watch tells what happened within [`LATE`], unless it leaves a gap; a list shows
//! the hub of one moment; the runner's clock is not set. Where the hub's clock is set, or two of its API servers have two
//! clocks, a stamp shows it: by going back, or by being later than an arrival. Only a clock that is further ahead than it was
//! measured, behind a watch that is late, and one that is set by more than [`LATE`] within a gap, show nothing.

mod age;
mod answered;
mod bucket;
mod clock;
mod edge;
mod gaps;
mod log;
mod missed;
#[cfg(test)]
mod readers;
mod set;
mod window;

pub(crate) use age::GRACE_SECONDS;
pub(crate) use answered::{missed, told_by};
pub(crate) use bucket::Bucket;
pub(crate) use clock::{
    CLOCKS_APART, HubClock, SERVERS_APART, known_skew, new_stamp, skew, stamp_of, stamped,
};
pub(crate) use edge::{Edge, put_in_order};
pub(crate) use gaps::Gaps;
pub(crate) use log::{is_log_broken, is_logged_around};
pub(crate) use missed::why_missed;
pub(crate) use set::{Set, Stretch};
pub(crate) use window::{end, is_watched, timestamp};

/// Microseconds since the epoch, or between two times: with timestamps of a hub, arithmetic may leave the range of a
/// timestamp.
pub(crate) type Micros = i64;

/// One second.
pub(crate) const SECOND: Micros = 1_000_000;

/// Maximum delay of a watch without a gap in the timeline: shorter interruptions leave none.
pub(crate) const LATE: Micros = 10 * SECOND;
