//! Reports that take the binary: what it prints, the files that it leaves, and what its lab is reported to be like.

mod agreement;
mod files;
mod printed;
// Some of it is for the tests of the report's own crate.
#[allow(dead_code)]
#[path = "../../src/report/tests/formats/support/mod.rs"]
mod support;

/// The repository.
const ROOT: &str = env!("CARGO_MANIFEST_DIR");
