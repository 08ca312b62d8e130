//! HTTP: parsing requests, building answers, the way in between, and TLS on the loopback.

pub(crate) mod body;
pub(crate) mod context;
pub(crate) mod dispatch;
pub(crate) mod form;
pub(crate) mod loopback;
pub(crate) mod request;
pub(crate) mod service;
