//! What a hub serves and allows, and what is read of it besides profiles and slices.

pub(crate) mod error;
pub mod missing;
pub(crate) mod namespaces;
pub(crate) mod permissions;
pub(crate) mod probe;
pub(crate) mod rbac;
pub(crate) mod secrets;
pub(crate) mod target;
