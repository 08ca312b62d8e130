//! The table of a driver's actions: what each requires, what the run does, and what it waits for then.

use evidence::{
    DriverAction::{
        self, Break, ChangeForeignProfile, CreateNamespace, DeleteNamespace, DeleteProfile, DeleteSlice,
        Disconnect, EmptySlice, Heal, Join, Leave, Place, PutForeignProfile, PutForeignSlice, Reconnect,
        RecreateForeignProfile, RemoveLabel, Reschedule, Restart, SetDisplayName, TamperStatus, Unplace,
        Upgrade,
    },
    api::{
        ClusterProfile, is_build_of, lost_values,
        names::{LABEL_MANAGER, PLACEMENT_PLURAL, PLURAL},
    },
};

use super::member::{is_healthy, version};

/// An action of the driver.
pub(super) struct ActionSpec {
    pub action: DriverAction,
    /// The hooks that make its member or placement, and end it.
    pub actors: &'static [DriverAction],
    /// The writes that the hub must allow: verbs and resources.
    pub writes: &'static [(&'static str, &'static str)],
    pub requires: Precondition,
    pub operation: Operation,
    pub reaction: ExpectedReaction,
}

/// What there must be before the action.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Precondition {
    Nothing,
    /// The profile of the member.
    Profile,
    /// The profile of the member, which reports it as healthy.
    HealthyProfile,
}

/// What the run does.
#[derive(Clone, Copy)]
pub(super) enum Operation {
    CallHook,
    SetField(&'static ProfileField),
    DeleteProfile,
    /// Deletes the run's own namespace with the profile.
    DeleteNamespace,
    CreateNamespace,
    DeleteSlice,
    EmptySlice,
    CreateForeignObject,
    RecreateForeignObject,
}

/// What ends the observation before its deadline.
#[derive(Clone, Copy)]
pub(super) enum ExpectedReaction {
    /// Nothing: the run sees what happens until the deadline.
    None,
    /// Nothing, until a lease may have expired as well.
    LeaseExpired,
    /// Nothing, until all other scenarios have ended.
    OthersEnded,
    /// The member has a profile.
    ProfileFound,
    /// The profile shows this.
    Shown(fn(&Shown) -> bool),
    /// The slices of the placement hold its clusters again.
    SlicesRestored,
}

/// What a member's profile shows after an action.
pub(super) struct Shown<'s> {
    pub profile: Option<&'s ClusterProfile>,
    /// The profile before the scenario broke or changed it.
    pub before: Option<&'s ClusterProfile>,
    /// What the run set or requested; none if it removed the field.
    pub value: Option<&'s str>,
}

/// A field of a profile that the run changes.
pub(super) struct ProfileField {
    pub path: &'static str,
    /// RFC 6901.
    pub pointer: &'static str,
    pub read: fn(&ClusterProfile) -> Option<&str>,
    /// The value that the run sets; none if it removes the field.
    pub value: fn(run: &str) -> Option<String>,
    /// Why the step is skipped if the profile lacks the field; none if the run can change it anyway.
    pub missing: Option<&'static str>,
}

const STATUS: &str = "clusterprofiles/status";
const PATCH: &[(&str, &str)] = &[("patch", PLURAL)];
const CREATE: &[(&str, &str)] = &[("create", PLURAL), ("patch", STATUS), ("delete", PLURAL)];

/// A hook on a member. Members and placements wait themselves for what follows their own hooks.
const HOOK: ActionSpec = ActionSpec {
    action: Join,
    actors: &[Join, Leave],
    writes: &[],
    requires: Precondition::Nothing,
    operation: Operation::CallHook,
    reaction: ExpectedReaction::None,
};
const PLACEMENT_HOOK: ActionSpec = ActionSpec {
    actors: &[Place, Unplace],
    ..HOOK
};

#[rustfmt::skip]
const ACTIONS: &[ActionSpec] = &[
    ActionSpec { action: Join, ..HOOK },
    ActionSpec { action: Leave, ..HOOK },
    ActionSpec { action: Break, requires: Precondition::HealthyProfile, reaction: ExpectedReaction::Shown(is_unhealthy), ..HOOK },
    ActionSpec { action: Heal, reaction: ExpectedReaction::Shown(has_recovered), ..HOOK },
    ActionSpec { action: Upgrade, requires: Precondition::Profile, reaction: ExpectedReaction::Shown(is_upgraded), ..HOOK },
    ActionSpec { action: Restart, actors: &[], ..HOOK },
    ActionSpec { action: Disconnect, requires: Precondition::HealthyProfile, reaction: ExpectedReaction::LeaseExpired, ..HOOK },
    ActionSpec { action: Reconnect, reaction: ExpectedReaction::Shown(has_recovered), ..HOOK },
    ActionSpec {
        action: DeleteProfile, writes: &[("delete", PLURAL)], requires: Precondition::Profile, operation: Operation::DeleteProfile,
        reaction: ExpectedReaction::ProfileFound, ..HOOK
    },
    ActionSpec {
        action: TamperStatus, writes: &[("patch", STATUS)], requires: Precondition::Profile, operation: Operation::SetField(&VERSION),
        reaction: ExpectedReaction::Shown(|observation| is_restored(observation, &VERSION)), ..HOOK
    },
    ActionSpec {
        action: RemoveLabel, writes: PATCH, requires: Precondition::Profile, operation: Operation::SetField(&LABEL),
        reaction: ExpectedReaction::Shown(|observation| is_restored(observation, &LABEL)), ..HOOK
    },
    ActionSpec {
        action: SetDisplayName, writes: PATCH, requires: Precondition::Profile, operation: Operation::SetField(&DISPLAY_NAME), ..HOOK
    },
    ActionSpec { action: DeleteNamespace, requires: Precondition::Profile, operation: Operation::DeleteNamespace, ..HOOK },
    ActionSpec { action: CreateNamespace, operation: Operation::CreateNamespace, reaction: ExpectedReaction::ProfileFound, ..HOOK },
    ActionSpec { action: PutForeignProfile, actors: &[], writes: CREATE, operation: Operation::CreateForeignObject, ..HOOK },
    ActionSpec { action: ChangeForeignProfile, actors: &[], writes: PATCH, operation: Operation::SetField(&DISPLAY_NAME), ..HOOK },
    ActionSpec {
        action: RecreateForeignProfile, actors: &[], writes: CREATE, operation: Operation::RecreateForeignObject,
        reaction: ExpectedReaction::OthersEnded, ..HOOK
    },
    ActionSpec { action: Place, ..PLACEMENT_HOOK },
    ActionSpec { action: Reschedule, ..PLACEMENT_HOOK },
    ActionSpec { action: Unplace, ..PLACEMENT_HOOK },
    ActionSpec {
        action: DeleteSlice, writes: &[("delete", PLACEMENT_PLURAL)], operation: Operation::DeleteSlice,
        reaction: ExpectedReaction::SlicesRestored, ..PLACEMENT_HOOK
    },
    ActionSpec {
        action: EmptySlice, writes: &[("patch", PLACEMENT_PLURAL)], operation: Operation::EmptySlice,
        reaction: ExpectedReaction::SlicesRestored, ..PLACEMENT_HOOK
    },
    ActionSpec {
        action: PutForeignSlice, actors: &[], writes: &[("create", PLACEMENT_PLURAL), ("delete", PLACEMENT_PLURAL)],
        operation: Operation::CreateForeignObject, reaction: ExpectedReaction::OthersEnded, ..PLACEMENT_HOOK
    },
];

static VERSION: ProfileField = ProfileField {
    path: "status.version.kubernetes",
    pointer: "/status/version/kubernetes",
    read: version,
    // A version that no member has, and that every schema accepts.
    value: |_| Some("v0.0.1".to_owned()),
    missing: Some("the profile has no version to change"),
};
static LABEL: ProfileField = ProfileField {
    path: "metadata.labels[x-k8s.io/cluster-manager]",
    pointer: "/metadata/labels/x-k8s.io~1cluster-manager",
    read: |profile| profile.label(LABEL_MANAGER),
    value: |_| None,
    missing: Some("the profile has no manager label to remove"),
};
static DISPLAY_NAME: ProfileField = ProfileField {
    path: "spec.displayName",
    pointer: "/spec/displayName",
    read: |profile| profile.spec.display_name.as_deref(),
    value: |run| Some(format!("set by conformance run {run}")),
    missing: None,
};

impl ActionSpec {
    /// The row of an action on managers or schedulers.
    pub fn of(action: DriverAction) -> &'static Self {
        let spec = ACTIONS.iter().find(|spec| spec.action == action);
        spec.expect("each action on managers and schedulers has a row")
    }
}

fn is_unhealthy(observation: &Shown) -> bool {
    !observation.profile.is_some_and(is_healthy)
}

/// Whether it reports all that it reported before.
fn has_recovered(observation: &Shown) -> bool {
    observation.profile.is_some_and(|profile| {
        let has_all = |before| lost_values(before, profile).is_empty();
        is_healthy(profile) && observation.before.is_none_or(has_all)
    })
}

/// Whether it reports the requested version, or a build of it.
fn is_upgraded(observation: &Shown) -> bool {
    let reported = observation.profile.and_then(version);
    reported.is_some_and(|reported| is_build_of(observation.value.unwrap_or_default(), reported))
}

/// Whether the field has a value again, and not the run's.
fn is_restored(observation: &Shown, field: &ProfileField) -> bool {
    let value = observation.profile.and_then(field.read);
    value.is_some() && value != observation.value
}

#[cfg(test)]
mod tests {
    use evidence::api::Role;

    use super::*;

    #[test]
    fn each_action_on_managers_and_schedulers_has_one_row() {
        let roles = [Role::Manager, Role::Scheduler];
        for action in roles.into_iter().flat_map(DriverAction::of) {
            let rows = ACTIONS.iter().filter(|spec| spec.action == action);
            assert_eq!(rows.count(), 1, "{action}");
            let is_hook = matches!(ActionSpec::of(action).operation, Operation::CallHook);
            assert_eq!(is_hook, !action.is_mutation(), "{action}");
        }
    }
}
