//! Reports, as their readers see them: parsers, schemas, runners of workflows, and people.

mod agreement;
mod dumps;
mod hostile;
mod leaks;
mod markdown;
pub mod support;

/// The repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
