//! Consumers' Secrets without their values, and credentials that must not be shown.

pub(crate) mod digest;
pub mod leak;
pub mod redact;
pub(crate) mod secret;
