//! The suite `placement-updates`: what a reschedule looks like to the consumers of a decision.

mod churn;
mod empty;
mod order;
mod torn;

pub(super) use churn::not_churning;
pub(super) use empty::no_empty_writes;
pub(super) use order::{index_follows_order, stable_order};
pub(super) use torn::no_torn_reschedule;
