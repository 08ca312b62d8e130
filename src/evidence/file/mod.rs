//! The evidence file: everything that a run observed, so that others can judge it again later.
//!
//! It is JSON Lines. Each line is a record: an object with one key, the record's kind. A file whose name ends in `.zst`
//! is packed with zstd. Times are RFC 3339; the shapes are those of [`crate`].
//!
//! | record | holds |
//! |---|---|
//! | `header` | first: the format's version, the observer, the hub, the time and the permissions |
//! | `gap` | evidence that was requested but unavailable |
//! | `unreadable` | an object that does not have the shape of its kind |
//! | `namespace` | a namespace, as last seen |
//! | `secret` | a consumer's Secret as digests, never a value |
//! | `probe` | a dry-run change and the hub's answer |
//! | `profile` | a profile's first version, with when and how the run first saw it |
//! | `slice` | the same of a PlacementDecision |
//! | `change` | a later version of the nearest `profile` or `slice` above: only what differs from the version before |
//! | `gone` | when the run saw that the nearest `profile` or `slice` above was deleted |
//! | `missing` | only in a `later`: a name for which the run waited though no profile had it when the window ended |
//! | `later` | a `gap`, `missing`, `profile`, `slice`, `change` or `gone` of the time after the window |
//! | `workload` | a workload with a placement key, as last seen |
//! | `consumerAccess` | what a consumer of placements may do on the hub |
//! | `requests` | the span that the audit log covers |
//! | `request` | one write request, in the hub's order; all stand after `requests` |
//! | `sliceRequests`, `sliceRequest` | the same for PlacementDecisions |
//! | `stage` | the stage on which a consumer was judged |
//! | `memberCalls`, `memberCall` | the span of the log of the stage's members, and what reached them |
//! | `pluginCalls`, `pluginCall` | the same of the stage's credential plugin |
//! | `notices` | where the consumer named staged profiles, and where credentials of the stage were found |
//! | `member` | a member, and its first answers |
//! | `look` | later answers of the nearest `member` above: only what differs from the answers before |
//! | `endpointCall` | an endpoint of a profile, and whether it answered |
//! | `login` | whether a member accepted a credential |
//! | `end` | last: the file is complete |
//!
//! In a `change` and a `look`, an absent part is unchanged, and `null` was removed. Each entry of `metadata.writers` is one of
//! three: a number is that entry (from 0) of the version before, `{"same": 1, "time": …}` is that entry with another
//! time, anything else is a whole entry.
//!
//! The version in the header is `v` and a number. Records and keys may be added within that number: a reader skips
//! unknown kinds of records and counts them in [`Input::notes`](super::Input::notes). It refuses another number, but for `v1`,
//! in which later versions of slices were whole (`sliceVersion`), and a first version was named by its kind. A file
//! without an `end` was cut short: the reader keeps what is there, and adds a [`Gap`](super::Gap) for each kind of
//! evidence that may be missing.

mod change;
pub(crate) mod checksum;
mod error;
mod gather;
pub mod json_schema;
mod line;
mod look;
mod opening;
mod read;
mod record;
mod section;
#[cfg(test)]
mod strategies;
#[cfg(test)]
mod tests;
mod window;
mod write;

use std::{io, path::Path};

pub use error::{FileError, LineError};
pub(crate) use read::read_bounded;
pub use read::{read, read_from};
use schemars::Schema;
pub use write::{write_named, write_summed, write_to};

pub(super) use self::opening::peek;
use crate::{Limits, read::open::open};

/// Whether a file, packed or not, is an evidence file: its content decides.
///
/// # Errors
/// When it cannot be opened or read.
pub fn is_one(path: &Path) -> io::Result<bool> {
    let (_, is_evidence) = peek(&mut open(path, &Limits::default())?)?;
    Ok(is_evidence)
}

/// The JSON Schema of one line.
pub fn schema() -> Schema {
    crate::json_schema::read::<record::Record>()
}
