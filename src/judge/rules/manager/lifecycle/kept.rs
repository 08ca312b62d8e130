//! Profiles after a restart of the manager, and while it cannot reach the source of its members.

use evidence::{
    DriverAction, DriverStep, ObjectRef,
    api::{ClusterProfile, names::CONDITION_JOINED},
};

use crate::{
    engine::{Answer, Guarded, Hub, JudgedObject, Untouched, describe, next_action_on},
    subjects::has_status,
};

/// `lifecycle/restart-keeps-profiles`
///
/// Each profile whose member was joined before the restart stays there with its uid, and is not deleted.
pub(in crate::rules) fn restart_keeps_profiles(taken: &DriverStep, hub: &Hub) -> Answer {
    let message = "a profile was deleted or recreated when the manager restarted";
    match keeps(taken, hub, message, |_| true) {
        Answer::NotApplicable => no_profile(taken),
        answer => answer,
    }
}

/// `lifecycle/cut-off-keeps-profiles`
///
/// Each profile whose member was joined before the manager was cut off stays there with its uid, and is not deleted. If a
/// namespace was deleted, so do the profiles of other namespaces.
pub(in crate::rules) fn cut_off_keeps_profiles(taken: &DriverStep, hub: &Hub) -> Answer {
    let is_namespace_gone = taken.action == DriverAction::DeleteNamespace;
    let message = if is_namespace_gone {
        "a profile was deleted or recreated when another namespace was deleted"
    } else {
        "a profile was deleted or recreated when the manager could not reach the source of its members"
    };
    let gone = taken.profile.as_ref().filter(|_| is_namespace_gone);
    let is_elsewhere = |profile: &ObjectRef| gone.is_none_or(|gone| gone.namespace != profile.namespace);
    match keeps(taken, hub, message, is_elsewhere) {
        Answer::NotApplicable if !is_namespace_gone => no_profile(taken),
        answer => answer,
    }
}

/// Kept if each joined profile for which `is_guarded` holds stays there; not applicable without any.
fn keeps(
    taken: &DriverStep,
    hub: &Hub,
    message_deleted: &'static str,
    is_guarded: impl Fn(&ObjectRef) -> bool,
) -> Answer {
    let untouched = Untouched::<ClusterProfile> {
        changed: |_, _| None,
        message_changed: "",
        message_deleted,
    };
    let is_joined = |object: &&JudgedObject<ClusterProfile>| is_joined(object.last_before(taken.from));
    let there = hub.profiles_before(taken).filter(is_joined);
    let guarded: Vec<Guarded<ClusterProfile>> = there
        .filter(|object| is_guarded(&ObjectRef::from(object.lives[0].last())))
        .map(|object| Guarded {
            lives: &object.lives,
            from: taken.from.as_microsecond(),
            is_created_by_run: false,
            until: next_action_on(hub.evidence, object.lives[0].last(), taken),
        })
        .collect();
    untouched.judge(hub, taken, &guarded)
}

fn no_profile(taken: &DriverStep) -> Answer {
    Answer::Unknown(format!("there was no profile before {}", describe(taken)).into())
}

fn is_joined(profile: Option<&ClusterProfile>) -> bool {
    profile.is_some_and(|profile| {
        profile.metadata.deletion_timestamp.is_none() && !has_status(profile, CONDITION_JOINED, "False")
    })
}
