//! The suite `placement-updates`: what a reschedule looks like to the consumers of a decision.

mod empty;
mod torn;

pub(in crate::rules) use empty::{no_empty_writes, shows_effect};
pub(in crate::rules) use torn::no_torn_reschedule;
