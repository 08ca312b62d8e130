//! Who may do what: users and their tokens, RBAC, reviews of access.

pub(crate) mod auth;
pub(crate) mod rbac;
pub(crate) mod reviews;
pub(crate) mod token;
pub(crate) mod tokens;
pub(crate) mod user;
