//! Describes what is served: discovery and OpenAPI.

pub(crate) mod documents;
pub(crate) mod openapi;
