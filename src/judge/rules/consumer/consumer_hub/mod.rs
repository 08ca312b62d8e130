//! The suite `consumer-hub`: a consumer reads the hub, and leaves the inventory to its manager.

mod deletion;
mod writes;

pub(in crate::rules) use deletion::deletion_not_blocked;
pub(in crate::rules) use writes::{profile_not_written, status_not_written};
