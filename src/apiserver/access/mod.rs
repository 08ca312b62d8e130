//! Users and their tokens, RBAC, access reviews.

pub(crate) mod auth;
pub(crate) mod rbac;
pub(crate) mod reviews;
pub(crate) mod token;
pub(crate) mod tokens;
pub(crate) mod user;
