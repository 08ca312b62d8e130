//! The suite `placement-updates`: what a reschedule looks like to the consumers of a decision.

mod torn;

pub(super) use torn::no_torn_reschedule;
