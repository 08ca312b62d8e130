//! JSON Schemas (draft 2020-12) of the files that the suite reads and writes, generated from their types.

use schemars::{JsonSchema, Schema, generate::SchemaSettings};

/// The schema of a file that the suite reads: optional keys may be absent.
pub fn read<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12()
        .for_deserialize()
        .into_generator()
        .into_root_schema_for::<T>()
}

/// The schema of a file that the suite writes: keys that it always writes are required.
pub fn written<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<T>()
}
