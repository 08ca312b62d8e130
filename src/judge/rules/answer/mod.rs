//! How the implementation answered a driver's step.
//!
//! A step allows time for an answer, and records until when the run looked for it. A watch may deliver late, so an
//! answer that may have been in time counts as given. If the run did not look long enough, or the watch missed part of
//! the time, the answer is unknown.

mod against;
mod foreign;
mod history;
mod steps;
mod verdict;

pub(super) use against::hold_against;
pub(super) use foreign::{Foreigners, inferred, untouched};
pub(super) use history::{alive, did, member, states, steps_about, to_the_second};
pub(super) use steps::{executed, has_left, steps};
pub(super) use verdict::{Answer, Shortfall, Span, late, missed_since};
