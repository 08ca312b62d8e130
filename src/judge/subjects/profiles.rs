//! What rules are asked of: profiles, each with all of its lives.

use evidence::api::ClusterProfile;

/// Whether a condition exists with that status.
pub(crate) fn has_status(profile: &ClusterProfile, kind: &str, status: &str) -> bool {
    profile
        .condition(kind)
        .is_some_and(|condition| &*condition.status == status)
}
