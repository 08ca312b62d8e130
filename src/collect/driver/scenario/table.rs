//! The table of scenarios.

use std::time::Duration;

use evidence::{
    DriverAction, Scenario,
    api::{
        ClusterProfile, ObjectKind, lost_values,
        names::{LABEL_MANAGER, LARGEST_SLICE},
    },
};

use crate::driver::{is_healthy, member::version};

pub(super) struct ScenarioSpec {
    pub scenario: Scenario,
    pub order: Order,
    pub actors: Actors,
    /// The run leaves out the scenario if it cannot do one of these.
    pub needs: &'static [DriverAction],
    /// The run leaves out the steps that it cannot do. A step that fails ends the scenario, unless it is on a slice.
    pub steps: &'static [Line],
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    SideBySide,
    AfterOthers,
    UntilOthersEnd,
}

#[derive(Clone, Copy)]
pub(super) enum Actors {
    Member,
    MemberInOwnNamespace,
    SimilarMembers,
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

pub(super) enum Line {
    /// What the run does, what that requires, and until when the run observes it.
    Step(DriverAction, Requires, Until),
    /// Requests that many clusters. The scenario ends if the scheduler does not select them.
    Reschedule(usize),
    Pause(Duration),
}

/// What a step requires; otherwise it is skipped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Requires {
    Nothing,
    Profile,
    /// A profile that reports a healthy member within the time for a join.
    Healthy,
}

#[derive(Clone, Copy)]
pub(super) enum Until {
    /// Until the member's profile is as expected.
    Profile(fn(Option<&ClusterProfile>, &Past) -> bool),
    ProfileFound,
    /// Until the slices of the placement hold its clusters again.
    Placed,
    /// Until the implementation's time to react is over, and for that long afterwards.
    Deadline(Duration),
    /// Until its time to react is over, and all other scenarios have ended.
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

/// Number of clusters that a placement requests, if there are as many.
pub(super) const FEW: usize = 3;
/// Number of members beyond those of the largest request: a scheduler may have reasons not to select some.
const SPARE: usize = 3;
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
        Line::Step(DriverAction::Break, Requires::Healthy, Until::Profile(is_not_healthy)),
        Line::Step(DriverAction::Heal, Requires::Nothing, Until::Profile(is_as_before)),
    ]),
    scenario(Scenario::Upgrade, Actors::Member, &[DriverAction::Upgrade], &[
        Line::Step(DriverAction::Upgrade, Requires::Profile, Until::Profile(has_requested_version)),
    ]),
    scenario(Scenario::Tampering, Actors::Member, &[DriverAction::DeleteProfile], &[
        Line::Step(DriverAction::DeleteProfile, Requires::Profile, Until::ProfileFound),
    ]),
    scenario(Scenario::Tampering, Actors::Member, &[DriverAction::TamperStatus], &[
        Line::Step(DriverAction::TamperStatus, Requires::Profile, Until::Profile(is_restored)),
    ]),
    scenario(Scenario::Tampering, Actors::Member, &[DriverAction::RemoveLabel], &[
        Line::Step(DriverAction::RemoveLabel, Requires::Profile, Until::Profile(is_restored)),
    ]),
    scenario(Scenario::Tampering, Actors::Member, &[DriverAction::SetDisplayName], &[
        Line::Step(DriverAction::SetDisplayName, Requires::Profile, Until::Deadline(Duration::ZERO)),
    ]),
    scenario(Scenario::NamespaceGone, Actors::MemberInOwnNamespace, &[DriverAction::DeleteNamespace, DriverAction::CreateNamespace], &[
        Line::Step(DriverAction::DeleteNamespace, Requires::Profile, Until::Deadline(Duration::ZERO)),
        Line::Step(DriverAction::CreateNamespace, Requires::Nothing, Until::ProfileFound),
    ]),
    scenario(Scenario::SimilarNames, Actors::SimilarMembers, &[DriverAction::Join, DriverAction::Leave], &[]),
    scenario(Scenario::Scale, Actors::Fleet, &[DriverAction::Join, DriverAction::Leave], &[Line::Pause(FLEET_STAYS)]),
    scenario(Scenario::Placement, A_FEW_CLUSTERS, &[DriverAction::Place], &[
        Line::Step(DriverAction::DeleteSlice, Requires::Nothing, Until::Placed),
        Line::Step(DriverAction::EmptySlice, Requires::Nothing, Until::Placed),
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
        Line::Step(DriverAction::Disconnect, Requires::Healthy, Until::Deadline(CUT_OFF)),
        Line::Step(DriverAction::Reconnect, Requires::Nothing, Until::Profile(is_as_before)),
    ]).in_order(Order::AfterOthers),
    scenario(Scenario::Restart, Actors::MemberAndPlacement, &[DriverAction::Restart], &[
        Line::Step(DriverAction::Restart, Requires::Nothing, Until::Deadline(Duration::ZERO)),
    ]).in_order(Order::AfterOthers),
    scenario(Scenario::ForeignProfile, Actors::ForeignObject(ObjectKind::ClusterProfile), &[DriverAction::PutForeignProfile], &[
        Line::Step(DriverAction::PutForeignProfile, Requires::Nothing, Until::Deadline(Duration::ZERO)),
        Line::Step(DriverAction::ChangeForeignProfile, Requires::Nothing, Until::Deadline(Duration::ZERO)),
        Line::Step(DriverAction::RecreateForeignProfile, Requires::Nothing, Until::OthersEnd),
    ]).in_order(Order::UntilOthersEnd),
    scenario(Scenario::ForeignProfile, Actors::ForeignObject(ObjectKind::PlacementDecision), &[DriverAction::PutForeignSlice], &[
        Line::Step(DriverAction::PutForeignSlice, Requires::Nothing, Until::OthersEnd),
    ]).in_order(Order::UntilOthersEnd),
];

static VERSION: ProfileField = ProfileField {
    path: "status.version.kubernetes",
    pointer: "/status/version/kubernetes",
    read: version,
    // A version that no member has, and that every schema accepts.
    value: |_| Some("v0.0.1".to_owned()),
    missing: Some("the profile has no version to change"),
};
static MANAGER_LABEL: ProfileField = ProfileField {
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

impl ProfileField {
    pub fn changed_by(action: DriverAction) -> Option<&'static Self> {
        match action {
            DriverAction::TamperStatus => Some(&VERSION),
            DriverAction::RemoveLabel => Some(&MANAGER_LABEL),
            DriverAction::SetDisplayName | DriverAction::ChangeForeignProfile => Some(&DISPLAY_NAME),
            _ => None,
        }
    }
}

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
        is_healthy(profile) && before.is_none_or(|before| lost_values(before, profile).is_empty())
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
