//! Stores objects and their history, and knows the resources they belong to.

pub(crate) mod builtin;
pub(crate) mod definition;
pub(crate) mod resource;
pub(crate) mod route;
pub(crate) mod storage;
