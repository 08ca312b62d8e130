//! The suite `placement-ownership`: the scheduler writes, and the consumers read.

mod consumers;
mod conversation;
mod foreign;
mod lives;
mod users;
mod writers;

pub(super) use consumers::{consumers_cannot_write, consumers_read_only};
pub(super) use conversation::not_a_conversation;
pub(super) use foreign::foreign_decisions_untouched;
pub(super) use writers::one_writer;
