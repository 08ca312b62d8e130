//! The table of scenarios.

use std::time::Duration;

use evidence::{
    DriverAction, Scenario,
    api::{
        ClusterProfile, ObjectKind,
        names::{LABEL_MANAGER, LARGEST_SLICE},
        no_longer_told,
    },
};

use crate::driver::member::{is_healthy, version};

/// A scenario.
pub(super) struct ScenarioSpec {
    pub scenario: Scenario,
    pub order: Order,
    pub actors: Actors,
    /// The run leaves out the scenario if it cannot do one of these.
    pub needs: &'static [DriverAction],
    /// The run leaves out the steps that it cannot do. A step that fails ends the scenario, unless it is on a slice.
    pub steps: &'static [Line],
}

/// When a scenario runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// At the same time as others.
    SideBySide,
    /// After these, one after the other.
    AfterOthers,
    /// From the beginning until all others have ended.
    UntilOthersEnd,
}

/// What takes part in a scenario.
#[derive(Clone, Copy)]
pub(super) enum Actors {
    Member,
    /// A member whose profile is in the run's own namespace.
    MemberInOwnNamespace,
    /// Two members with similar names.
    SimilarMembers,
    /// As many members as the plan says.
    Fleet,
    /// A placement on at most that many clusters. Members join until at least `members` are joined and healthy.
    Placement {
        clusters: usize,
        members: usize,
    },
    /// A member and a placement, if the implementation has them.
    MemberAndPlacement,
    /// An object that the run creates as another implementation would.
    ForeignObject(ObjectKind),
}

/// A line of a scenario.
pub(super) enum Line {
    Step(StepSpec),
    /// Requests that many clusters. The scenario ends if the scheduler does not select them.
    Reschedule(usize),
    Pause(Duration),
}

/// A step of a scenario.
pub(super) struct StepSpec {
    pub action: DriverAction,
    pub requires: Requires,
    pub act: Act,
    pub until: Until,
}

/// What a step requires; otherwise it is skipped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Requires {
    Nothing,
    /// The profile of the member.
    Profile,
    /// A profile that reports a healthy member within the time for a join.
    Healthy,
}

/// What the run does in a step.
#[derive(Clone, Copy)]
pub(super) enum Act {
    /// Calls the hook for the whole implementation.
    Hook,
    /// Calls the hook for the whole implementation. The member's profile shows the effect.
    SourceHook,
    /// Calls the hook for the member.
    MemberHook,
    /// Upgrades the member.
    Upgrade,
    /// Changes a field of the member's profile.
    Set(&'static ProfileField),
    /// Deletes the member's profile.
    DeleteProfile,
    /// Deletes the run's own namespace, with the member's profile in it.
    DeleteNamespace,
    /// Creates that namespace again once it is gone.
    CreateNamespace,
    /// Deletes a slice of the placement.
    DeleteSlice,
    /// Removes the clusters from a slice of the placement.
    EmptySlice,
    /// Creates the object of another implementation.
    CreateForeignObject,
    /// Changes the spec of that object, which is a profile, so that its generation increases.
    ChangeForeignObject,
    /// Deletes that object, and creates it again under its name before another client can react.
    RecreateForeignObject,
}

/// Until when the run observes a step.
#[derive(Clone, Copy)]
pub(super) enum Until {
    /// Until the member's profile is as expected.
    Profile(fn(Option<&ClusterProfile>, &Past) -> bool),
    /// Until the member has a profile again.
    ProfileFound,
    /// Until the slices of the placement hold its clusters again.
    Placed,
    /// Until the implementation's time to react is over.
    Deadline,
    /// Until that, and for that long afterwards.
    LongAfterDeadline(Duration),
    /// Until then, and until all other scenarios have ended.
    OthersEnd,
}

/// What a condition compares a profile with.
#[derive(Default)]
pub(super) struct Past {
    /// The profile before the last step that required one.
    pub before: Option<ClusterProfile>,
    /// The field that the run changed.
    pub field: Option<&'static ProfileField>,
    /// The value that the run set or requested; none if it removed the field.
    pub value: Option<String>,
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

impl Act {
    /// Whether the step concerns the member of the scenario.
    pub fn is_on_member(self) -> bool {
        matches!(
            self,
            Act::SourceHook
                | Act::MemberHook
                | Act::Upgrade
                | Act::Set(_)
                | Act::DeleteProfile
                | Act::DeleteNamespace
                | Act::CreateNamespace
        )
    }
}

/// Number of clusters that a placement requests, if there are as many.
pub(super) const FEW: usize = 3;
/// Number of members beyond those of the largest request: a scheduler may have reasons not to select some.
const SPARE: usize = 3;
/// How long all members of the scale scenario stay.
const FLEET_STAYS: Duration = Duration::from_secs(60);
/// How long the implementation stays cut off beyond its time to react: a lease may have to expire first.
const CUT_OFF: Duration = Duration::from_secs(120);
/// How long a decision of several slices stays. It is judged once it has lasted for longer than 30 s.
const DECISION_STAYS: Duration = Duration::from_secs(40);

const A_FEW_CLUSTERS: Actors = Actors::Placement {
    clusters: FEW,
    members: 1,
};
const FULL_SLICE: Actors = Actors::Placement {
    clusters: LARGEST_SLICE,
    members: LARGEST_SLICE + 1 + SPARE,
};

/// All scenarios. Those that run one after the other do so in this order.
#[rustfmt::skip]
pub(super) const SCENARIOS: &[ScenarioSpec] = &[
    scenario(Scenario::JoinAndLeave, Actors::Member, &[DriverAction::Join, DriverAction::Leave], &[]),
    scenario(Scenario::Outage, Actors::Member, &[DriverAction::Break, DriverAction::Heal], &[
        step(DriverAction::Break, Requires::Healthy, Act::MemberHook, Until::Profile(is_not_healthy)),
        step(DriverAction::Heal, Requires::Nothing, Act::MemberHook, Until::Profile(is_as_before)),
    ]),
    scenario(Scenario::Upgrade, Actors::Member, &[DriverAction::Upgrade], &[
        step(DriverAction::Upgrade, Requires::Profile, Act::Upgrade, Until::Profile(has_requested_version)),
    ]),
    scenario(Scenario::Tampering, Actors::Member, &[DriverAction::DeleteProfile], &[
        step(DriverAction::DeleteProfile, Requires::Profile, Act::DeleteProfile, Until::ProfileFound),
    ]),
    scenario(Scenario::Tampering, Actors::Member, &[DriverAction::TamperStatus], &[
        step(DriverAction::TamperStatus, Requires::Profile, Act::Set(&VERSION), Until::Profile(is_restored)),
    ]),
    scenario(Scenario::Tampering, Actors::Member, &[DriverAction::RemoveLabel], &[
        step(DriverAction::RemoveLabel, Requires::Profile, Act::Set(&MANAGER_LABEL), Until::Profile(is_restored)),
    ]),
    scenario(Scenario::Tampering, Actors::Member, &[DriverAction::SetDisplayName], &[
        step(DriverAction::SetDisplayName, Requires::Profile, Act::Set(&DISPLAY_NAME), Until::Deadline),
    ]),
    scenario(Scenario::NamespaceGone, Actors::MemberInOwnNamespace, &[DriverAction::DeleteNamespace, DriverAction::CreateNamespace], &[
        step(DriverAction::DeleteNamespace, Requires::Profile, Act::DeleteNamespace, Until::Deadline),
        step(DriverAction::CreateNamespace, Requires::Nothing, Act::CreateNamespace, Until::ProfileFound),
    ]),
    scenario(Scenario::SimilarNames, Actors::SimilarMembers, &[DriverAction::Join, DriverAction::Leave], &[]),
    scenario(Scenario::Scale, Actors::Fleet, &[DriverAction::Join, DriverAction::Leave], &[Line::Pause(FLEET_STAYS)]),
    scenario(Scenario::Placement, A_FEW_CLUSTERS, &[DriverAction::Place], &[
        step(DriverAction::DeleteSlice, Requires::Nothing, Act::DeleteSlice, Until::Placed),
        step(DriverAction::EmptySlice, Requires::Nothing, Act::EmptySlice, Until::Placed),
        Line::Reschedule(0),
    ]),
    scenario(Scenario::SliceLimit, FULL_SLICE, &[DriverAction::Place, DriverAction::Reschedule], &[
        Line::Pause(DECISION_STAYS),
        Line::Reschedule(LARGEST_SLICE + 1),
        Line::Pause(DECISION_STAYS),
        Line::Reschedule(LARGEST_SLICE),
        Line::Pause(DECISION_STAYS),
    ]),
    scenario(Scenario::CutOff, Actors::Member, &[DriverAction::Disconnect, DriverAction::Reconnect], &[
        step(DriverAction::Disconnect, Requires::Healthy, Act::SourceHook, Until::LongAfterDeadline(CUT_OFF)),
        step(DriverAction::Reconnect, Requires::Nothing, Act::SourceHook, Until::Profile(is_as_before)),
    ]).in_order(Order::AfterOthers),
    scenario(Scenario::Restart, Actors::MemberAndPlacement, &[DriverAction::Restart], &[
        step(DriverAction::Restart, Requires::Nothing, Act::Hook, Until::Deadline),
    ]).in_order(Order::AfterOthers),
    scenario(Scenario::ForeignProfile, Actors::ForeignObject(ObjectKind::ClusterProfile), &[DriverAction::PutForeignProfile], &[
        step(DriverAction::PutForeignProfile, Requires::Nothing, Act::CreateForeignObject, Until::Deadline),
        step(DriverAction::ChangeForeignProfile, Requires::Nothing, Act::ChangeForeignObject, Until::Deadline),
        step(DriverAction::RecreateForeignProfile, Requires::Nothing, Act::RecreateForeignObject, Until::OthersEnd),
    ]).in_order(Order::UntilOthersEnd),
    scenario(Scenario::ForeignProfile, Actors::ForeignObject(ObjectKind::PlacementDecision), &[DriverAction::PutForeignSlice], &[
        step(DriverAction::PutForeignSlice, Requires::Nothing, Act::CreateForeignObject, Until::OthersEnd),
    ]).in_order(Order::UntilOthersEnd),
];

const VERSION: ProfileField = ProfileField {
    path: "status.version.kubernetes",
    pointer: "/status/version/kubernetes",
    read: version,
    // A version that no member has, and that every schema accepts.
    value: |_| Some("v0.0.1".to_owned()),
    missing: Some("the profile has no version to change"),
};
const MANAGER_LABEL: ProfileField = ProfileField {
    path: "metadata.labels[x-k8s.io/cluster-manager]",
    pointer: "/metadata/labels/x-k8s.io~1cluster-manager",
    read: |profile| profile.label(LABEL_MANAGER),
    value: |_| None,
    missing: Some("the profile has no manager label to remove"),
};
pub(super) const DISPLAY_NAME: ProfileField = ProfileField {
    path: "spec.displayName",
    pointer: "/spec/displayName",
    read: |profile| profile.spec.display_name.as_deref(),
    value: |run| Some(format!("set by conformance run {run}")),
    missing: None,
};

const fn scenario(
    scenario: Scenario,
    actors: Actors,
    needs: &'static [DriverAction],
    steps: &'static [Line],
) -> ScenarioSpec {
    ScenarioSpec {
        scenario,
        order: Order::SideBySide,
        actors,
        needs,
        steps,
    }
}

const fn step(action: DriverAction, requires: Requires, act: Act, until: Until) -> Line {
    Line::Step(StepSpec {
        action,
        requires,
        act,
        until,
    })
}

impl ScenarioSpec {
    const fn in_order(self, order: Order) -> Self {
        Self { order, ..self }
    }
}

fn is_not_healthy(profile: Option<&ClusterProfile>, _: &Past) -> bool {
    !profile.is_some_and(is_healthy)
}

/// Whether the profile is healthy, and reports all that it reported before.
fn is_as_before(profile: Option<&ClusterProfile>, past: &Past) -> bool {
    let before = past.before.as_ref();
    profile.is_some_and(|profile| {
        is_healthy(profile) && before.is_none_or(|before| no_longer_told(before, profile).is_empty())
    })
}

/// Whether the profile reports the requested version, or one of a vendor (`v1.35.2+k3s1`).
fn has_requested_version(profile: Option<&ClusterProfile>, past: &Past) -> bool {
    let requested = past.value.as_deref().unwrap_or_default().trim_start_matches('v');
    let reported = profile
        .and_then(version)
        .unwrap_or_default()
        .trim_start_matches('v');
    let rest = reported.strip_prefix(requested);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '+']))
}

/// Whether the field that the run changed has a value again, and not the run's.
fn is_restored(profile: Option<&ClusterProfile>, past: &Past) -> bool {
    let value = past.field.and_then(|field| profile.and_then(field.read));
    value.is_some() && value != past.value.as_deref()
}
