//! Profiles after a restart of the manager.

use evidence::{
    DriverStep,
    api::{ClusterProfile, names::CONDITION_JOINED},
};

use crate::{
    engine::{Answer, Guarded, Hub, Untouched, describe, next_action_on},
    subjects::has_status,
};

/// `lifecycle/restart-keeps-profiles`
///
/// Each profile whose member was joined before the restart stays there with its uid, and is not deleted.
pub(in crate::rules) fn restart_keeps_profiles(taken: &DriverStep, hub: &Hub) -> Answer {
    let untouched = Untouched::<ClusterProfile> {
        changed: |_, _| None,
        message_changed: "",
        message_deleted: "a profile was deleted or recreated when the manager restarted",
    };
    let there = hub
        .profiles_before(taken)
        .filter(|object| is_joined(object.last_before(taken.from)));
    let guarded: Vec<Guarded<ClusterProfile>> = there
        .map(|object| Guarded {
            lives: &object.lives,
            from: taken.from.as_microsecond(),
            is_created_by_run: false,
            until: next_action_on(hub.evidence, object.lives[0].last(), taken),
        })
        .collect();
    match untouched.judge(hub, taken, &guarded) {
        Answer::NotApplicable => {
            Answer::Unknown(format!("there was no profile before {}", describe(taken)).into())
        }
        answer => answer,
    }
}

fn is_joined(profile: Option<&ClusterProfile>) -> bool {
    profile.is_some_and(|profile| {
        profile.metadata.deletion_timestamp.is_none() && !has_status(profile, CONDITION_JOINED, "False")
    })
}
