//! The suite `consumer-scope`: which profiles are a consumer's.

mod namesakes;
mod selection;

pub(in crate::rules) use namesakes::namespaces_apart;
pub(in crate::rules) use selection::selection_kept;
