//! What the implementation made of a driver's step.
//!
//! A step leaves time for an answer, and says until when the run looked for it. What a watch delivers may be late, so
//! that nothing is held against anybody which may have been in time; and where the run did not look long enough, or
//! the watch missed part of the time, nobody can tell.

mod course;
mod steps;
mod verdict;

pub(super) use course::{State, alive, course, steps_about};
pub(super) use steps::{Done, done, steps};
pub(super) use verdict::{Answer, Shortfall, Span, did, member, to_the_second};
