//! The actors of a scenario: members join before the steps and leave after them; requests for clusters are taken back.

use std::sync::Arc;

use evidence::{
    DriverAction, DriverStep, ObjectRef, StepOutcome,
    api::{ObjectKind, Role},
};
use futures::future::join_all;
use tokio::{select, sync::Semaphore};

use super::{
    Actors,
    foreign_object::{ForeignObject, any_namespace, first_namespace},
    run::DriverScenario,
    table::FEW,
};
use crate::driver::{
    answers,
    plan::{Fleet, Scale},
    scenario_member::ScenarioMember,
    scenario_placement::ScenarioPlacement,
    session::Session,
};

/// What takes part in a scenario that is running.
#[derive(Default)]
pub(super) struct Cast {
    pub member: Option<ScenarioMember>,
    /// Members that are needed only for their number. The steps in which they join have not ended.
    fleet: Vec<(ScenarioMember, DriverStep)>,
    pub placement: Option<ScenarioPlacement>,
    /// The run's own namespace.
    pub namespace: Option<ObjectRef>,
    pub foreign_object: Option<ForeignObject>,
}

impl DriverScenario<'_, '_> {
    /// Has the actors join. Returns `false` if the steps cannot be taken.
    pub(super) async fn join(&mut self) -> bool {
        match self.spec.actors {
            Actors::Member => self.join_member().await,
            Actors::MemberInOwnNamespace => self.join_in_own_namespace().await,
            Actors::SimilarMembers => {
                self.join_similar_members().await;
                true
            }
            Actors::Fleet => {
                self.join_fleet(self.session.plan.scale.unwrap_or_default()).await;
                true
            }
            Actors::Placement { clusters, members } => self.place(clusters, members).await,
            Actors::MemberAndPlacement => self.join_member_and_place().await,
            Actors::ForeignObject(kind) => {
                self.choose_namespace(kind).await;
                true
            }
        }
    }

    /// Has the actors leave.
    pub(super) async fn leave(&mut self) {
        let (session, cast) = (self.session, std::mem::take(&mut self.cast));
        if let Some(placement) = cast.placement {
            placement.unplace(session).await;
        }
        let fleet = cast.fleet.into_iter();
        join_all(fleet.map(|(member, step)| leave_fleet(session, member, step))).await;
        if let Some(member) = cast.member {
            member.leave(session).await;
        }
    }

    async fn join_member(&mut self) -> bool {
        let own = self.session.pool.take(1).await;
        let taken = ScenarioMember::take(self.session, self.spec.scenario, own).await;
        let Some(mut member) = taken.into_iter().next() else {
            return false;
        };
        if let Some(namespace) = &self.cast.namespace {
            member.place_in(&namespace.name);
        }
        member.join(self.session).await;
        self.cast.member = Some(member);
        true
    }

    async fn join_in_own_namespace(&mut self) -> bool {
        let session = self.session;
        match self.create_own_namespace().await {
            Ok(()) => self.join_member().await,
            Err(reason) => {
                let step = session.begin(self.spec.scenario, DriverAction::DeleteNamespace, "", None);
                session.skip_step(step, reason);
                false
            }
        }
    }

    /// Has two members join, one after the other: the profile of the first one is known then.
    async fn join_similar_members(&mut self) {
        let session = self.session;
        let own = session.pool.similar();
        for mut member in ScenarioMember::take(session, self.spec.scenario, own).await {
            let step = member.enter(session).await;
            self.cast.fleet.push((member, step));
        }
    }

    /// Has many members join, so many at once as the plan says.
    async fn join_fleet(&mut self, scale: Scale) {
        let session = self.session;
        let own = session.pool.take(scale.members).await;
        let members = ScenarioMember::take(session, self.spec.scenario, own).await;
        let turns = Arc::new(Semaphore::new(scale.at_once.min(Semaphore::MAX_PERMITS)));
        let joining = members.into_iter().map(async |mut member| {
            member.take_turns(&turns);
            let step = member.enter(session).await;
            (member, step)
        });
        self.cast.fleet = join_all(joining).await;
    }

    async fn join_member_and_place(&mut self) -> bool {
        let session = self.session;
        let can = |action| session.capabilities.support(&[action]);
        if session.judges(Role::Manager) && can(DriverAction::Join) && !self.join_member().await {
            return false;
        }
        if can(DriverAction::Place) {
            self.place(FEW, 1).await;
        }
        true
    }

    /// Asks for clusters, and returns whether the scheduler places them. Fake members join first if fewer than `needed` are
    /// selectable.
    async fn place(&mut self, clusters: usize, needed: usize) -> bool {
        let session = self.session;
        let lacking = needed.saturating_sub(selectable_members(session));
        if lacking > 0 && has_fake_members(session) {
            self.join_fleet(Scale {
                members: lacking,
                ..session.plan.scale.unwrap_or_default()
            })
            .await;
        }
        let mut placement = ScenarioPlacement::new(session, self.spec.scenario);
        let selectable = selectable_members(session);
        if selectable < needed {
            let reason = format!(
                "{selectable} profiles are joined and healthy, and {needed} are needed: with the hooks `join` and \
                 `leave`, stand-ins join"
            );
            session.skip_step(placement.begin(session, DriverAction::Place), reason);
            return false;
        }
        let is_placed = placement.place(session, selectable.min(clusters)).await;
        self.cast.placement = Some(placement);
        is_placed
    }

    /// Waits for an object of the implementation, and chooses its namespace for the object of another one.
    async fn choose_namespace(&mut self, kind: ObjectKind) {
        let session = self.session;
        let joins = match kind {
            ObjectKind::ClusterProfile => DriverAction::Join,
            ObjectKind::PlacementDecision => DriverAction::Place,
        };
        let mut first = None;
        if session.capabilities.support(&[joins]) {
            first = select! {
                namespace = first_namespace(session, kind) => Some(namespace),
                _ = self.others_ended.wait_for(|ended| *ended) => None,
            };
        }
        let namespace = first.or_else(|| any_namespace(session, kind));
        self.cast.foreign_object = namespace.map(|namespace| ForeignObject::new(session, kind, namespace));
    }
}

/// A member of a fleet leaves. What is written to its profile until then belongs to its join.
async fn leave_fleet(session: &Session<'_>, member: ScenarioMember, mut step: DriverStep) {
    if step.outcome == StepOutcome::Done {
        step.looked_until = session.now();
    }
    member.end(session, step);
    member.leave(session).await;
}

/// Whether members cost nothing, and can join.
fn has_fake_members(session: &Session<'_>) -> bool {
    let actions = [DriverAction::Join, DriverAction::Leave];
    matches!(session.plan.fleet, Fleet::StandIns(_)) && session.capabilities.support(&actions)
}

/// How many clusters a scheduler may select.
fn selectable_members(session: &Session<'_>) -> usize {
    let scope = session.context.scope;
    let record = session.record();
    let current = record.after(0).iter().filter_map(|history| history.current());
    current
        .filter(|profile| scope.holds(profile) && answers::is_well(profile))
        .count()
}
