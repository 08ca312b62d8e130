//! Users, their tokens and RBAC.

pub(crate) mod rbac;
pub(crate) mod token;
pub(crate) mod user;
