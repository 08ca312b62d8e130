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

mod absence;
mod age;
mod answered;
mod arrival;
mod bucket;
mod clock;
mod edge;
mod gaps;
mod known;
#[cfg(test)]
mod laws;
mod log;
mod missed;
#[cfg(test)]
pub(crate) mod readers;
mod set;
mod timeline;
mod together;
mod while_;
mod window;

pub(crate) use absence::absent;
pub(crate) use age::{Age, GRACE, GRACE_SECONDS, age_at};
pub(crate) use answered::{is_after_gap, missed, told_by};
pub(crate) use arrival::is_surely_later;
pub(crate) use bucket::Bucket;
pub(crate) use clock::{
    CLOCKS_APART, HubClock, SERVERS_APART, known_skew, new_stamp, on_our_clock, skew, stamped,
};
pub(crate) use edge::{Edge, put_in_order};
pub(crate) use gaps::Gaps;
pub(crate) use known::{Known, Why};
pub(crate) use log::{is_log_broken, is_logged_around};
pub(crate) use missed::{was_watched_in_part, why_incomplete, why_missed};
pub(crate) use set::{Set, Stretch};
pub(crate) use timeline::{Run, Seen, Timeline, stamp_of};
pub(crate) use together::{Change, Lasting, Look, Together};
pub(crate) use while_::While;
pub(crate) use window::{end, is_watched, timestamp};

/// Microseconds since the epoch, or between two times: with timestamps of a hub, arithmetic may leave the range of a
/// timestamp.
pub(crate) type Micros = i64;

/// One second.
pub(crate) const SECOND: Micros = 1_000_000;

/// Maximum delay of a watch without a gap in the timeline: shorter interruptions leave none.
pub(crate) const LATE: Micros = 10 * SECOND;
