//! What was observed besides profiles and slices.

pub(crate) mod consumer;
pub mod crd;
pub(crate) mod driver;
pub(crate) mod member;
pub(crate) mod placement_request;
pub(crate) mod request;
pub(crate) mod testbed;
