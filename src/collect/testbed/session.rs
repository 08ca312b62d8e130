//! State that all scenes of a testbed share, and what they do with it.

mod clear;
mod hooks;
mod outputs;

use std::{collections::BTreeSet, time::Duration};

use evidence::{
    ConsumerSpec, DriverAction, HookCall, ObjectKey, ObjectRef, OutputSnapshot, ScenarioRun, Testbed,
    api::ObjectKind,
};
use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use tokio::{select, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{
    TestbedPlan,
    decisions::Decisions,
    profile::{Entry, Place, Status, object},
    scenes::SceneOf,
};
use crate::{
    connect::failure::Failure,
    driver::{Call, Member, RunContext, UndoEntry, Writes},
};

/// The hub's definition does not allow that.
const UNPROCESSABLE: u16 = 422;
/// There is no such namespace.
const NOT_FOUND: u16 = 404;
/// How long the watch may take to bring what was published.
pub(super) const A_MOMENT: Duration = Duration::from_secs(1);
/// Interval of looking for a call.
const TICK: Duration = Duration::from_millis(250);

/// What all scenes of a testbed share.
pub(super) struct Session<'a> {
    pub context: RunContext<'a>,
    pub plan: &'a TestbedPlan,
    stop: CancellationToken,
    pub(super) writes: Writes<'a>,
    /// The slices of decisions, where the consumer reads them.
    pub(super) decisions: Decisions,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    scenarios: Vec<ScenarioRun>,
    published: Vec<Profile>,
    /// Those that were deleted before the end.
    withdrawn: Vec<Profile>,
    /// Namespaces that are not there.
    missing: BTreeSet<String>,
    hook_calls: Vec<HookCall>,
    /// Whether the consumer was stopped.
    is_idle: bool,
    snapshots: Vec<OutputSnapshot>,
    /// Why outputs could not be read.
    unread: Option<String>,
}

/// A profile on the testbed.
#[derive(Clone)]
pub(super) struct Profile {
    pub object: ObjectRef,
    /// Whether it is where the consumer looks for profiles, and labelled as those are that it selects.
    pub is_selected: bool,
    since: Timestamp,
    undo: Option<u64>,
}

impl<'a> Session<'a> {
    /// A session in which nothing was done yet.
    pub fn new(context: RunContext<'a>, plan: &'a TestbedPlan, stop: CancellationToken) -> Self {
        Self {
            writes: Writes::new(context.client, context.target).noting(context.touched.clone()),
            context,
            plan,
            stop,
            decisions: Decisions::default(),
            state: Mutex::default(),
        }
    }

    /// The provider that the consumer has a plugin for.
    pub fn provider(&self) -> &str {
        let first = self.plan.claims.providers.first();
        first.map_or("", String::as_str)
    }

    /// The name of a profile, and of its member.
    pub fn name(&self, what: &str) -> String {
        format!("conformance-{}-{what}", self.plan.run)
    }

    /// A profile that is still published.
    pub fn published(&self, what: &str) -> Option<Profile> {
        let name = self.name(what);
        let state = self.state();
        let mut published = state.published.iter();
        published.find(|profile| profile.object.name == name).cloned()
    }

    /// Where the consumer looks for profiles.
    pub fn place(&self) -> Place {
        Place::selected(&self.plan.claims)
    }

    /// Publishes a profile where the consumer looks for them. None if the hub refuses it, which it may: then what it would ask of
    /// the consumer is left out.
    pub async fn publish(&self, what: &str, status: &Status) -> Option<Profile> {
        self.publish_at(&self.place(), what, status).await
    }

    /// Publishes a profile at that place.
    pub async fn publish_at(&self, place: &Place, what: &str, status: &Status) -> Option<Profile> {
        let profile = self.create(place, what).await?;
        self.complete(profile, status).await
    }

    /// Creates a profile without a status.
    pub async fn create(&self, place: &Place, what: &str) -> Option<Profile> {
        if self.stop.is_cancelled() {
            return None;
        }
        let key = ObjectKey {
            namespace: place.namespace.clone(),
            name: self.name(what),
        };
        let undo = self.write_down(UndoEntry::Profile { profile: key.clone() }, what)?;
        let object = object(&self.plan.run, &key.name, place);
        let created = self.writes.create(ObjectKind::ClusterProfile, &key, object).await;
        let created = match created {
            Ok(created) => created,
            Err(failure) => {
                self.refused(what, &place.namespace, &failure);
                return None;
            }
        };
        let profile = Profile {
            object: created,
            is_selected: place.is_selected(&self.plan.claims),
            since: self.now(),
            undo,
        };
        self.state().published.push(profile.clone());
        Some(profile)
    }

    /// Writes down what is to be undone, before it is done: with its number where there is a journal. None if that fails.
    pub(super) fn write_down(&self, undo: UndoEntry, what: &str) -> Option<Option<u64>> {
        let Some(journal) = &self.plan.journal else {
            return Some(None);
        };
        match journal.record_undo(undo) {
            Ok(number) => Some(Some(number)),
            Err(error) => {
                self.warn(&format!("{what} is left out: {error}"));
                None
            }
        }
    }

    /// Gives a profile that was created its status, and names it in the decision. None if the hub refuses it: then the
    /// profile is gone again.
    pub async fn complete(&self, profile: Profile, status: &Status) -> Option<Profile> {
        if self.say(&profile, status).await && self.select(&profile).await {
            self.work(&profile).await;
            return Some(profile);
        }
        // Without its status it would ask something else.
        self.withdraw(&profile).await;
        None
    }

    /// Gives a profile that status, and the consumer work on its member. False if the hub refuses it.
    pub async fn update(&self, profile: &Profile, status: &Status) -> bool {
        let is_said = self.say(profile, status).await;
        if is_said {
            self.work(profile).await;
        }
        is_said
    }

    /// The same without having the consumer work.
    pub async fn say(&self, profile: &Profile, status: &Status) -> bool {
        let status = status.since(profile.since);
        if let Err(failure) = self.writes.set_status(&profile.object, &status).await {
            let name = &profile.object.name;
            // Hubs differ in what they store.
            let what = format!("the hub refuses a status of {name}, which is left out: {failure}");
            if failure.code() == UNPROCESSABLE {
                self.context.progress.step(&what);
            } else {
                self.warn(&what);
            }
            return false;
        }
        true
    }

    /// The hub refuses to create a profile.
    fn refused(&self, what: &str, namespace: &str, failure: &Failure) {
        if failure.code() == NOT_FOUND {
            // It is the same for all others.
            let first = self.state().missing.insert(namespace.to_owned());
            if first {
                self.warn(&format!(
                    "there is no namespace {namespace}, or no ClusterProfiles: create it, or name another one"
                ));
            }
            return;
        }
        self.warn(&format!("the profile {what} is left out: {failure}"));
    }

    /// Has the consumer work on the member of a profile. It has no work on one that it does not select.
    pub async fn work(&self, profile: &Profile) {
        if profile.is_selected {
            self.work_on(&profile.object).await;
        }
    }

    /// Has the consumer work on a member, if it needs to be told, and was not stopped.
    pub(super) async fn work_on(&self, profile: &ObjectRef) {
        let Some(hooks) = &self.plan.hooks else { return };
        if !self.can(&[DriverAction::Work]) || self.state().is_idle {
            return;
        }
        let member = Member {
            name: profile.name.clone(),
            ..Member::default()
        };
        let call = Call {
            member: Some(&member),
            profile: Some(ObjectKey::from(profile)),
            ..Call::of(DriverAction::Work)
        };
        if let Some(reason) = hooks.call(&call, self.stop.clone()).await.failure {
            self.warn(&reason);
        }
    }

    /// Publishes a control, waits until it is called and as long as the consumer may take for the rest, and ends the scene.
    pub async fn control(&self, scene: &SceneOf) {
        let settles = scene.settles;
        let what = format!("{}-control", scene.name);
        // The watch tells of what was published before the scene begins.
        self.pause(A_MOMENT).await;
        let from = self.now();
        let Some(address) = self.address(&what).await else {
            return;
        };
        let status = Status::of([Entry::to(self.provider(), &address)]);
        if self.publish(&what, &status).await.is_none() {
            return;
        }
        let patience = self.plan.patience.max(self.settle() * settles);
        let called = self.called(&address.member, patience).await;
        self.state().scenarios.push(ScenarioRun {
            name: scene.name.to_owned(),
            control: address.member,
            from,
            until: self.now(),
            called_at: called,
            may_delay: scene.hinders,
        });
        if let Some(called) = called {
            let settle = self.settle();
            self.pause_until(after(called, settle)).await;
            self.pause_until(after(from, settle * settles)).await;
        }
        self.read_outputs().await;
        if let Some(scene) = self.state().scenarios.last_mut() {
            scene.until = self.now();
        }
        if scene.hinders {
            // What is given at the last moment of the scene would count for it.
            self.pause(TICK).await;
            self.plan.calls.give_again();
            // A plugin that hangs holds up the next scene, too.
            self.pause(self.hang()).await;
        }
    }

    /// Waits until a member was called.
    pub async fn called(&self, member: &str, patience: Duration) -> Option<Timestamp> {
        let deadline = after(self.now(), patience);
        loop {
            let called = self.plan.calls.first_call(member);
            if called.is_some() || self.now() >= deadline || self.stop.is_cancelled() {
                return called;
            }
            self.pause(TICK).await;
        }
    }

    /// For how long the consumer may go on as before, as far as that is known.
    pub fn settle(&self) -> Duration {
        let seconds = self.testbed().settle_seconds().unwrap_or_default();
        Duration::from_secs(seconds.unsigned_abs())
    }

    /// For how long a plugin hangs: a consumer that does one thing after the other calls others within twice what it may take.
    pub fn hang(&self) -> Duration {
        self.settle() * 3 / 2
    }

    /// Whether the last control was called.
    pub fn is_alive(&self) -> bool {
        let state = self.state();
        state
            .scenarios
            .last()
            .is_some_and(|scene| scene.called_at.is_some())
    }

    /// Whether each scene was as long as the consumer may take.
    pub fn is_long_enough(&self) -> bool {
        let settle = self.settle();
        self.state().scenarios.iter().all(|scene| {
            scene
                .called_at
                .is_some_and(|called| after(called, settle) <= scene.until)
        })
    }

    /// What was staged.
    pub fn testbed(&self) -> Testbed {
        let (hooks, readers) = (self.hooks(), self.output_readers());
        let state = self.state();
        Testbed {
            run: self.plan.run.clone(),
            consumer: ConsumerSpec {
                outputs: readers,
                ..self.plan.claims.clone()
            },
            addresses: self.plan.calls.addresses(),
            scenarios: state.scenarios.clone(),
            hooks,
            hook_calls: state.hook_calls.clone(),
            outputs: state.snapshots.clone(),
            ..Testbed::default()
        }
    }

    /// Ends all connections to these members.
    pub fn cut(&self, members: &[&str]) {
        for what in members {
            self.plan.calls.cut(&self.name(what));
        }
    }

    /// Lets time pass, unless the run is to stop.
    pub async fn pause(&self, duration: Duration) {
        select! {
            () = self.stop.cancelled() => {}
            () = sleep(duration) => {}
        }
    }

    /// Whether the run is to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Tells who looks on.
    pub fn warn(&self, what: &str) {
        self.context.progress.warn(what);
    }

    /// The present moment.
    pub fn now(&self) -> Timestamp {
        self.context.clock.now()
    }

    async fn pause_until(&self, moment: Timestamp) {
        let left = moment.duration_since(self.now());
        self.pause(Duration::try_from(left).unwrap_or_default()).await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// That much later.
fn after(moment: Timestamp, duration: Duration) -> Timestamp {
    let duration = SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX);
    moment.saturating_add(duration).unwrap_or(Timestamp::MAX)
}
