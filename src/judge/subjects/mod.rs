//! What rules are about, and what they report of it.

mod finding;
mod findings;
pub(crate) mod sets;

use evidence::api::ClusterProfile;

pub use finding::Finding;
pub(crate) use findings::Length;
pub use findings::{Conclusion, Findings};

/// Whether a condition exists with that status.
pub(crate) fn has_status(profile: &ClusterProfile, kind: &str, status: &str) -> bool {
    profile
        .condition(kind)
        .is_some_and(|condition| &*condition.status == status)
}
