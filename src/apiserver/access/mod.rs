//! Users, their tokens and RBAC.

pub(crate) mod rbac;
pub(crate) mod user;
