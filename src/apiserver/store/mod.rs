//! What is stored: types of resources, definitions, and the history that watches read.

pub(crate) mod builtin;
pub(crate) mod definition;
pub(crate) mod named;
pub(crate) mod resource;
pub(crate) mod scale;
pub(crate) mod storage;
