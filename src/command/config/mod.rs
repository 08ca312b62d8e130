//! The configuration file: every flag of `run` as a key, and who made the implementation.
//!
//! Its keys become flags in front of the command line's own, so the checks of flags (values, conflicts) apply to it,
//! and no flag can be forgotten. The command line wins.

pub mod environment;
pub mod file;
pub mod keys;
pub mod schema;
pub mod show;
