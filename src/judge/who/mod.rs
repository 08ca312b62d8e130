//! Who: whose doing a change, a creation or a deletion is, and what the evidence does not tell of that.
//!
//! Authors are read here and nowhere else: from the audit log, from managedFields, from the names that the user claimed,
//! and from the run's own steps. What comes out is a [`Hand`].
//!
//! Proof is an entry of the audit log by a user that was claimed, or a watched step that moved a claimed field manager's
//! entry. Nobody has to claim on a simple hub: where one program alone published all judged objects of a producer, that
//! is a claim, which reports call inferred. All else is unknown: a step over a gap, a change without an author, and a
//! program that nobody claimed.

pub(crate) mod authors;
mod claimed;
mod creators;
mod effect;
mod entry;
mod hand;
pub(crate) mod logged;
mod matching;
mod named_authors;
mod program;
pub(crate) mod publisher;
#[cfg(test)]
mod readers;
mod sender;
mod steps;
mod strays;
mod succession;
mod touched;

pub(crate) use effect::{Effect, Observed};
pub(crate) use entry::{Entry, OUTDATED, entries, is_status, writes_status};
pub(crate) use hand::{Doing, Hand, Who, is_at};
pub(crate) use matching::has_status_subresource;
pub use named_authors::Authors;
pub(crate) use sender::Sender;
pub(crate) use steps::{Publishing, may_be_a_producers};
pub(crate) use strays::strays;
pub(crate) use succession::{Succession, WriteSpan, in_turns};
pub(crate) use touched::before_and_after;
