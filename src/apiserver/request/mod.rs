//! A request as parsed, the form that it asks for, and its answer.

pub(crate) mod form;
pub(crate) mod info;
pub(crate) mod protobuf;
pub(crate) mod reply;
