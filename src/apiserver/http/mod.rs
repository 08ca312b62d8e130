//! From a request to an answer: parsing, forms of bodies, the service, and a port of this machine.

pub(crate) mod body;
pub(crate) mod context;
pub(crate) mod dispatch;
pub(crate) mod form;
pub(crate) mod loopback;
pub(crate) mod request;
pub(crate) mod service;
