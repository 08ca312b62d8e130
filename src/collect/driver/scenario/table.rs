//! The table of scenarios.

use std::time::Duration;

use evidence::{
    DriverAction::{
        self, Break, ChangeForeignProfile, CreateNamespace, DeleteNamespace, DeleteProfile, DeleteSlice,
        Disconnect, EmptySlice, Heal, Join, Leave, Place, PutForeignProfile, PutForeignSlice, Reconnect,
        RecreateForeignProfile, RemoveLabel, Reschedule, Restart, SetDisplayName, TamperStatus, Upgrade,
    },
    Scenario,
    api::{ObjectKind, names::LARGEST_SLICE},
};

pub(super) struct ScenarioSpec {
    pub scenario: Scenario,
    pub order: ScenarioOrder,
    pub actors: Actors,
    /// The run leaves out the scenario if it cannot do one of these.
    pub needs: &'static [DriverAction],
    /// The run leaves out the steps that it cannot do. A step that fails ends the scenario, unless it is on a slice.
    pub steps: &'static [ScenarioLine],
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ScenarioOrder {
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

pub(super) enum ScenarioLine {
    /// What the run does.
    Step(DriverAction),
    /// Requests that many clusters. The scenario ends if the scheduler does not select them.
    Reschedule(usize),
    Pause(Duration),
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

const WITH_MEMBER: ScenarioSpec = ScenarioSpec {
    scenario: Scenario::JoinAndLeave,
    order: ScenarioOrder::SideBySide,
    actors: Actors::Member,
    needs: &[Join, Leave],
    steps: &[],
};

/// All scenarios. Those that run one after the other do so in this order.
#[rustfmt::skip]
pub(super) const SCENARIOS: &[ScenarioSpec] = &[
    WITH_MEMBER,
    ScenarioSpec { scenario: Scenario::Outage, needs: &[Break, Heal], steps: &[ScenarioLine::Step(Break), ScenarioLine::Step(Heal)], ..WITH_MEMBER },
    ScenarioSpec { scenario: Scenario::Upgrade, needs: &[Upgrade], steps: &[ScenarioLine::Step(Upgrade)], ..WITH_MEMBER },
    ScenarioSpec { scenario: Scenario::Tampering, needs: &[DeleteProfile], steps: &[ScenarioLine::Step(DeleteProfile)], ..WITH_MEMBER },
    ScenarioSpec { scenario: Scenario::Tampering, needs: &[TamperStatus], steps: &[ScenarioLine::Step(TamperStatus)], ..WITH_MEMBER },
    ScenarioSpec { scenario: Scenario::Tampering, needs: &[RemoveLabel], steps: &[ScenarioLine::Step(RemoveLabel)], ..WITH_MEMBER },
    ScenarioSpec { scenario: Scenario::Tampering, needs: &[SetDisplayName], steps: &[ScenarioLine::Step(SetDisplayName)], ..WITH_MEMBER },
    ScenarioSpec {
        scenario: Scenario::NamespaceGone, actors: Actors::MemberInOwnNamespace, needs: &[DeleteNamespace, CreateNamespace],
        steps: &[ScenarioLine::Step(DeleteNamespace), ScenarioLine::Step(CreateNamespace)], ..WITH_MEMBER
    },
    ScenarioSpec { scenario: Scenario::SimilarNames, actors: Actors::SimilarMembers, ..WITH_MEMBER },
    ScenarioSpec { scenario: Scenario::Scale, actors: Actors::Fleet, steps: &[ScenarioLine::Pause(FLEET_STAYS)], ..WITH_MEMBER },
    ScenarioSpec {
        scenario: Scenario::Placement, actors: A_FEW_CLUSTERS, needs: &[Place],
        steps: &[ScenarioLine::Step(DeleteSlice), ScenarioLine::Step(EmptySlice), ScenarioLine::Reschedule(0)], ..WITH_MEMBER
    },
    ScenarioSpec {
        scenario: Scenario::SliceLimit, actors: FULL_SLICE, needs: &[Place, Reschedule],
        steps: &[
            ScenarioLine::Pause(DECISION_STAYS), ScenarioLine::Reschedule(LARGEST_SLICE + 1),
            ScenarioLine::Pause(DECISION_STAYS), ScenarioLine::Reschedule(LARGEST_SLICE), ScenarioLine::Pause(DECISION_STAYS),
        ],
        ..WITH_MEMBER
    },
    ScenarioSpec {
        scenario: Scenario::CutOff, order: ScenarioOrder::AfterOthers, needs: &[Disconnect, Reconnect],
        steps: &[ScenarioLine::Step(Disconnect), ScenarioLine::Step(Reconnect)], ..WITH_MEMBER
    },
    ScenarioSpec {
        scenario: Scenario::Restart, order: ScenarioOrder::AfterOthers, actors: Actors::MemberAndPlacement, needs: &[Restart],
        steps: &[ScenarioLine::Step(Restart)],
    },
    ScenarioSpec {
        scenario: Scenario::ForeignProfile, order: ScenarioOrder::UntilOthersEnd,
        actors: Actors::ForeignObject(ObjectKind::ClusterProfile), needs: &[PutForeignProfile],
        steps: &[ScenarioLine::Step(PutForeignProfile), ScenarioLine::Step(ChangeForeignProfile), ScenarioLine::Step(RecreateForeignProfile)],
    },
    ScenarioSpec {
        scenario: Scenario::ForeignProfile, order: ScenarioOrder::UntilOthersEnd,
        actors: Actors::ForeignObject(ObjectKind::PlacementDecision), needs: &[PutForeignSlice],
        steps: &[ScenarioLine::Step(PutForeignSlice)],
    },
];
