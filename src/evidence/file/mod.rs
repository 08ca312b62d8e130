//! The evidence file: everything that a run observed, so that it can be judged again later.
//!
//! It is JSON Lines. Each line is a record: an object with one key, the record's kind. A later version of an object is
//! a JSON Merge Patch (RFC 7396) of the version before. `docs/evidence.md` lists the records.
//!
//! The reader skips unknown kinds of records and counts them in [`Input::notes`](super::Input::notes). A file without
//! an `end` was cut short: it leaves a [`Gap`](super::Gap) for each kind of evidence that may be missing.

pub(crate) mod checksum;
mod gather;
mod read;
mod record;
#[cfg(test)]
mod strategies;
#[cfg(test)]
mod tests;
mod write;

use std::{io, path::Path};

pub(crate) use read::peek;
pub use read::read_from;
use schemars::Schema;
pub use write::{write_named, write_summed, write_to};

use crate::{Limits, read::files::open};

/// Whether a file, packed or not, is an evidence file: its content decides.
pub fn is_one(path: &Path) -> io::Result<bool> {
    let (_, is_evidence) = peek(&mut open(path, &Limits::default())?)?;
    Ok(is_evidence)
}

/// The JSON Schema of one line.
pub fn schema() -> Schema {
    crate::json_schema::of_input::<record::Record>()
}

/// JSON Schemas (draft 2020-12) of the files that the suite reads and writes, generated from their types.
pub mod json_schema {
    use schemars::{JsonSchema, Schema, generate::SchemaSettings};

    /// The schema of a file that the suite reads: optional keys may be absent.
    pub fn of_input<T: JsonSchema>() -> Schema {
        SchemaSettings::draft2020_12()
            .for_deserialize()
            .into_generator()
            .into_root_schema_for::<T>()
    }

    /// The schema of a file that the suite writes: keys that it always writes are required.
    pub fn of_output<T: JsonSchema>() -> Schema {
        SchemaSettings::draft2020_12()
            .for_serialize()
            .into_generator()
            .into_root_schema_for::<T>()
    }
}
