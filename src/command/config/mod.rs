//! The configuration file: every flag of `run` as a key, and who made the implementation.
//!
//! What it says becomes flags in front of those of the command line, so that whatever holds for flags (their values, what
//! excludes what) holds for it, and no flag can be forgotten. What the command line says wins.

mod file;
mod flags;
mod keys;
mod merge;
mod schema;
mod show;

pub use flags::ConfigFlags;
pub use merge::merged;
pub use schema::schema;
