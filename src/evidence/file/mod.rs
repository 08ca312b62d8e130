//! The evidence file: everything that a run saw, so that anybody can judge it again later.
//!
//! It is JSON Lines: each line is one record, an object with one key that names the record's kind. Behind a name that
//! ends in `.zst` it is packed with zstd. Times are RFC 3339; shapes are those of [`crate`].
//!
//! | record | holds |
//! |---|---|
//! | `header` | first: the format's version, who looked, at what, when and with which rights |
//! | `gap` | something that was asked for and could not be had |
//! | `unreadable` | an object that does not fit the shape of its kind |
//! | `namespace` | a namespace, as last seen |
//! | `secret` | a consumer's Secret as digests, never a value |
//! | `probe` | a dry-run change and the hub's answer |
//! | `profile` | a profile's first version, with when and how it came into view |
//! | `change` | a later version of the nearest `profile` above: only what differs from the version before |
//! | `gone` | when the nearest `profile` above was seen to be gone |
//! | `requests` | the span that the audit log covers |
//! | `request` | one write request, in the hub's order; all stand after `requests` |
//! | `end` | last: the file is whole |
//!
//! In a `change`, an absent part is as before, and a `null` is no longer there. Its `metadata.writers` are told entry
//! by entry: a number stands for that entry (from 0) of the version before, `{"same": 1, "time": …}` for that entry
//! with another time, and anything else is a whole entry.
//!
//! The version in the header is `v` and a number. Within that number, records and keys may be added: a reader skips
//! the kinds of records that it does not know, and counts them in [`Input::notes`](super::Input::notes). A file of
//! another number is refused. A file that lacks its `end` was cut short: what is there is read, and a
//! [`Gap`](super::Gap) of each kind of evidence that may be missing says so.

mod change;
mod error;
mod read;
mod record;
#[cfg(test)]
mod strategies;
#[cfg(test)]
mod tests;
mod write;

pub use error::{FileError, LineError};
pub use read::{read, read_from};
pub(super) use record::OPENING;
use schemars::Schema;
#[cfg(any(unix, windows))]
pub use write::write;
pub use write::{write_named, write_summed, write_to};

/// The JSON Schema of one line.
pub fn schema() -> Schema {
    crate::json_schema::read::<record::Line>()
}
