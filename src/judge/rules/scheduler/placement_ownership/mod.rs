//! The suite `placement-ownership`: the scheduler writes, and the consumers read.

mod consumers;
mod conversation;
mod foreign;
mod lives;
mod published;
mod users;
mod writers;

pub(in crate::rules) use consumers::{consumers_cannot_write, consumers_read_only};
pub(in crate::rules) use conversation::not_a_conversation;
pub(in crate::rules) use foreign::foreign_decisions_untouched;
pub(in crate::rules) use writers::one_writer;
