//! The configuration file: every flag of `run` as a key, and who made the implementation.
//!
//! Its keys become flags in front of the command line's own, so the checks of flags (values, conflicts) apply to it,
//! and no flag can be forgotten. The command line wins.

mod file;
mod flags;
mod keys;
mod merge;
mod schema;
mod show;

pub use flags::ConfigFlags;
pub use merge::merged;
pub use schema::schema;
