//! Rules on the slices of a decision: their size, key and index (KEP-5313 › Slicing).

mod clusters;
mod index;
mod key;
mod needless;
mod shared_key;
mod size;

pub(super) use clusters::cluster_once;
pub(super) use index::{index_all_or_none, index_complete, index_is_number, name_deterministic};
pub(super) use key::{key_one_decision, key_valid};
pub(super) use needless::no_needless_slices;
pub(super) use shared_key::key_shared;
pub(super) use size::{decisions_present, size};
