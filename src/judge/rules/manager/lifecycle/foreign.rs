//! Profiles of other managers.

use evidence::{DriverStep, api::ClusterProfile};

use crate::engine::{Answer, Guarded, Hub, Untouched, has_other_owners};

/// `lifecycle/foreign-profiles-untouched`
///
/// The implementation neither changes nor deletes the run's profile of another manager.
pub(in crate::rules) fn foreign_profiles_untouched(taken: &DriverStep, hub: &Hub) -> Answer {
    let Some(object) = &taken.profile else {
        return Answer::Unknown("the object that the run created is unknown".into());
    };
    let lives: Vec<_> = hub
        .evidence
        .histories_named(&object.namespace, &object.name)
        .collect();
    if lives.is_empty() {
        return Answer::Unknown(format!("the watch never showed {object}").into());
    }
    let untouched = Untouched {
        changed,
        message_changed: "a profile of another manager was changed",
        message_deleted: "a profile of another manager was deleted",
    };
    let guarded = Guarded {
        lives: &lives,
        from: taken.until.as_microsecond(),
        until: None,
        is_created_by_run: true,
    };
    untouched.judge(hub, taken, &[guarded])
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
