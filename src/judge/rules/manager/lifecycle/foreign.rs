//! Profiles of other managers.

use evidence::{DriverStep, api::ClusterProfile};

use crate::engine::{Answer, Hub, Untouched, has_other_owners};

/// `lifecycle/foreign-profiles-untouched`
///
/// The implementation neither changes nor deletes the run's profile of another manager, after its creation, after a change
/// of its spec, and after its re-creation.
pub(in crate::rules) fn foreign_profiles_untouched(taken: &DriverStep, hub: &Hub) -> Answer {
    let untouched = Untouched {
        changed,
        message_changed: "a profile of another manager was changed",
        message_deleted: "a profile of another manager was deleted",
    };
    let created = taken.profile_after.as_ref().or(taken.profile.as_ref());
    untouched.judge_created(hub, taken, created)
}

fn changed(before: &ClusterProfile, after: &ClusterProfile) -> Option<&'static str> {
    if before.spec != after.spec {
        Some("spec")
    } else if before.metadata.labels != after.metadata.labels {
        Some("metadata.labels")
    } else if before.status != after.status {
        Some("status")
    } else {
        has_other_owners(before, after).then_some("metadata")
    }
}
