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

use super::{Act, Actors, Condition, Line, Order, Past, ProfileField, ScenarioSpec, StepSpec, Until};
use crate::driver::answers;

/// Number of clusters that a placement asks for, if there are as many.
pub(super) const FEW: usize = 3;
/// Number of members beyond those of the largest request: a scheduler may have reasons not to select some.
const SPARE: usize = 3;
/// How long all members of the scale scenario stay.
const FLEET_STAYS: Duration = Duration::from_secs(60);
/// How long the implementation stays cut off beyond its time to react: a lease may have to expire first.
const CUT_OFF: Duration = Duration::from_secs(120);
/// How long a decision of several slices stays. It is judged once it has lasted for longer than 30 s.
const DECISION_STAYS: Duration = Duration::from_secs(40);
/// A version that no member has, and that every schema accepts.
const UNTRUE: &str = "v0.0.1";

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
    scenario(Scenario::JoinAndLeave, Actors::Member, &[], &[]),
    scenario(Scenario::Outage, Actors::Member, &[DriverAction::Break, DriverAction::Heal], &[
        step_if(is_healthy, NEVER_HEALTHY, DriverAction::Break, Act::MemberHook, Until::Profile(is_not_healthy)),
        step(DriverAction::Heal, Act::MemberHook, Until::Profile(is_as_before)),
    ]),
    scenario(Scenario::Upgrade, Actors::Member, &[DriverAction::Upgrade], &[
        step_if(exists, "", DriverAction::Upgrade, Act::Upgrade, Until::Profile(has_requested_version)),
    ]),
    scenario(Scenario::Tampering, Actors::Member, &[DriverAction::DeleteProfile], &[
        step(DriverAction::DeleteProfile, Act::DeleteProfile, Until::ProfileFound),
    ]),
    scenario(Scenario::Tampering, Actors::Member, &[DriverAction::TamperStatus], &[
        step(DriverAction::TamperStatus, Act::Set(&VERSION), Until::Profile(is_restored)),
    ]),
    scenario(Scenario::Tampering, Actors::Member, &[DriverAction::RemoveLabel], &[
        step(DriverAction::RemoveLabel, Act::Set(&MANAGER_LABEL), Until::Profile(is_restored)),
    ]),
    scenario(Scenario::Tampering, Actors::Member, &[DriverAction::SetDisplayName], &[
        step(DriverAction::SetDisplayName, Act::Set(&DISPLAY_NAME), Until::Deadline),
    ]),
    scenario(Scenario::NamespaceGone, Actors::MemberInOwnNamespace, &[DriverAction::DeleteNamespace, DriverAction::CreateNamespace], &[
        step_if(exists, "", DriverAction::DeleteNamespace, Act::DeleteNamespace, Until::Deadline),
        step(DriverAction::CreateNamespace, Act::CreateNamespace, Until::ProfileFound),
    ]),
    scenario(Scenario::SimilarNames, Actors::SimilarMembers, &[], &[]),
    scenario(Scenario::Scale, Actors::Fleet, &[], &[Line::Pause(FLEET_STAYS)]),
    scenario(Scenario::Placement, A_FEW_CLUSTERS, &[DriverAction::Place], &[
        step(DriverAction::DeleteSlice, Act::DeleteSlice, Until::Placed),
        step(DriverAction::EmptySlice, Act::EmptySlice, Until::Placed),
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
        step_if(is_healthy, NOT_HEALTHY, DriverAction::Disconnect, Act::SourceHook, Until::LongAfterDeadline(CUT_OFF)),
        step(DriverAction::Reconnect, Act::SourceHook, Until::Profile(is_as_before)),
    ]).in_order(Order::AfterOthers),
    scenario(Scenario::Restart, Actors::MemberAndPlacement, &[DriverAction::Restart], &[
        step(DriverAction::Restart, Act::Hook, Until::Deadline),
    ]).in_order(Order::AfterOthers),
    scenario(Scenario::ForeignProfile, Actors::ForeignObject(ObjectKind::ClusterProfile), &[DriverAction::PutForeignProfile], &[
        step(DriverAction::PutForeignProfile, Act::CreateForeignObject, Until::Deadline),
        step(DriverAction::ChangeForeignProfile, Act::ChangeForeignObject, Until::Deadline),
        step(DriverAction::RecreateForeignProfile, Act::RecreateForeignObject, Until::OthersEnd),
    ]).in_order(Order::UntilOthersEnd),
    scenario(Scenario::ForeignProfile, Actors::ForeignObject(ObjectKind::PlacementDecision), &[DriverAction::PutForeignSlice], &[
        step(DriverAction::PutForeignSlice, Act::CreateForeignObject, Until::OthersEnd),
    ]).in_order(Order::UntilOthersEnd),
];

const VERSION: ProfileField = ProfileField {
    path: "status.version.kubernetes",
    pointer: "/status/version/kubernetes",
    read: answers::version,
    value: |_| Some(UNTRUE.to_owned()),
    missing: Some("the profile tells no version that could be made untrue"),
};
const MANAGER_LABEL: ProfileField = ProfileField {
    path: "metadata.labels[x-k8s.io/cluster-manager]",
    pointer: "/metadata/labels/x-k8s.io~1cluster-manager",
    read: |profile| profile.label(LABEL_MANAGER),
    value: |_| None,
    missing: Some("the profile has no manager label that could be removed"),
};
pub(super) const DISPLAY_NAME: ProfileField = ProfileField {
    path: "spec.displayName",
    pointer: "/spec/displayName",
    read: |profile| profile.spec.display_name.as_deref(),
    value: |run| Some(format!("set by conformance run {run}")),
    missing: None,
};

const NOT_HEALTHY: &str = "the profile does not report that the member is healthy";
const NEVER_HEALTHY: &str =
    "the profile does not say that the member is healthy, though nothing was broken yet";

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

const fn step(action: DriverAction, act: Act, until: Until) -> Line {
    Line::Step(StepSpec {
        action,
        requires: None,
        act,
        until,
    })
}

/// A step that is skipped with the reason unless the member's profile is as required.
const fn step_if(
    condition: Condition,
    reason: &'static str,
    action: DriverAction,
    act: Act,
    until: Until,
) -> Line {
    Line::Step(StepSpec {
        action,
        requires: Some((condition, reason)),
        act,
        until,
    })
}

impl ScenarioSpec {
    const fn in_order(self, order: Order) -> Self {
        Self { order, ..self }
    }
}

fn exists(profile: Option<&ClusterProfile>, _: &Past) -> bool {
    profile.is_some()
}

fn is_healthy(profile: Option<&ClusterProfile>, _: &Past) -> bool {
    profile.is_some_and(answers::is_healthy)
}

fn is_not_healthy(profile: Option<&ClusterProfile>, past: &Past) -> bool {
    !is_healthy(profile, past)
}

/// Whether the profile is healthy, and reports all that it reported before.
fn is_as_before(profile: Option<&ClusterProfile>, past: &Past) -> bool {
    let is_whole = |profile| {
        let before = past.before.as_ref();
        before.is_none_or(|before| no_longer_told(before, profile).is_empty())
    };
    is_healthy(profile, past) && profile.is_some_and(is_whole)
}

fn has_requested_version(profile: Option<&ClusterProfile>, past: &Past) -> bool {
    let requested = past.value.as_deref().unwrap_or_default();
    let version = profile.and_then(answers::version);
    version.is_some_and(|version| answers::is_version(version, requested))
}

/// Whether the field that the run changed has a value again, and not the run's.
pub(super) fn is_restored(profile: Option<&ClusterProfile>, past: &Past) -> bool {
    let value = past.field.and_then(|field| profile.and_then(field.read));
    value.is_some() && value != past.value.as_deref()
}
