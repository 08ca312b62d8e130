//! How the implementation answered a driver's step.
//!
//! A step allows time for an answer, and records until when the run looked for it. If the run did not look long enough, the
//! watch missed the end of that time, or told the answer so late that it may have been in time, the answer is unknown.

mod foreign;
mod history;
mod steps;
mod verdict;

pub(crate) use foreign::{Foreigners, untouched};
pub(crate) use history::{alive, did, member, steps_about, timeline, to_the_second};
pub(crate) use steps::{executed, has_left, steps};
pub(crate) use verdict::{Answer, Shortfall, Span, missed_from};
