//! What a hub serves and allows, and what is read of it beside profiles and slices.

pub mod digester;
pub mod error;
pub mod missing;
pub(crate) mod namespaces;
pub(crate) mod permissions;
mod policies;
pub(crate) mod probe;
pub mod rbac;
pub(crate) mod secrets;
pub(crate) mod target;
pub mod wanted;
