//! A member for one scenario: it joins, gets its profile, and always leaves.

use std::sync::Arc;

use evidence::{
    DriverAction, DriverStep, ObjectKey, ObjectRef, Scenario, StepOutcome, api::ClusterProfile,
    runs::of_other_runs,
};
use jiff::Timestamp;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    answers,
    hooks::{Call, Called, Member, OfferError, Offered, Way},
    journal::UndoEntry,
    plan::{Fleet, OwnMember},
    recognise::Traits,
    secrets,
    session::{STOPPED, Session, StuckMember, refused},
    writes::OURSELVES,
};
use crate::watch::record::Record;

/// A member for one scenario.
pub(super) struct ScenarioMember {
    scenario: Scenario,
    member: Member,
    own: OwnMember,
    /// The stand-in, where it is one.
    offered: Option<Box<dyn Offered>>,
    traits: Traits,
    /// Number of profiles before it joined.
    seen_before: usize,
    uid: Option<Arc<str>>,
    /// Whether the implementation may have joined it.
    invited: bool,
    undo: Option<u64>,
    /// The namespace of the run's own in which its profile is to be.
    namespace: Option<String>,
    turns: Option<Arc<Semaphore>>,
}

impl ScenarioMember {
    /// Prepares a member for a scenario, with a stand-in where the plan has them. The error is for a person.
    async fn of(session: &Session<'_>, scenario: Scenario, own: OwnMember) -> Result<Self, OfferError> {
        let offered = match &session.plan.fleet {
            Fleet::StandIns(offer) => Some(offer.offer(&own.name).await?),
            Fleet::Made(_) | Fleet::Own(..) => None,
        };
        let server = offered.as_ref().and_then(|offered| offered.server());
        let kubeconfig = offered.as_ref().and_then(|offered| offered.kubeconfig());
        let way = match (kubeconfig, &own.kubeconfig) {
            (Some(text), _) => Way::Kubeconfig(text),
            (None, Some(path)) => Way::File(path.clone()),
            (None, None) => Way::Unknown,
        };
        Ok(Self {
            scenario,
            traits: Traits {
                named: own.profile.clone(),
                ..Traits::of(&own.name, server.as_deref())
            },
            member: Member {
                name: own.name.clone(),
                way,
            },
            own,
            offered,
            seen_before: 0,
            uid: None,
            invited: false,
            undo: None,
            namespace: None,
            turns: None,
        })
    }

    /// Takes members of the pool for a scenario. A member that cannot be offered gets a skipped step.
    pub async fn take(session: &Session<'_>, scenario: Scenario, own: Vec<OwnMember>) -> Vec<Self> {
        let mut members = Vec::new();
        for own in own {
            match Self::of(session, scenario, own.clone()).await {
                Ok(member) => members.push(member),
                Err(reason) => {
                    session.skip_step(
                        session.begin(scenario, DriverAction::Join, &own.name, None),
                        reason,
                    );
                    session.pool.give_back(own);
                }
            }
        }
        members
    }

    /// Has the profile of the member be in a namespace of the run's own.
    pub fn place_in(&mut self, namespace: &str) {
        self.namespace = Some(namespace.to_owned());
    }

    /// Makes the member wait for its turn to join and to leave.
    pub fn take_turns(&mut self, turns: &Arc<Semaphore>) {
        self.turns = Some(Arc::clone(turns));
    }

    async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        let turns = self.turns.clone()?;
        turns.acquire_owned().await.ok()
    }

    /// Begins a step with this member.
    pub fn begin(&self, session: &Session<'_>, action: DriverAction) -> DriverStep {
        let profile = self.profile(&session.record()).map(ObjectRef::from);
        session.begin(self.scenario, action, &self.member.name, profile)
    }

    /// Ends a step with this member.
    pub fn end(&self, session: &Session<'_>, mut step: DriverStep) {
        step.profile_after = self.profile(&session.record()).map(ObjectRef::from);
        session.end(step);
    }

    /// Has the member join and waits for its filled profile. Returns whether there is one.
    pub async fn join(&mut self, session: &Session<'_>) -> bool {
        let step = self.enter(session).await;
        let found = step.profile.is_some();
        self.end(session, step);
        found
    }

    /// Has the member join, and returns the step before it ends.
    pub async fn enter(&mut self, session: &Session<'_>) -> DriverStep {
        let turn = self.turn().await;
        let mut step = self.begin(session, DriverAction::Join);
        self.seen_before = session.record().len();
        let undo = UndoEntry::Member {
            name: self.member.name.clone(),
        };
        if session.stop.is_cancelled() {
            return refused(step, STOPPED);
        }
        match session.record_undo(undo) {
            Ok(undo) => self.undo = undo,
            Err(reason) => return refused(step, reason),
        }
        self.invited = true;
        let called = self.call(session, DriverAction::Join, None).await;
        drop(turn);
        if let Some(named) = &called.profile {
            self.traits.named = Some(named.clone());
        }
        session.did(&mut step, called);
        session
            .look(&mut step, |record| {
                self.find(session, record)
                    .is_some_and(|profile| answers::is_filled(profile, session.context.claim.edition))
            })
            .await;
        step.profile = self.find(session, &session.record()).map(ObjectRef::from);
        if step.profile.is_none() && step.outcome == StepOutcome::Done {
            self.doubt(session, &mut step);
        }
        step
    }

    /// No profile was found. Where others turned up, it may be one of them, unless the implementation is known to make
    /// profiles that tell whose they are: then nothing can be said.
    fn doubt(&self, session: &Session<'_>, step: &mut DriverStep) {
        if self.traits.named.is_some() || session.profiles_tell() {
            return;
        }
        let record = session.record();
        let scope = session.context.scope;
        let newcomers = record.after(self.seen_before);
        let other_runs = of_other_runs(newcomers, Some(&session.plan.run));
        let strangers = newcomers.iter().filter_map(|history| {
            let profile = history.current()?;
            let object = ObjectRef::from(profile);
            let known = session.is_claimed(&profile.metadata.uid)
                || profile.manager() == OURSELVES
                || other_runs.contains(&ObjectKey::from(&object));
            let stranger = scope.holds(profile) && !known;
            stranger.then(|| object.path())
        });
        let strangers: Vec<String> = strangers.take(3).collect();
        if !strangers.is_empty() {
            step.outcome = StepOutcome::Failed {
                reason: format!(
                    "new profiles turned up ({}), and none tells that it is the member's: let the hook `join` print \
                     `profile: NAMESPACE/NAME`",
                    strangers.join(", ")
                ),
            };
        }
    }

    /// The member's profile, once it is known.
    pub fn profile<'r>(&self, record: &'r Record) -> Option<&'r ClusterProfile> {
        record.history(self.uid.as_ref()?)?.current()
    }

    /// The member's profile: the one that is known, or one that turned up since it joined.
    pub fn find<'r>(&mut self, session: &Session<'_>, record: &'r Record) -> Option<&'r ClusterProfile> {
        if let Some(profile) = self.profile(record) {
            return Some(profile);
        }
        // A hook may name an older profile; otherwise only new ones count.
        let first = match self.traits.named {
            Some(_) => 0,
            None => self.seen_before,
        };
        let free = record
            .after(first)
            .iter()
            .filter(|history| !session.is_claimed(&history.last().metadata.uid));
        let profile = self.traits.find(free, session.context.scope)?;
        session.claim(&profile.metadata.uid, self.traits.named.is_none());
        self.uid = Some(Arc::clone(&profile.metadata.uid));
        let is_new = record
            .after(self.seen_before)
            .iter()
            .any(|history| history.last().metadata.uid == profile.metadata.uid);
        if is_new {
            session.writes.allow(&ObjectRef::from(profile));
        }
        Some(profile)
    }

    /// Has the member leave, even after a failed join, and waits until its profile shows that.
    pub async fn leave(mut self, session: &Session<'_>) {
        if !self.invited {
            session.pool.give_back(self.own);
            return;
        }
        let turn = self.turn().await;
        let mut step = self.begin(session, DriverAction::Leave);
        if let Some(profile) = &step.profile {
            step.secrets_before = secrets::count(&session.context, &ObjectKey::from(profile)).await;
        }
        let called = self.call(session, DriverAction::Leave, None).await;
        drop(turn);
        session.did(&mut step, called);
        let left = step.outcome == StepOutcome::Done;
        if left {
            session.undone(self.undo.take());
        }
        let uid = self.uid.clone();
        // Without a known profile there is nothing to wait for.
        let retired = |record: &Record| {
            let history = uid.as_ref().and_then(|uid| record.history(uid));
            history.is_none_or(answers::is_retired)
        };
        let deadline = step.deadline();
        session.look_until(deadline, &mut step, retired).await;
        if left && step.secrets_before.is_some_and(|count| count > 0) {
            self.see_secrets_go(session, &mut step, deadline).await;
        }
        self.end(session, step);
        if left {
            session.pool.give_back(self.own);
        } else {
            session.stuck(StuckMember {
                member: self.member,
                _stand_in: self.offered,
                uid: self.uid,
                undo: self.undo,
            });
        }
    }

    /// Polls the Secrets, which the watch does not show.
    async fn see_secrets_go(&self, session: &Session<'_>, step: &mut DriverStep, deadline: Timestamp) {
        let Some(key) = step.profile.as_ref().map(ObjectKey::from) else {
            return;
        };
        while !session.stop.is_cancelled() {
            let count = secrets::count(&session.context, &key).await;
            step.looked_until = session.now();
            if count == Some(0) || step.looked_until >= deadline {
                return;
            }
            session.pause(secrets::EVERY).await;
        }
    }

    /// Has the implementation or the stand-in act on the member.
    pub async fn call(&self, session: &Session<'_>, action: DriverAction, version: Option<String>) -> Called {
        if let Some(offered) = &self.offered {
            match action {
                DriverAction::Break => offered.break_down(),
                DriverAction::Heal => offered.heal(),
                _ => {}
            }
            if matches!(action, DriverAction::Break | DriverAction::Heal) {
                return Called::done();
            }
        }
        let call = Call {
            member: Some(&self.member),
            profile: self
                .profile(&session.record())
                .map(|profile| ObjectKey::from(&ObjectRef::from(profile))),
            version,
            namespace: self.namespace.as_deref(),
            ..Call::of(action)
        };
        session.call(call, session.stop_of(action)).await
    }

    /// Forgets the profile: the implementation may create another one.
    pub fn forget_profile(&mut self) {
        self.uid = None;
    }

    /// Upgrades the member. Returns the version that it should get.
    pub async fn upgrade(&self, session: &Session<'_>) -> (Called, String) {
        match (&self.offered, &session.plan.fleet) {
            (Some(offered), _) => (Called::done(), offered.upgrade()),
            (None, Fleet::Made(version) | Fleet::Own(_, version)) => {
                let version = version.clone().unwrap_or_default();
                let called = self.call(session, DriverAction::Upgrade, Some(version.clone()));
                (called.await, version)
            }
            (None, Fleet::StandIns(_)) => (Called::failed("there is no stand-in"), String::new()),
        }
    }
}
