//! Decides whether two profiles describe the same member cluster, and finds such pairs among many profiles.

mod access;
mod candidates;
mod digest_index;
mod identity_index;
mod relation;
mod shared_identity;
mod versions;

pub(crate) use candidates::Candidates;
pub(crate) use digest_index::{DigestIndex, digest};
pub(crate) use identity_index::{IdentityIndex, is_identified};
pub(crate) use relation::{
    Relation, by_everything, by_ids, cluster_ids, is_surely_one, note_bounds, note_uncertain,
};
pub(crate) use shared_identity::{MAX_COMPARED, SharedIdentity};
pub(crate) use versions::{compares_the_same, identifying_versions, identifying_versions_of, is_live};
