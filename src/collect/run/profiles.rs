//! The window: the profiles are listed and watched, the slices beside them, while the driver acts.

use evidence::{
    Asked, Driver, Kind, Scope, Settled, Window,
    api::{PlacementDecision, Role},
    runs::{left_out, of_other_runs},
};
use futures::{
    StreamExt as _, TryStreamExt as _,
    future::{join3, ready},
    stream,
};
use jiff::{SignedDuration, Timestamp};
use tokio::{
    select,
    time::{Instant, sleep},
};

use super::{
    scope_check,
    state::{AT_ONCE, Run, TICK},
    watches::{Left, Slices, Watches},
};
use crate::{
    connect::call::TimedClient,
    driver::{RunContext, drive},
    hub::error::CollectError,
    progress::SlicesSoFar,
    watch::{
        memory_budget::MemoryBudget,
        seen::asked_for_writers,
        timeline::{self, Watch},
    },
};

impl Run<'_> {
    /// Lists the profiles and, where the plan says so, watches them.
    pub(super) async fn profiles(&mut self) -> Result<(), CollectError> {
        let observe = self.plan.observe;
        let record = timeline::Shared::default();
        record.lock().memory = MemoryBudget::of_window(observe);
        let mut watches = Watches(self.watches(&record, |namespace| self.target.profiles(namespace)));
        self.progress.phase("listing profiles");
        let from = self.clock.now();
        let mut slices = Box::pin(self.slices()).await?;
        let seen_slices = slices.record.clone();
        let slices_so_far = self.target.placements.as_ref().map(|_| slices.so_far());
        let start = stream::iter(watches.0.iter_mut().map(Watch::start)).buffer_unordered(AT_ONCE);
        let start = start.try_for_each(|()| ready(Ok(())));
        let unlisted = match self.patience.within(self.patience.list, start).await {
            Ok(Ok(())) => None,
            // What it has shown by now is worth to be judged.
            Ok(Err(failure)) if failure.is_silence() => Some(failure.to_string()),
            Ok(Err(failure)) => {
                let scope = &self.plan.scope.namespaces;
                return Err(CollectError::of_list(&failure, &self.hub.source, scope));
            }
            Err(unfinished) => Some(unfinished.to_string()),
        };
        self.is_stale = unlisted.is_some();
        if unlisted.is_none() && !self.stopped() {
            self.check_scope(&record, &slices).await?;
        }
        let (mut driver, mut played) = (None, None);
        if unlisted.is_none() && !observe.is_zero() {
            self.progress.phase("watching profiles");
            let list = self.snapshot(&record, slices_so_far.as_ref(), from);
            self.progress.listed(list, observe);
            let long_enough = async {
                select! {
                    biased;
                    () = self.stop.cancelled() => {}
                    () = sleep(observe) => {}
                }
            };
            select! {
                biased;
                // Whichever takes longest. What is stopped has still to undo what it did.
                ((), done, seen) = join3(long_enough, self.drive(&record, &seen_slices), self.run_testbed(&record)) => {
                    (driver, played) = (done, seen);
                }
                // Before the watches, which may never rest.
                () = self.ticks(&record, slices_so_far.as_ref(), from) => {}
                () = watches.follow() => {}
                () = slices.follow() => {}
            }
            let ended = self.clock.now();
            match self.patience.at_last(self.patience.list, watches.confirm()).await {
                Ok(confirmed) => self.is_stale = !confirmed,
                Err(late) => {
                    self.is_stale = true;
                    watches.doubt(&late, ended);
                }
            }
            watches.finish(ended);
            Box::pin(self.confirm_slices(&mut slices, ended)).await;
        }
        let until = self.clock.now();
        let recorded = record.lock().take();
        self.evidence.header.window = Some(Window { from, until });
        self.evidence.header.other_runs = of_other_runs(&recorded.histories, self.plan.run_id());
        if let Some(others) = left_out(&self.evidence.header.other_runs) {
            self.progress.warn(&others);
        }
        self.evidence.profiles = recorded.histories;
        self.evidence.unreadable.extend(recorded.unreadable);
        self.evidence.gaps.extend(recorded.gaps);
        self.sliced(&slices, Window { from, until });
        if unlisted.is_none() && !observe.is_zero() {
            self.evidence.header.settled = Some(Settled::at_once(Window { from, until }));
            self.left = Some(Left {
                record,
                watches,
                slices,
            });
        }
        match unlisted {
            _ if self.stopped() => self.cut_short(from, until, unlisted.is_none()),
            Some(why) => self.unlisted(&why, Window { from, until }),
            None => {}
        }
        self.driven(driver);
        self.add_testbed(played);
        self.writers();
        Ok(())
    }

    /// Refuses a scope that names what has no object.
    async fn check_scope(&self, record: &timeline::Shared, slices: &Slices) -> Result<(), CollectError> {
        let holds = |role, scope: &Scope| match role {
            Role::Manager => Some(record.lock().has(|profile| scope.holds(profile))),
            Role::Scheduler => Some(slices.has(scope)),
            // The run makes the profiles that it reads.
            Role::Consumer => None,
        };
        scope_check::check(&self.client(), &self.target, self.plan, holds).await
    }

    /// Runs the driver, if the plan has one.
    async fn drive(
        &self,
        record: &timeline::Shared,
        slices: &timeline::Shared<PlacementDecision>,
    ) -> Option<(Driver, bool)> {
        let driver = self.plan.driver.as_ref()?;
        let client = self.client();
        let context = self.context(&client, record, slices);
        Some(Box::pin(drive(context, driver, self.stop.clone())).await)
    }

    /// What a driver or a testbed may use of this run.
    pub(super) fn context<'c>(
        &'c self,
        client: &'c TimedClient,
        record: &timeline::Shared,
        slices: &timeline::Shared<PlacementDecision>,
    ) -> RunContext<'c> {
        RunContext {
            client,
            clock: self.clock,
            progress: self.progress,
            claim: &self.plan.claim,
            scope: &self.plan.scope,
            secrets: &self.plan.secrets,
            target: &self.target,
            permissions: &self.permissions,
            touched: self.touched.clone(),
            record: record.clone(),
            slices: slices.clone(),
        }
    }

    /// Notes what the driver did, and a gap if that was not all.
    fn driven(&mut self, driven: Option<(Driver, bool)>) {
        let whole = driven.as_ref().is_some_and(|(_, whole)| *whole);
        if *self.evidence.asked(Kind::Driver) == Asked::Yes && !whole {
            let reason = "the run was stopped before the implementation had done all that it was to do";
            self.gap(Kind::Driver, reason.to_owned());
        }
        self.evidence.driver = driven.map(|(driver, _)| driver);
    }

    async fn ticks(&self, record: &timeline::Shared, slices: Option<&SlicesSoFar>, from: Timestamp) {
        let started = Instant::now();
        loop {
            sleep(TICK).await;
            let (profiles, writes) = {
                let record = record.lock();
                (record.alive(), record.writes)
            };
            self.progress
                .tick(started.elapsed(), self.plan.observe, profiles, writes);
            if self.progress.wants_snapshot(false) {
                self.progress.snapshot(self.snapshot(record, slices, from));
            }
        }
    }

    /// The hub has not finished its list of profiles, so that they were not watched.
    fn unlisted(&mut self, why: &str, window: Window) {
        let seen = self.evidence.profiles.len();
        let reason = format!("not all profiles were listed, but only {seen}: {why}");
        self.gap(Kind::Inventory, reason);
        if self.plan.observe.is_zero() {
            return;
        }
        let reason = format!("the profiles were not watched, as their list did not end: {why}");
        self.gap_within(Kind::Timeline, window, reason.clone());
        if self.target.placements.is_some() {
            // The same window: it was over before it began.
            self.gap_within(Kind::PlacementTimeline, window, reason);
        }
    }

    /// The caller has ended the run early.
    fn cut_short(&mut self, from: Timestamp, until: Timestamp, listed: bool) {
        if !listed {
            self.gap(
                Kind::Inventory,
                "the run was stopped before all profiles were listed".to_owned(),
            );
        }
        let observe = SignedDuration::try_from(self.plan.observe).unwrap_or(SignedDuration::MAX);
        let seen = until.duration_since(from).as_secs();
        // A driver may go on after the time was over.
        if seen >= observe.as_secs() {
            return;
        }
        let reason = format!("the run was cut short after {seen} s of {} s", observe.as_secs());
        let lost = Window {
            from: until,
            until: from.saturating_add(observe).unwrap_or(Timestamp::MAX).max(until),
        };
        if self.target.placements.is_some() {
            self.gap_within(Kind::PlacementTimeline, lost, reason.clone());
        }
        self.gap_within(Kind::Timeline, lost, reason);
    }

    /// Notes whether managedFields were seen.
    fn writers(&mut self) {
        self.asked(Kind::Writers, asked_for_writers(&self.evidence.profiles));
    }
}
