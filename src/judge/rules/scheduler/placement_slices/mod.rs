//! Rules on the slices of a decision: their size, key and index (KEP-5313 › Slicing).

mod clusters;
mod index;
mod key;
mod needless;
mod shared_key;
mod size;

pub(in crate::rules) use clusters::{cluster_in_one_slice, cluster_of_decision, cluster_once_in_slice};
pub(in crate::rules) use index::{index_complete, index_is_number};
pub(in crate::rules) use key::{key_one_decision, namespace_and_key};
pub(in crate::rules) use needless::no_needless_slices;
pub(in crate::rules) use shared_key::key_shared;
pub(in crate::rules) use size::{decisions_present, size};
