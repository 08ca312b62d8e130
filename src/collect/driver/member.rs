//! A member for one scenario: it joins, gets its profile, and always leaves.

use std::{sync::Arc, time::Duration};

use evidence::{
    DriverAction, DriverStep, ObjectKey, ObjectRef, ProfileHistory, Scenario, StepOutcome,
    api::{ClusterProfile, Edition, names},
    runs::of_other_runs,
};
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::SemaphorePermit;

use super::{
    Called, FIELD_MANAGER, HookMember, HookRequest, OfferError, Offered, STOPPED, Session, Traits, UndoEntry,
    late_deadline, session::fail,
};
use crate::{
    hub::{EvidenceRequest, secret_places, secrets_path},
    run::context::RunContext,
    watch::{HistoryRecord, METADATA, list_with},
};

const SECRETS_TICK: Duration = Duration::from_secs(5);

pub(super) struct ScenarioMember {
    scenario: Scenario,
    member: HookMember,
    /// The content of its kubeconfig, if it is a fake member.
    kubeconfig: Option<String>,
    fake: Option<Box<dyn Offered>>,
    traits: Traits,
    profiles_before: usize,
    uid: Option<Arc<str>>,
    /// Whether the implementation may have joined it.
    is_invited: bool,
    /// The namespace of the run's own in which its profile should be.
    pub namespace: Option<String>,
    /// Whether it waits for its turn to join and to leave.
    pub takes_turns: bool,
}

impl ScenarioMember {
    async fn of(session: &Session<'_>, scenario: Scenario, member: HookMember) -> Result<Self, OfferError> {
        let fake = match &session.plan.offer {
            Some(offer) => Some(offer.offer(&member.name).await?),
            None => None,
        };
        let server = fake.as_ref().and_then(|fake| fake.server());
        let mut traits = Traits::of(&member.name, server.as_deref());
        traits.profile.clone_from(&member.profile);
        Ok(Self {
            scenario,
            traits,
            member,
            kubeconfig: fake.as_ref().and_then(|fake| fake.kubeconfig()),
            fake,
            profiles_before: 0,
            uid: None,
            is_invited: false,
            namespace: None,
            takes_turns: false,
        })
    }

    /// Prepares members for a scenario. A member that cannot be offered gets a skipped step.
    pub async fn take(session: &Session<'_>, scenario: Scenario, hook_members: Vec<HookMember>) -> Vec<Self> {
        let mut members = Vec::new();
        for hook_member in hook_members {
            match Self::of(session, scenario, hook_member.clone()).await {
                Ok(member) => members.push(member),
                Err(reason) => {
                    let step = session.begin(scenario, DriverAction::Join, &hook_member.name, None);
                    session.skip_step(step, reason);
                    session.pool.give_back(hook_member);
                }
            }
        }
        members
    }

    async fn turn<'s>(&self, session: &'s Session<'_>) -> Option<SemaphorePermit<'s>> {
        if !self.takes_turns {
            return None;
        }
        session.turns.acquire().await.ok()
    }

    pub fn name(&self) -> &str {
        &self.member.name
    }

    pub fn begin(&self, session: &Session<'_>, action: DriverAction) -> DriverStep {
        session.begin(self.scenario, action, self.name(), self.profile_ref(session))
    }

    pub fn end(&self, session: &Session<'_>, mut step: DriverStep) {
        step.profile_after = self.profile_ref(session);
        session.end(step);
    }

    /// Has the member join, waits for its complete profile, and returns the step before it ends.
    pub async fn join(&mut self, session: &Session<'_>) -> DriverStep {
        let turn = self.turn(session).await;
        let mut step = self.begin(session, DriverAction::Join);
        self.profiles_before = session.record().len();
        if session.context.is_stopped() {
            fail(&mut step, STOPPED);
            return step;
        }
        if let Err(reason) = session.record_undo(UndoEntry::hook(DriverAction::Leave, self.name())) {
            fail(&mut step, reason);
            return step;
        }
        self.is_invited = true;
        let mut called = self.call(session, DriverAction::Join, None).await;
        drop(turn);
        if let Some(profile) = called.profile.take() {
            self.traits.profile = Some(profile);
        }
        session.did(&mut step, called);
        let edition = session.context.claim.edition;
        let has_reacted = || {
            let record = session.record();
            let profile = self.find(session, &record);
            profile.is_some_and(|profile| is_complete(profile, edition))
        };
        let deadline = late_deadline(&step);
        session.observe(&mut step, deadline, has_reacted).await;
        step.profile = self.find(session, &session.record()).map(ObjectRef::from);
        if step.profile.is_none() && step.outcome == StepOutcome::Done {
            self.check_new_profiles(session, &mut step);
        }
        step
    }

    /// Fails the step if a new profile may be the member's: unless the profiles of the implementation are known to show
    /// their member, the result is unknown.
    fn check_new_profiles(&self, session: &Session<'_>, step: &mut DriverStep) {
        if self.traits.profile.is_some() || session.state.lock().profiles_name_members {
            return;
        }
        let record = session.record();
        let new = record.after(self.profiles_before);
        let other_runs = of_other_runs(new, Some(&session.plan.run));
        let unknown = new.iter().filter_map(|history| {
            let profile = history.current()?;
            let object = ObjectRef::from(profile);
            let is_known = session.is_claimed(&profile.metadata.uid)
                || profile.manager() == FIELD_MANAGER
                || other_runs.contains(&ObjectKey::from(&object));
            let is_unknown = session.context.scope.holds(profile) && !is_known;
            is_unknown.then(|| object.path())
        });
        let unknown: Vec<String> = unknown.take(3).collect();
        if !unknown.is_empty() {
            let unknown = unknown.join(", ");
            let reason = format!(
                "new profiles exist ({unknown}), but none shows that it is the member's: let the hook `join` print \
                 `profile: NAMESPACE/NAME`"
            );
            fail(step, reason);
        }
    }

    /// The member's profile, once it is known.
    pub fn profile<'r>(&self, record: &'r HistoryRecord) -> Option<&'r ClusterProfile> {
        record.history(self.uid.as_ref()?)?.current()
    }

    /// A reference to the member's profile, once it is known.
    pub fn profile_ref(&self, session: &Session<'_>) -> Option<ObjectRef> {
        self.profile(&session.record()).map(ObjectRef::from)
    }

    /// The member's profile: the known one, or one that was created since it joined.
    pub fn find<'r>(
        &mut self,
        session: &Session<'_>,
        record: &'r HistoryRecord,
    ) -> Option<&'r ClusterProfile> {
        if let Some(profile) = self.profile(record) {
            return Some(profile);
        }
        // A hook may print an older profile; otherwise only new ones count.
        let first = match self.traits.profile {
            Some(_) => 0,
            None => self.profiles_before,
        };
        let is_free = |history: &&ProfileHistory| !session.is_claimed(&history.last().metadata.uid);
        let free = record.after(first).iter().filter(is_free);
        let profile = self.traits.find(free, session.context.scope)?;
        let uid = &profile.metadata.uid;
        session.claim(uid, self.traits.profile.is_none());
        self.uid = Some(Arc::clone(uid));
        let mut new = record.after(self.profiles_before).iter();
        if new.any(|history| history.last().metadata.uid == *uid) {
            session.writes.allow(&ObjectRef::from(profile));
        }
        Some(profile)
    }

    /// Forgets the profile: the implementation may create another one.
    pub fn forget_profile(&mut self) {
        self.uid = None;
    }

    /// Has the member leave, even after a failed join, and waits until its profile shows that.
    pub async fn leave(self, session: &Session<'_>) {
        if !self.is_invited {
            session.pool.give_back(self.member);
            return;
        }
        // The hook may need the API server of the member.
        if let Some(fake) = &self.fake {
            fake.heal();
        }
        let turn = self.turn(session).await;
        let mut step = self.begin(session, DriverAction::Leave);
        if let Some(profile) = &step.profile {
            step.secrets_before = count_secrets(session.context, &ObjectKey::from(profile)).await;
        }
        let called = self.call(session, DriverAction::Leave, None).await;
        drop(turn);
        session.did(&mut step, called);
        let has_left = step.outcome == StepOutcome::Done;
        let deadline = step.deadline();
        let is_retired = || {
            let record = session.record();
            let history = self.uid.as_ref().and_then(|uid| record.history(uid));
            // Without a known profile there is nothing to wait for.
            history.is_none_or(is_retired)
        };
        session.observe(&mut step, deadline, is_retired).await;
        if has_left && step.secrets_before.is_some_and(|count| count > 0) {
            self.wait_for_secrets(session, &mut step, deadline).await;
        }
        self.end(session, step);
        if has_left {
            session.pool.give_back(self.member);
        } else {
            session.pool.lose();
            session.state.lock().stuck.push(self);
        }
    }

    /// Polls the Secrets, which the watch does not show, until they are gone.
    async fn wait_for_secrets(&self, session: &Session<'_>, step: &mut DriverStep, deadline: Timestamp) {
        let Some(key) = step.profile.as_ref().map(ObjectKey::from) else {
            return;
        };
        while !session.context.is_stopped() {
            let count = count_secrets(session.context, &key).await;
            step.observed_until = session.context.now();
            if count == Some(0) || step.observed_until >= deadline {
                return;
            }
            session.context.pause(SECRETS_TICK).await;
        }
    }

    /// Has the implementation, or the fake member itself, act on the member.
    pub async fn call(&self, session: &Session<'_>, action: DriverAction, version: Option<String>) -> Called {
        match (&self.fake, action) {
            (Some(fake), DriverAction::Break) => {
                fake.break_down();
                return Called::success();
            }
            (Some(fake), DriverAction::Heal) => {
                fake.heal();
                return Called::success();
            }
            _ => {}
        }
        let call = HookRequest {
            member: Some(&self.member),
            kubeconfig: self.kubeconfig.as_deref(),
            profile: self.profile_ref(session).as_ref().map(ObjectKey::from),
            version,
            namespace: self.namespace.as_deref(),
            ..HookRequest::of(action)
        };
        session.call(call).await
    }

    /// Upgrades the member. Returns the version that it should get.
    pub async fn upgrade(&self, session: &Session<'_>) -> (Called, String) {
        if let Some(fake) = &self.fake {
            return (Called::success(), fake.upgrade());
        }
        let version = session.plan.file.upgrade_to.clone().unwrap_or_default();
        let called = self.call(session, DriverAction::Upgrade, Some(version.clone()));
        (called.await, version)
    }
}

/// Whether the status of a joined member is complete. Ends a wait only: rules judge.
fn is_complete(profile: &ClusterProfile, edition: Edition) -> bool {
    let has_endpoints = edition != Edition::Standard || profile.property(names::PROPERTY_ENDPOINTS).is_some();
    has_endpoints
        && version(profile).is_some_and(|version| !version.is_empty())
        && profile.condition(names::CONDITION_HEALTHY).is_some()
        && is_true(profile, names::CONDITION_JOINED)
}

/// Whether the profile of a member that has left is gone, or reports neither that it is joined nor that it is healthy.
fn is_retired(history: &ProfileHistory) -> bool {
    let profile = history.current();
    profile.is_none_or(|profile| !is_true(profile, names::CONDITION_JOINED) && !is_healthy(profile))
}

pub(super) fn is_healthy(profile: &ClusterProfile) -> bool {
    is_true(profile, names::CONDITION_HEALTHY)
}

pub(super) fn is_selectable(profile: &ClusterProfile) -> bool {
    is_true(profile, names::CONDITION_JOINED) && is_healthy(profile)
}

pub(super) fn version(profile: &ClusterProfile) -> Option<&str> {
    profile.status.version.kubernetes.as_deref()
}

fn is_true(profile: &ClusterProfile, condition: &str) -> bool {
    let condition = profile.condition(condition);
    condition.is_some_and(|condition| &*condition.status == "True")
}

/// The number of consumers' Secrets for a profile, by their metadata; none if they cannot be read, or are not requested.
async fn count_secrets(context: &RunContext<'_>, profile: &ObjectKey) -> Option<usize> {
    let places = secret_places(&context.permissions, &context.scope.namespaces);
    if places.is_empty() || matches!(context.secrets, EvidenceRequest::No(_)) {
        return None;
    }
    let selector = format!("{}={}", names::LABEL_SECRET_PROFILE, profile.name);
    let mut count = 0;
    for place in places {
        let each = |json: &[u8]| {
            let secret = serde_json::from_slice::<Value>(json).unwrap_or_default();
            let label = &secret["metadata"]["labels"][names::LABEL_SECRET_PROFILE_NAMESPACE];
            // The label for the namespace is optional.
            let is_of_profile = label.is_null() || *label == *profile.namespace;
            count += usize::from(is_of_profile);
        };
        let result = list_with(&context.client, &secrets_path(&place, &selector), METADATA, each).await;
        result.ok()?;
    }
    Some(count)
}
