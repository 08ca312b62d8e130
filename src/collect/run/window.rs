//! The window: the profiles are listed and watched, the slices next to them, while the driver or the testbed acts.

use std::{fmt::Display, future::pending, time::Duration};

use evidence::{
    Driver, Evidence, Kind, Requested, Scope, Settled, Tracked, Window,
    api::{ClusterProfile, ObjectKind, PlacementDecision, Role},
    runs::{of_other_runs, other_runs_note},
};
use futures::{
    StreamExt as _, TryStreamExt as _,
    future::{join, join_all, join3, ready},
    stream,
};
use jiff::Timestamp;
use tokio::{
    select,
    time::{Instant, sleep},
};

use super::{Patience, Run, TICK, snapshot::Watched};
use crate::{
    clock::later,
    connect::RequestFailure,
    driver::drive,
    hub::CollectError,
    testbed::run_testbed,
    watch::{Watch, add_watched, gap, timeline},
};

const AT_ONCE: usize = 16;

/// The watches of objects of one kind, and what they have brought. By default none.
pub(crate) struct Watches<T: Tracked = ClusterProfile> {
    pub record: timeline::Shared<T>,
    /// Why not all objects were listed; then they are not watched.
    pub unlisted: Option<String>,
    watches: Vec<Watch<T>>,
}

impl<T: Tracked> Default for Watches<T> {
    fn default() -> Self {
        Self::new(timeline::Shared::default(), Vec::new())
    }
}

impl<T: Tracked> Watches<T> {
    pub fn new(record: timeline::Shared<T>, watches: Vec<Watch<T>>) -> Self {
        Self {
            record,
            unlisted: None,
            watches,
        }
    }

    /// Lists the objects for the first time. What a list without an end has shown is worth to be judged.
    pub async fn start(&mut self, patience: &Patience) -> Result<(), RequestFailure> {
        let start = stream::iter(self.watches.iter_mut().map(Watch::start)).buffer_unordered(AT_ONCE);
        let start = start.try_for_each(|()| ready(Ok(())));
        match patience.within(patience.list, start).await {
            Ok(Ok(())) => {}
            Ok(Err(failure)) if failure.is_silence() => self.unlisted = Some(failure.to_string()),
            Ok(Err(failure)) => return Err(failure),
            Err(unfinished) => self.unlisted = Some(unfinished.to_string()),
        }
        Ok(())
    }

    /// Whether the objects of a namespace are watched.
    pub fn hold(&self, namespace: &str) -> bool {
        let mut watched = self.watches.iter().map(Watch::namespace);
        watched.any(|watched| watched.is_none_or(|name| name == namespace))
    }

    pub async fn follow(&mut self) {
        if self.watches.is_empty() || self.unlisted.is_some() {
            // Nothing can change, but the window has its length.
            pending::<()>().await;
        }
        join_all(self.watches.iter_mut().map(Watch::follow)).await;
    }

    /// Compares lists with what the watches have brought. Returns whether all are confirmed.
    pub async fn confirm(&mut self) -> bool {
        let confirmed = join_all(self.watches.iter_mut().map(Watch::confirm)).await;
        !confirmed.contains(&false)
    }

    /// Confirms and ends the watches when the window has ended. Returns whether all are confirmed; an unconfirmed one leaves a
    /// gap.
    pub async fn end_window(&mut self, patience: &Patience, ended: Timestamp) -> bool {
        let mut is_confirmed = false;
        if self.unlisted.is_none() {
            match patience.at_last(patience.list, self.confirm()).await {
                Ok(confirmed) => is_confirmed = confirmed,
                Err(late) => self.doubt(&late, ended),
            }
        }
        self.finish(ended);
        is_confirmed
    }

    /// Notes that no list has confirmed the watches since the window ended, which leaves a gap until now.
    fn doubt(&mut self, why: &dyn Display, ended: Timestamp) {
        self.watches.iter_mut().for_each(|watch| watch.doubt(why));
        // They share a record.
        if let Some(watch) = self.watches.first() {
            watch.lose_since(ended, why);
        }
    }

    /// Notes that no list has confirmed the watches after the window.
    pub fn doubt_later(&self, now: Timestamp) {
        let reason = "no list confirmed what the watch saw after the window";
        let known_until = self.watches.iter().map(Watch::known_until).min();
        let missed = known_until.map(|known_until| gap::<T>(known_until, now, reason));
        self.record.lock().gaps.extend(missed);
    }

    /// Ends the watches: later changes do not count.
    pub fn finish(&mut self, ended: Timestamp) {
        self.watches.iter_mut().for_each(|watch| watch.finish(ended));
    }
}

pub(super) struct AllWatches {
    pub profiles: Watches,
    pub slices: Watches<PlacementDecision>,
}

impl AllWatches {
    pub async fn follow(&mut self) {
        join(self.profiles.follow(), self.slices.follow()).await;
    }
}

impl Run<'_> {
    /// Lists the profiles and, if the plan says so, watches them.
    pub(super) async fn profiles(&mut self) -> Result<(), CollectError> {
        let observe = self.plan.observe;
        self.context.progress.phase("listing profiles");
        let from = self.context.clock.now();
        let slices = Box::pin(self.slices()).await?;
        let streams = !observe.is_zero();
        let mut profiles = self.watches(ObjectKind::ClusterProfile, streams);
        let started = profiles.start(&self.patience).await;
        started.map_err(|failure| self.list_error(ObjectKind::ClusterProfile, &failure))?;
        let unlisted = profiles.unlisted.clone();
        let record = profiles.record.clone();
        self.is_stale = unlisted.is_some();
        if unlisted.is_none() && !self.stopped() {
            self.check_scope(&profiles, Some(&slices))?;
        }
        let mut watches = AllWatches { profiles, slices };
        let (mut driver, mut played) = (None, None);
        if unlisted.is_none() && !observe.is_zero() {
            self.context.progress.phase("watching profiles");
            let watched = Watched {
                from,
                profiles: record.clone(),
                slices: watches.slices.record.clone(),
                unlisted_slices: watches.slices.unlisted.clone(),
            };
            self.context.progress.listed(self.first_list(&watched), observe);
            select! {
                biased;
                // Waits for all three: a stopped driver still has to undo what it did.
                ((), done, seen) = join3(self.context.pause(observe), self.drive(&watched), self.run_testbed()) => {
                    (driver, played) = (done, seen);
                }
                // Before the watches, which may never rest.
                () = self.ticks(&watched) => {}
                () = watches.follow() => {}
            }
            let ended = self.context.clock.now();
            self.is_stale = !watches.profiles.end_window(&self.patience, ended).await;
            Box::pin(watches.slices.end_window(&self.patience, ended)).await;
        }
        let until = self.context.clock.now();
        let window = Window { from, until };
        let recorded = record.lock().take();
        self.evidence.header.other_runs = of_other_runs(&recorded.histories, self.plan.run_id());
        if let Some(note) = other_runs_note(&self.evidence.header.other_runs) {
            self.context.progress.warn(&note);
        }
        let slices = &watches.slices;
        let has_slices = self.context.target.has_placements();
        let recorded_slices = has_slices.then(|| (slices.record.lock().take(), slices.unlisted.as_deref()));
        add_watched(&mut self.evidence, recorded, recorded_slices, window);
        if unlisted.is_none() && !observe.is_zero() {
            self.evidence.header.settled = Some(Settled::at_once(window));
            self.left = Some(watches);
        }
        match unlisted {
            _ if self.stopped() => self.cut_short(from, until, unlisted.is_none()),
            Some(why) => self.unlisted(&why, window),
            None => {}
        }
        self.driven(driver);
        self.add_testbed(played);
        Ok(())
    }

    pub(super) fn list_error(&self, kind: ObjectKind, failure: &RequestFailure) -> CollectError {
        CollectError::of_list(kind, failure, &self.hub.source, &self.plan.scope.namespaces)
    }

    async fn slices(&self) -> Result<Watches<PlacementDecision>, CollectError> {
        if !self.context.target.has_placements() {
            return Ok(Watches::default());
        }
        self.context.progress.phase("listing placement decisions");
        let streams = !self.plan.observe.is_zero();
        let mut slices = self.watches(ObjectKind::PlacementDecision, streams);
        let started = slices.start(&self.patience).await;
        started.map_err(|failure| self.list_error(ObjectKind::PlacementDecision, &failure))?;
        Ok(slices)
    }

    /// Refuses a hub without any profile, and a scope that names a manager, a scheduler or a namespace without objects: the name may be misspelt. Objects
    /// of one role are enough for a namespace. A role whose objects were not listed is not checked.
    pub(super) fn check_scope(
        &self,
        profiles: &Watches,
        slices: Option<&Watches<PlacementDecision>>,
    ) -> Result<(), CollectError> {
        let scope = &self.plan.scope;
        if self.plan.wait {
            return Ok(());
        }
        let lacks = |role: Role, scope: &Scope| match role {
            Role::Manager => !profiles.record.lock().has(|profile| scope.holds(profile)),
            Role::Scheduler => slices.is_some_and(|slices| {
                let has_slice = || slices.record.lock().has(|slice| scope.holds_slice(slice));
                slices.unlisted.is_none() && !has_slice()
            }),
            // The run makes the profiles that it reads.
            Role::Consumer => false,
        };
        let is_served = |role: &Role| *role != Role::Scheduler || self.context.target.has_placements();
        let roles: Vec<Role> = self.plan.claim.roles().filter(is_served).collect();
        for role in &roles {
            if scope.publisher(*role).is_some() && lacks(*role, scope) {
                return Err(CollectError::nothing_in_scope(*role, scope));
            }
        }
        let is_empty = || profiles.record.lock().is_empty() && scope.namespaces.is_empty();
        let expects_profiles = self.plan.claim.expected_profiles.is_some();
        if roles == [Role::Manager] && !expects_profiles && is_empty() {
            return Err(CollectError::NoProfiles);
        }
        let within = |namespaces: Vec<String>| Scope {
            namespaces,
            ..scope.clone()
        };
        let mut empty = scope.namespaces.clone();
        empty.retain(|namespace| {
            let namespace = within(vec![namespace.clone()]);
            roles.iter().all(|role| lacks(*role, &namespace))
        });
        match roles.first() {
            Some(role) if !empty.is_empty() => Err(CollectError::nothing_in_scope(*role, &within(empty))),
            _ => Ok(()),
        }
    }

    async fn drive(&self, watched: &Watched) -> Option<(Driver, bool)> {
        let driver = self.plan.driver.as_ref()?;
        Some(Box::pin(drive(&self.context, driver, &watched.profiles, &watched.slices)).await)
    }

    /// Notes what the driver did, and a gap if that was not all.
    fn driven(&mut self, driven: Option<(Driver, bool)>) {
        let whole = driven.as_ref().is_some_and(|(_, whole)| *whole);
        if *self.evidence.requested(Kind::Driver) == Requested::Yes && !whole {
            let reason = "the run was stopped before the implementation had done all that it was to do";
            self.gap(Kind::Driver, reason.to_owned());
        }
        self.evidence.driver = driven.map(|(driver, _)| driver);
    }

    async fn ticks(&self, watched: &Watched) {
        let started = Instant::now();
        loop {
            sleep(TICK).await;
            let (profiles, writes) = {
                let record = watched.profiles.lock();
                (record.alive(), record.writes)
            };
            self.context
                .progress
                .tick(started.elapsed(), self.plan.observe, profiles, writes);
            if self.context.progress.wants_snapshot(false) {
                self.context.progress.snapshot(self.copy(watched));
            }
        }
    }

    /// The hub has not finished its list of profiles, so that they were not watched.
    fn unlisted(&mut self, why: &str, window: Window) {
        let count = self.evidence.profiles.len();
        let reason = format!("not all profiles were listed, but only {count}: {why}");
        self.gap(Kind::Inventory, reason);
        if self.plan.observe.is_zero() {
            return;
        }
        let reason = format!("the profiles were not watched, as their list did not end: {why}");
        self.lose_timelines(window, reason);
    }

    fn lose_timelines(&mut self, span: Window, reason: String) {
        if self.context.target.has_placements() {
            self.gap_within(Kind::PlacementTimeline, span, reason.clone());
        }
        self.gap_within(Kind::Timeline, span, reason);
    }

    fn cut_short(&mut self, from: Timestamp, until: Timestamp, listed: bool) {
        if !listed {
            self.gap(
                Kind::Inventory,
                "the run was stopped before all profiles were listed".to_owned(),
            );
        }
        let (elapsed, observe) = (until.duration_since(from), self.plan.observe);
        // A driver may go on after the time was over.
        if Duration::try_from(elapsed).is_ok_and(|elapsed| elapsed.as_secs() >= observe.as_secs()) {
            return;
        }
        let (elapsed, planned) = (elapsed.as_secs(), observe.as_secs());
        let reason = format!("the run was cut short after {elapsed} s of {planned} s");
        let missed = Window {
            from: until,
            until: later(from, observe).max(until),
        };
        self.lose_timelines(missed, reason);
    }

    async fn run_testbed(&self) -> Option<Evidence> {
        let plan = self.plan.testbed.as_ref()?;
        Some(Box::pin(run_testbed(&self.context, plan)).await)
    }

    /// Adds what the testbed recorded to the evidence, with a gap for what is missing.
    fn add_testbed(&mut self, recorded: Option<Evidence>) {
        if self.plan.testbed.is_none() {
            return;
        }
        let Some(mut recorded) = recorded else {
            self.gap(
                Kind::Testbed,
                "the profiles could not be watched, so the run published nothing",
            );
            return;
        };
        self.evidence.gaps.append(&mut recorded.gaps);
        self.evidence.mentions = recorded.mentions;
        self.evidence.testbed = recorded.testbed;
        self.evidence.member_calls = recorded.member_calls;
        self.evidence.plugin_calls = recorded.plugin_calls;
    }
}
