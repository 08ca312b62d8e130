//! The public face: the server, and TLS on the loopback.

pub(crate) mod api_server;
pub(crate) mod loopback;
pub(crate) mod service;
