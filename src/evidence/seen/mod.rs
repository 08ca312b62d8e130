//! What was seen beside profiles and slices.

pub mod crd;
pub(crate) mod driver;
pub(crate) mod hook_call;
pub(crate) mod member;
pub(crate) mod mentions;
pub(crate) mod output;
pub(crate) mod placement_request;
pub(crate) mod probe;
pub(crate) mod request;
pub(crate) mod testbed;
