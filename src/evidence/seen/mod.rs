//! What was seen beside profiles and slices.

pub(crate) mod consumer_rights;
pub mod crd;
pub(crate) mod driver;
pub(crate) mod hook_call;
pub(crate) mod hub_read;
pub(crate) mod member;
pub(crate) mod mentions;
pub(crate) mod output;
pub(crate) mod placement_request;
pub(crate) mod probe;
pub(crate) mod request;
pub(crate) mod taken_name;
pub(crate) mod testbed;
