//! The suite `placement-updates`: what a reschedule looks like to the consumers of a decision.

mod churn;
mod empty;
mod order;
mod torn;

pub(in crate::rules) use churn::not_churning;
pub(in crate::rules) use empty::no_empty_writes;
pub(in crate::rules) use order::{index_follows_order, stable_order};
pub(in crate::rules) use torn::no_torn_reschedule;
