//! The public face: the server, and TLS on the loopback.

pub(crate) mod api_server;
pub(crate) mod http;
pub(crate) mod loopback;
