//! Decides whether two profiles describe the same member cluster, and finds such pairs among many profiles.

mod digest_index;
mod relation;
mod shared_identity;

pub(super) use digest_index::{DigestIndex, digest};
pub(super) use relation::{Relation, by_all, by_everything, by_ids, is_surely_one, note_bounds};
pub(super) use shared_identity::{MAX_COMPARED, SharedIdentity};
