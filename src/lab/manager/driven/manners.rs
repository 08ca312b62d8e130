//! How the manager goes about its members.

/// How the manager goes about its members. The default is how it should; faults alter it.
#[derive(Clone, Debug, Default)]
pub(in crate::lab::manager) struct Manners {}
