//! The table of scenarios.

use std::time::Duration;

use evidence::{
    DriverAction::{
        self, Break, ChangeForeignProfile, CreateNamespace, DeleteNamespace, DeleteProfile, DeleteSlice,
        Disconnect, EmptySlice, Heal, Join, Leave, Place, PutForeignProfile, PutForeignSlice, Reconnect,
        RecreateForeignProfile, RemoveLabel, Reschedule, Restart, SetDisplayName, TamperStatus, Upgrade,
    },
    Scenario,
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
    /// What the run does.
    Step(DriverAction),
    /// Requests that many clusters. The scenario ends if the scheduler does not select them.
    Reschedule(usize),
    Pause(Duration),
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
    scenario(Scenario::JoinAndLeave, Order::SideBySide, Actors::Member, &[Join, Leave], &[]),
    scenario(Scenario::Outage, Order::SideBySide, Actors::Member, &[Break, Heal], &[Line::Step(Break), Line::Step(Heal)]),
    scenario(Scenario::Upgrade, Order::SideBySide, Actors::Member, &[Upgrade], &[Line::Step(Upgrade)]),
    scenario(Scenario::Tampering, Order::SideBySide, Actors::Member, &[DeleteProfile], &[Line::Step(DeleteProfile)]),
    scenario(Scenario::Tampering, Order::SideBySide, Actors::Member, &[TamperStatus], &[Line::Step(TamperStatus)]),
    scenario(Scenario::Tampering, Order::SideBySide, Actors::Member, &[RemoveLabel], &[Line::Step(RemoveLabel)]),
    scenario(Scenario::Tampering, Order::SideBySide, Actors::Member, &[SetDisplayName], &[Line::Step(SetDisplayName)]),
    scenario(Scenario::NamespaceGone, Order::SideBySide, Actors::MemberInOwnNamespace, &[DeleteNamespace, CreateNamespace], &[
        Line::Step(DeleteNamespace), Line::Step(CreateNamespace),
    ]),
    scenario(Scenario::SimilarNames, Order::SideBySide, Actors::SimilarMembers, &[Join, Leave], &[]),
    scenario(Scenario::Scale, Order::SideBySide, Actors::Fleet, &[Join, Leave], &[Line::Pause(FLEET_STAYS)]),
    scenario(Scenario::Placement, Order::SideBySide, A_FEW_CLUSTERS, &[Place], &[
        Line::Step(DeleteSlice), Line::Step(EmptySlice), Line::Reschedule(0),
    ]),
    scenario(Scenario::SliceLimit, Order::SideBySide, FULL_SLICE, &[Place, Reschedule], &[
        Line::Pause(DECISION_STAYS), Line::Reschedule(LARGEST_SLICE + 1),
        Line::Pause(DECISION_STAYS), Line::Reschedule(LARGEST_SLICE), Line::Pause(DECISION_STAYS),
    ]),
    scenario(Scenario::CutOff, Order::AfterOthers, Actors::Member, &[Disconnect, Reconnect], &[
        Line::Step(Disconnect), Line::Step(Reconnect),
    ]),
    scenario(Scenario::Restart, Order::AfterOthers, Actors::MemberAndPlacement, &[Restart], &[Line::Step(Restart)]),
    scenario(Scenario::ForeignProfile, Order::UntilOthersEnd, Actors::ForeignObject(ObjectKind::ClusterProfile), &[PutForeignProfile], &[
        Line::Step(PutForeignProfile), Line::Step(ChangeForeignProfile), Line::Step(RecreateForeignProfile),
    ]),
    scenario(Scenario::ForeignProfile, Order::UntilOthersEnd, Actors::ForeignObject(ObjectKind::PlacementDecision), &[PutForeignSlice], &[
        Line::Step(PutForeignSlice),
    ]),
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
            TamperStatus => Some(&VERSION),
            RemoveLabel => Some(&MANAGER_LABEL),
            SetDisplayName | ChangeForeignProfile => Some(&DISPLAY_NAME),
            _ => None,
        }
    }
}

const fn scenario(
    scenario: Scenario,
    order: Order,
    actors: Actors,
    needs: &'static [DriverAction],
    steps: &'static [Line],
) -> ScenarioSpec {
    ScenarioSpec {
        scenario,
        order,
        actors,
        needs,
        steps,
    }
}

/// Whether a member's profile shows the reaction to an action on it. `before` is the profile before the scenario broke or changed
/// it, and `value` what the run set or requested; none if it removed the field.
pub(super) fn shows_reaction(
    profile: Option<&ClusterProfile>,
    action: DriverAction,
    before: Option<&ClusterProfile>,
    value: Option<&str>,
) -> bool {
    let Some(profile) = profile else {
        return action == Break;
    };
    match action {
        Break => !is_healthy(profile),
        // It reports all that it reported before.
        Heal | Reconnect => {
            is_healthy(profile) && before.is_none_or(|before| lost_values(before, profile).is_empty())
        }
        Upgrade => is_version(version(profile).unwrap_or_default(), value.unwrap_or_default()),
        // The field has a value again, and not the run's.
        _ => {
            let restored = ProfileField::changed_by(action).and_then(|field| (field.read)(profile));
            restored.is_some() && restored != value
        }
    }
}

/// Whether a reported version is the requested one, or one of a vendor (`v1.35.2+k3s1`).
fn is_version(reported: &str, requested: &str) -> bool {
    let [reported, requested] = [reported, requested].map(|version| version.trim_start_matches('v'));
    let rest = reported.strip_prefix(requested);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '+']))
}
