//! Rules on the slices of a decision: their size, key and index (KEP-5313 › Slicing).

mod clusters;
mod index;
mod key;
mod size;

pub(super) use clusters::cluster_once;
pub(super) use index::{index_complete, index_is_number};
pub(super) use key::key_valid;
pub(super) use size::{decisions_present, size};
