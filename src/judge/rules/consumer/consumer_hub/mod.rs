//! The suite `consumer-hub`: a consumer reads the hub, and leaves the inventory to its manager.

mod deletion;
mod missed;
mod rights;
mod watches;
mod writes;

pub(in crate::rules) use deletion::deletion_not_blocked;
pub(in crate::rules) use missed::no_missed_event;
pub(in crate::rules) use rights::least_privilege;
pub(in crate::rules) use watches::watches;
pub(in crate::rules) use writes::{profile_not_written, status_not_written};
