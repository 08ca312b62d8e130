//! Runs the scenarios of the table.
//!
//! A scenario has actors, which join before its steps and leave after them in any case, and steps. For each step the run
//! checks what it requires, records how to undo it, acts, and observes what follows.

mod act;
mod table;

use std::time::Duration;

use evidence::{
    Driver, DriverAction, DriverStep, ObjectRef, StepOutcome,
    api::{ClusterProfile, PlacementDecision, Role},
};
use futures::{
    FutureExt as _,
    future::{BoxFuture, join_all},
};
use tokio::select;
use tokio_util::sync::CancellationToken;

use self::{
    act::ForeignObject,
    table::{Actors, FEW, SCENARIOS, ScenarioLine, ScenarioOrder, ScenarioSpec},
};
use super::{
    DriverPlan, HookMember, ScenarioMember, ScenarioPlacement, Session, UndoEntry,
    actions::{ActionSpec, ExpectedReaction, Precondition, Shown},
    is_healthy, is_selectable, late_deadline,
};
use crate::{clock::later, run::context::RunContext, watch::timeline};

const NO_PROFILE: &str = "no profile of the member was found";
const NO_ACTOR: &str = "the table gives each scenario the actors of its steps";
/// How long the implementation stays cut off beyond its time to react: a lease may have to expire first.
const CUT_OFF: Duration = Duration::from_secs(120);

/// Runs the scenarios of the plan and undoes their changes, also when the run is stopped. Returns the steps, and whether
/// the run completed them.
pub(crate) async fn drive(
    context: &RunContext<'_>,
    plan: &DriverPlan,
    profiles: &timeline::Shared,
    slices: &timeline::Shared<PlacementDecision>,
) -> (Driver, bool) {
    let session = Session::new(context, plan, profiles, slices);
    run_all(&session).await;
    let is_complete = !session.context.is_stopped();
    (session.finish().await, is_complete)
}

async fn run_all(session: &Session<'_>) {
    let others_ended = CancellationToken::new();
    let in_order = |order| -> Vec<BoxFuture<'_, ()>> {
        let specs = SCENARIOS.iter().filter(move |spec| spec.order == order);
        specs
            .map(|spec| run_scenario(session, spec, others_ended.clone()).boxed())
            .collect()
    };
    let parallel = async {
        join_all(in_order(ScenarioOrder::SideBySide)).await;
        for scenario in in_order(ScenarioOrder::AfterOthers) {
            scenario.await;
        }
        others_ended.cancel();
    };
    futures::join!(parallel, join_all(in_order(ScenarioOrder::UntilOthersEnd)));
}

struct DriverScenario<'s, 'a> {
    session: &'s Session<'a>,
    spec: &'static ScenarioSpec,
    others_ended: CancellationToken,
    member: Option<ScenarioMember>,
    /// Members that are needed only for their number or names. The steps in which they join have not ended.
    fleet: Vec<(ScenarioMember, DriverStep)>,
    placement: Option<ScenarioPlacement>,
    foreign: Option<ForeignObject>,
    /// The profile before the last step that required one.
    before: Option<ClusterProfile>,
    /// The changes to undo before the actors leave.
    changes: Vec<UndoEntry>,
}

/// Runs a scenario if the run can do it, and undoes what it did.
async fn run_scenario(session: &Session<'_>, spec: &'static ScenarioSpec, others_ended: CancellationToken) {
    let has_members = matches!(
        spec.actors,
        Actors::Member | Actors::MemberInOwnNamespace | Actors::SimilarMembers | Actors::Fleet
    );
    if !session.can(spec.needs) || (has_members && !session.judges(Role::Manager)) {
        return;
    }
    let mut scenario = DriverScenario {
        session,
        spec,
        others_ended,
        member: None,
        fleet: Vec::new(),
        placement: None,
        foreign: None,
        before: None,
        changes: Vec::new(),
    };
    if scenario.join().await {
        scenario.take_steps().await;
    }
    // The session tries again, and reports what is left.
    let _ = session.undo(&scenario.changes, scenario.member.as_slice()).await;
    scenario.leave().await;
}

impl DriverScenario<'_, '_> {
    /// Has the actors join. Returns `false` if the steps cannot be taken.
    async fn join(&mut self) -> bool {
        let session = self.session;
        match self.spec.actors {
            Actors::Member => self.join_member(None).await,
            Actors::MemberInOwnNamespace => self.join_in_own_namespace().await,
            Actors::SimilarMembers => {
                // One after the other: the profile of the first one is known then.
                for mut member in self.offer(session.pool.similar()).await {
                    let step = member.join(session).await;
                    self.fleet.push((member, step));
                }
                true
            }
            Actors::Fleet => {
                let members = session.plan.fleet_size();
                members > 0 && self.join_fleet(members).await
            }
            Actors::Placement { clusters, members } => self.place(clusters, members).await,
            Actors::MemberAndPlacement => {
                let joins = session.judges(Role::Manager) && session.can(&[DriverAction::Join]);
                if joins && !self.join_member(None).await {
                    return false;
                }
                if session.can(&[DriverAction::Place]) {
                    self.place(FEW, 1).await;
                }
                true
            }
            Actors::ForeignObject(kind) => {
                self.choose_foreign_object(kind).await;
                true
            }
        }
    }

    /// Takes members. If there are too few, the scenario gets a skipped step.
    async fn take(&self, count: usize) -> Vec<ScenarioMember> {
        let session = self.session;
        match session.pool.take(count).await {
            Ok(members) => self.offer(members).await,
            Err(reason) => {
                let step = session.begin(self.spec.scenario, DriverAction::Join, "", None);
                session.skip_step(step, reason);
                Vec::new()
            }
        }
    }

    async fn offer(&self, members: Vec<HookMember>) -> Vec<ScenarioMember> {
        ScenarioMember::take(self.session, self.spec.scenario, members).await
    }

    async fn join_member(&mut self, namespace: Option<String>) -> bool {
        let session = self.session;
        let Some(mut member) = self.take(1).await.pop() else {
            return false;
        };
        member.namespace = namespace;
        let step = member.join(session).await;
        member.end(session, step);
        self.member = Some(member);
        true
    }

    /// Creates the run's own namespace, and has a member join in it. Fails if the namespace exists already.
    async fn join_in_own_namespace(&mut self) -> bool {
        let session = self.session;
        let name = self.own_namespace();
        let creating = async {
            session.record_undo(UndoEntry::Namespace { name: name.clone() })?;
            let created = session.writes.create_namespace(&name).await;
            created.map_err(|failure| format!("failed to create the run's own namespace {name}: {failure}"))
        };
        if let Err(reason) = creating.await {
            let step = session.begin(self.spec.scenario, DriverAction::DeleteNamespace, "", None);
            session.skip_step(step, reason);
            return false;
        }
        self.join_member(Some(name)).await
    }

    async fn join_fleet(&mut self, members: usize) -> bool {
        let session = self.session;
        let joining = self.take(members).await.into_iter().map(async |mut member| {
            member.takes_turns = true;
            let step = member.join(session).await;
            (member, step)
        });
        self.fleet = join_all(joining).await;
        !self.fleet.is_empty()
    }

    /// Requests clusters, and returns whether the scheduler selects them. Fake members join first if fewer than `needed` are
    /// selectable.
    async fn place(&mut self, clusters: usize, needed: usize) -> bool {
        let session = self.session;
        let lacking = needed.saturating_sub(selectable_members(session));
        let joins = [DriverAction::Join, DriverAction::Leave];
        if lacking > 0 && session.plan.offer.is_some() && session.can(&joins) {
            self.join_fleet(lacking).await;
        }
        let mut placement = ScenarioPlacement::new(session, self.spec.scenario);
        let selectable = selectable_members(session);
        if selectable < needed {
            let reason = format!(
                "{selectable} profiles are joined and healthy, and {needed} are needed: with the hooks `join` and \
                 `leave`, fake members join"
            );
            session.skip_step(placement.begin(session, DriverAction::Place), reason);
            return false;
        }
        let is_placed = placement
            .request(session, DriverAction::Place, selectable.min(clusters))
            .await;
        self.placement = Some(placement);
        is_placed
    }

    async fn leave(self) {
        let session = self.session;
        if let Some(placement) = self.placement {
            placement.unplace(session).await;
        }
        let leaving = self.fleet.into_iter().map(async |(member, mut step)| {
            // Writes to its profile until now belong to its join.
            if step.outcome == StepOutcome::Done {
                step.observed_until = session.context.now();
            }
            member.end(session, step);
            member.leave(session).await;
        });
        join_all(leaving).await;
        if let Some(member) = self.member {
            member.leave(session).await;
        }
    }

    async fn take_steps(&mut self) {
        let session = self.session;
        for line in self.spec.steps {
            let continues = match *line {
                ScenarioLine::Pause(duration) => {
                    session.context.pause(duration).await;
                    true
                }
                ScenarioLine::Step(action) if session.can(&[action]) => {
                    self.take_step(action).await || action.is_on_placements()
                }
                ScenarioLine::Reschedule(clusters) if session.can(&[DriverAction::Reschedule]) => {
                    let placement = self.placement.as_mut().expect(NO_ACTOR);
                    placement
                        .request(session, DriverAction::Reschedule, clusters)
                        .await
                }
                ScenarioLine::Step(_) | ScenarioLine::Reschedule(_) => true,
            };
            if !continues {
                return;
            }
        }
    }

    /// Takes a step. Returns whether the run did what the step says, whatever followed.
    async fn take_step(&mut self, action: DriverAction) -> bool {
        let (session, spec) = (self.session, ActionSpec::of(action));
        let mut step = self.begin(action);
        let (called, changed) = match self.act(spec, &mut step).await {
            Ok(outcome) => outcome,
            Err(reason) => {
                session.skip_step(step, reason);
                return false;
            }
        };
        session.did(&mut step, called);
        let is_done = step.outcome == StepOutcome::Done;
        if is_done {
            if let Some(object) = changed {
                session.delivered(&object).await;
            }
            self.observe(&mut step, spec.reaction).await;
        }
        if let Some(member) = self.member.as_ref().filter(|_| !spec.actors.is_empty()) {
            step.profile_after = member.profile_ref(session);
        }
        session.end(step);
        is_done
    }

    fn begin(&self, action: DriverAction) -> DriverStep {
        use DriverAction::*;
        let session = self.session;
        let before = || self.before.as_ref().map(ObjectRef::from);
        let (member, profile) = match (self.spec.actors, action) {
            (Actors::Placement { .. }, _) => return self.placement().begin(session, action),
            (Actors::ForeignObject(_), _) => {
                let object = self.foreign.as_ref();
                ("", object.and_then(|object| object.created.clone()))
            }
            (_, Restart) => ("", None),
            (_, Disconnect | Reconnect) => ("", self.member().profile_ref(session).or_else(before)),
            (_, CreateNamespace) => (self.member().name(), before()),
            _ => return self.member().begin(session, action),
        };
        session.begin(self.spec.scenario, action, member, profile)
    }

    /// Checks that the member has the profile that an action requires. Waits until it is healthy, as long as a join may take.
    async fn require(&mut self, precondition: Precondition) -> Result<(), String> {
        if precondition == Precondition::Nothing {
            return Ok(());
        }
        let session = self.session;
        self.current_profile().ok_or(NO_PROFILE)?;
        let is_healthy = || self.current_profile().as_ref().is_some_and(is_healthy);
        let deadline = session
            .context
            .after(session.plan.file.patience_with(DriverAction::Join));
        if precondition == Precondition::HealthyProfile && !session.wait_until(deadline, is_healthy).await {
            return Err("the profile does not report that the member is healthy".to_owned());
        }
        self.before = self.current_profile();
        Ok(())
    }

    /// Observes a step until the reaction, or for the whole time if no reaction ends it.
    async fn observe(&mut self, step: &mut DriverStep, reaction: ExpectedReaction) {
        let session = self.session;
        let deadline = late_deadline(step);
        match reaction {
            ExpectedReaction::None => _ = session.observe(step, deadline, || false).await,
            ExpectedReaction::LeaseExpired => {
                let deadline = deadline.max(later(step.deadline(), CUT_OFF));
                session.observe(step, deadline, || false).await;
            }
            ExpectedReaction::OthersEnded => {
                session.observe(step, deadline, || false).await;
                select! {
                    () = session.context.stop.cancelled() => {}
                    () = self.others_ended.cancelled() => {}
                }
                step.observed_until = session.context.now();
            }
            ExpectedReaction::ProfileFound => {
                let member = self.member.as_mut().expect(NO_ACTOR);
                let is_found = || member.find(session, &session.record()).is_some();
                session.observe(step, deadline, is_found).await;
            }
            ExpectedReaction::Shown(is_shown) => {
                let value = step.change.as_ref().and_then(|change| change.after.clone());
                let has_reacted = || {
                    is_shown(&Shown {
                        profile: self.member().profile(&session.record()),
                        before: self.before.as_ref(),
                        value: value.as_deref(),
                    })
                };
                session.observe(step, deadline, has_reacted).await;
            }
            ExpectedReaction::SlicesRestored => self.placement().observe_restored(session, step).await,
        }
    }

    fn current_profile(&self) -> Option<ClusterProfile> {
        self.member().profile(&self.session.record()).cloned()
    }

    fn own_namespace(&self) -> String {
        self.session.plan.file.own_namespace.clone().unwrap_or_default()
    }

    fn member(&self) -> &ScenarioMember {
        self.member.as_ref().expect(NO_ACTOR)
    }

    fn placement(&self) -> &ScenarioPlacement {
        self.placement.as_ref().expect(NO_ACTOR)
    }
}

fn selectable_members(session: &Session<'_>) -> usize {
    let scope = session.context.scope;
    let record = session.record();
    let current = record.after(0).iter().filter_map(|history| history.current());
    current
        .filter(|profile| scope.holds(profile) && is_selectable(profile))
        .count()
}
