//! What the rules on consumers share: what profiles said, who was called, and whether the consumer had its chance.

mod away;
mod called;
mod decisions;
mod entries;
mod pause;
mod play;
mod size;
mod standing;

pub(crate) use away::{Away, follows_what_changed};
pub(crate) use called::{UNSEEN, call_in_words, comes_back_within, expect_call, goes_on};
pub(crate) use decisions::{Decisions, Slice};
pub(crate) use entries::{
    arguments, extension, inviting, is_malformed, is_plain, is_way_to, known, may_ask_for, proxy, server,
    tls_name, trusts, unknown, variables,
};
pub(crate) use pause::Pause;
pub(crate) use play::{Play, Subject, held_throughout};
pub(crate) use standing::{Standing, standings};
