//! The way of a request, from the HTTP message to its handler and back.

pub(crate) mod body;
pub(crate) mod dispatch;
pub(crate) mod routes;
pub(crate) mod service;
