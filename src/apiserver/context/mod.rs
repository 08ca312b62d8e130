//! What handlers get: the server's state, the user, the audit event.

pub(crate) mod audit;
pub(crate) mod auth;
pub(crate) mod request;
pub(crate) mod state;
