//! Evidence: what a run observed, as plain data. Rules see nothing else of the world.
//!
//! Collecting fills an [`Evidence`]; judging reads it. Unavailable evidence is a [`Gap`] or an [`Requested::No`] with its
//! reason, so that a rule can distinguish "not broken" from "not seen".

pub mod api;
pub mod certificate;
pub mod dump;
mod evidence;
pub mod file;
/// The labels on all objects that the suite prints or creates, by which they are found and deleted.
pub mod labels {
    /// What the object is part of: [`SUITE`], on all of them.
    pub const LABEL_PART_OF: &str = "app.kubernetes.io/part-of";
    /// Which program the object is for: [`SUITE`] for runs, and other names that begin so.
    pub const LABEL_NAME: &str = "app.kubernetes.io/name";
    /// What the suite calls itself.
    pub const SUITE: &str = "clusterprofile-conformance";
}
mod named;
mod objects;
/// Which evidence was requested, when, by which run, and what is missing.
mod observation {
    pub(crate) mod about;
    pub(crate) mod gaps;
    pub(crate) mod header;
    pub(crate) mod reason;
}
/// Reads files of other programs: within bounds, and without quoting a value.
mod read {
    pub(crate) mod files;
    pub(crate) mod input;
    pub mod lenient;
    pub mod strict;
    pub mod user_file;
}
pub mod runs;
/// Consumers' Secrets without their values, and credentials that must not be shown.
mod secrets {
    pub(crate) mod digest;
    pub mod leak;
    pub mod redact;
    pub(crate) mod secret;
}
/// What was observed besides profiles and slices.
mod seen {
    pub(crate) mod consumer;
    pub mod crd;
    pub(crate) mod driver;
    pub(crate) mod member;
    pub(crate) mod request;
    pub(crate) mod testbed;
}

pub use evidence::{Evidence, Input};
pub use file::{checksum::Checksum, json_schema};
pub use objects::*;
pub use observation::{about::*, gaps::*, header::*, reason::*};
pub use read::{files::*, input::*, lenient, strict, user_file};
pub use secrets::{digest::*, leak, redact, secret::*};
pub use seen::{consumer::*, crd, driver::*, member::*, request::*, testbed::*};
