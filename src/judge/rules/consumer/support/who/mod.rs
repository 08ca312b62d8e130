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
mod effect;
mod entry;
mod hand;
pub(crate) mod logged;
mod matching;
mod named_authors;
mod program;
pub(crate) mod publisher;
mod sender;
mod steps;

pub(crate) use effect::{Effect, Observed};
pub(crate) use entry::{Entry, entries};
pub use named_authors::Authors;
pub(crate) use sender::Sender;
