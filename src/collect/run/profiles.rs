//! Collects in order: the hub, the permissions, the profiles, then the rest.

use std::time::Duration;

use evidence::{
    Asked, Driver, Evidence, Gap, Kind, ProfileHistory, Reason, Scope, Settled, Tracked, Window,
    api::{Api, PlacementDecision},
    runs::{left_out, of_other_runs},
};
use futures::{
    StreamExt as _, TryStreamExt as _,
    future::{join, join_all, ready},
    stream, try_join,
};
use jiff::{SignedDuration, Timestamp};
use tokio::{
    select,
    sync::watch,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use super::{
    header::header,
    patience::{Patience, Unfinished},
    plan::{Plan, Progress},
    scope_check,
    settle::{Left, follow},
    share::Observed,
    slices::Slices,
};
use crate::{
    clock::Clock,
    connect::{
        call::{Failure, TimedClient, retry},
        connection::Connection,
    },
    driver::{RunContext, drive},
    hub::{
        error::CollectError,
        missing::NO_NAMESPACES,
        namespaces,
        permissions::Permissions,
        secrets,
        target::{Target, target},
    },
    members::{Asking, Sources},
    watch::{
        memory_budget::Room,
        timeline::{self, Watch},
    },
};

/// Interval of progress reports.
pub(crate) const TICK: Duration = Duration::from_secs(1);
/// After how many ticks the inventory is shown to those who want to see it, and how many profiles it may have: copying
/// and judging more would keep the watch waiting.
const GLANCE: u64 = 5;
const LARGEST_GLANCE: usize = 10_000;
/// How many lists of profiles are read at a time.
pub(crate) const AT_ONCE: usize = 16;
/// How often a list beside the profiles is tried.
pub(crate) const ATTEMPTS: u32 = 3;
/// Why the Namespaces were not listed.
#[derive(Debug, thiserror::Error)]
enum NotListed {
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
    #[error(transparent)]
    Hub(#[from] Failure),
}

/// Collects what the plan asks for. When `stop` is cancelled, the run ends early with what it has seen so far. It ends
/// too where the hub does not finish its answers: beside the window, the run waits for it no longer than a list may take
/// and 20 s.
///
/// # Errors
/// When nothing can be seen of the profiles. What goes wrong later becomes a gap in the evidence.
pub async fn collect(
    hub: &Connection,
    plan: &Plan,
    clock: Clock,
    progress: &dyn Progress,
    stop: CancellationToken,
) -> Result<Evidence, CollectError> {
    let before = hub.traffic();
    let mut run = Run::prepare(hub, plan, clock, progress, stop).await?;
    run.divide().await?;
    let mut asking = Asking::new(&plan.members, &plan.scope, plan.observe, clock);
    // The parts of a run are on the heap: together they would fill the stack of a thread.
    Box::pin(run.profiles_and_members(&mut asking)).await?;
    if run.progress.wants_snapshot(true) {
        run.progress.snapshot(run.snapshot_of_window());
    }
    // What is open when the window ends goes on while the rest is read.
    let mut open = run.open();
    let after_window = Box::pin(async {
        run.secrets().await;
        run.unlabelled_secrets().await;
        Box::pin(run.consumer_access()).await;
        Box::pin(run.workloads()).await;
        run.probe().await;
        run.members(asking).await;
    });
    select! {
        biased;
        () = after_window => {}
        () = follow(open.as_mut()) => {}
    }
    let stopped = run.stopped();
    if let Some(open) = open {
        Box::pin(run.settle(open)).await;
    }
    if stopped {
        run.evidence.header.cut_short = Some("it was stopped".to_owned());
    }
    run.evidence.header.permissions = run.permissions.into_inner();
    run.evidence.header.traffic = Some(hub.traffic().since(before));
    Ok(run.evidence)
}

/// One run of one plan.
pub(crate) struct Run<'a> {
    pub(crate) hub: &'a Connection,
    pub(crate) plan: &'a Plan,
    pub(crate) clock: Clock,
    pub(crate) progress: &'a dyn Progress,
    pub(crate) stop: CancellationToken,
    pub(crate) target: Target,
    pub(crate) permissions: Permissions,
    pub(crate) evidence: Evidence,
    pub(crate) observed: Observed,
    /// Whether the profiles could not be listed at the end of the window.
    pub(crate) is_stale: bool,
    pub(crate) patience: Patience,
    /// The watches that go on after the window.
    pub(crate) left: Option<Left>,
}

impl<'a> Run<'a> {
    /// Asks the hub what it serves and allows.
    ///
    /// # Errors
    /// When it does not say, or serves nothing that can be judged.
    pub(crate) async fn prepare(
        hub: &'a Connection,
        plan: &'a Plan,
        clock: Clock,
        progress: &'a dyn Progress,
        stop: CancellationToken,
    ) -> Result<Self, CollectError> {
        progress.phase("asking the hub what it serves and allows");
        let client = hub.timed();
        let patience = Patience::new(client.request_timeout, plan.observe, stop.clone());
        let unprepared = |unfinished| match unfinished {
            Unfinished::Stopped => CollectError::Stopped,
            Unfinished::Late(_) | Unfinished::NoTime => {
                let silent = Failure::silent("no whole answer came", patience.list);
                CollectError::of(&silent, &hub.source, "")
            }
        };
        let target = target(&client, clock, &hub.source, plan);
        let target = patience.within(patience.list, target).await;
        let mut target = target.map_err(unprepared)??;
        let writes = plan.driver.as_ref().is_some_and(|driver| driver.mutations);
        let written = plan.written(writes);
        let asking = async {
            let permissions = Permissions::ask(&client, &plan.scope.namespaces, &written).await;
            target.describe(&client, &permissions).await;
            permissions
        };
        let permissions = patience.within(patience.list, asking).await;
        let permissions = permissions.map_err(unprepared)?;
        Ok(Self {
            hub,
            plan,
            clock,
            progress,
            stop,
            permissions,
            evidence: Evidence {
                header: header(hub, plan, &target),
                ..Evidence::default()
            },
            target,
            observed: Observed::of_scope(&plan.scope.namespaces),
            is_stale: false,
            patience,
            left: None,
        })
    }
}

impl Run<'_> {
    /// The client for the hub.
    pub(crate) fn client(&self) -> TimedClient {
        self.hub.timed().with_list_timeout(self.patience.list)
    }

    /// Watches the hub and asks the members, side by side.
    async fn profiles_and_members(&mut self, asking: &mut Asking) -> Result<(), CollectError> {
        let places = secrets::places(&self.permissions, &self.plan.scope.namespaces);
        let profiles = self.observed.paths(&self.target);
        let from = Sources {
            hub: &self.client(),
            profiles: &profiles,
            places: &places,
        };
        let (stop, progress) = (self.stop.clone(), self.progress);
        let (over, is_over) = watch::channel(false);
        let asked = async {
            select! {
                biased;
                () = stop.cancelled() => {}
                () = asking.run(from, is_over) => {}
            }
            Ok(())
        };
        let observed = async {
            let outcome = self.profiles_and_namespaces().await;
            if self.plan.members.are_asked() {
                progress.phase("asking members");
            }
            over.send_replace(true);
            outcome
        };
        try_join!(asked, observed).map(|_| ())
    }

    async fn profiles_and_namespaces(&mut self) -> Result<(), CollectError> {
        if !namespaces::allowed(&self.permissions, &self.plan.scope.namespaces) {
            self.asked(Kind::Namespaces, Asked::No(NO_NAMESPACES));
            return Box::pin(self.profiles()).await;
        }
        self.asked(Kind::Namespaces, Asked::Yes);
        // Listed before and after: if the hub disappears, the first list counts.
        let known = !self.plan.observe.is_zero() && self.namespaces().await.is_ok();
        Box::pin(self.profiles()).await?;
        // In a run that is cut short, the first list is enough.
        if let Err(error) = self.namespaces().await
            && !(known && self.stopped())
        {
            self.gap(Kind::Namespaces, error.to_string());
        }
        Ok(())
    }

    /// Lists the namespaces.
    async fn namespaces(&mut self) -> Result<(), NotListed> {
        let (client, scope) = (&self.client(), &self.plan.scope.namespaces);
        let listing = retry(ATTEMPTS, Failure::may_pass, || {
            namespaces::namespaces(client, &self.permissions, scope)
        });
        match self.patience.within(self.patience.list / 3, listing).await {
            Ok(Ok(found)) => {
                self.evidence.namespaces = found.namespaces;
                // Of two looks, the last one counts.
                let unreadable = &mut self.evidence.unreadable;
                unreadable.retain(|unreadable| unreadable.object.kind != "Namespace");
                unreadable.extend(found.unreadable);
                Ok(())
            }
            Ok(Err(failure)) => Err(failure.into()),
            Err(unfinished) => Err(unfinished.into()),
        }
    }

    /// Lists the profiles and, where the plan says so, watches them.
    async fn profiles(&mut self) -> Result<(), CollectError> {
        let observe = self.plan.observe;
        let record = timeline::Shared::default();
        record.lock().room = Room::of_window(observe);
        let mut watches = self.watches(&record, |namespace| self.target.profiles(namespace));
        self.progress.phase("listing profiles");
        let from = self.clock.now();
        let mut slices = Box::pin(self.slices()).await?;
        let seen_slices = slices.record.clone();
        let start = stream::iter(watches.iter_mut().map(Watch::start)).buffer_unordered(AT_ONCE);
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
        let mut watches = self.rest(watches, &record);
        let mut driver = None;
        if unlisted.is_none() && !observe.is_zero() {
            self.progress.phase("watching profiles");
            let long_enough = async {
                select! {
                    biased;
                    () = self.stop.cancelled() => {}
                    () = sleep(observe) => {}
                }
            };
            select! {
                biased;
                // Whichever takes longer. A driver that is stopped has still to undo what it did.
                ((), done) = join(long_enough, self.drive(&record, &seen_slices)) => driver = done,
                // Before the watches, which may never rest.
                () = self.ticks(&record, from) => {}
                () = watches.follow() => {}
                () = slices.follow() => {}
            }
            let ended = self.clock.now();
            let confirming = join_all(watches.followed.iter_mut().map(Watch::confirm));
            match self.patience.within(self.patience.list, confirming).await {
                Ok(confirmed) => self.is_stale = confirmed.contains(&false),
                Err(Unfinished::Stopped) => {}
                Err(late) => {
                    self.is_stale = true;
                    watches.followed.iter_mut().for_each(|watch| watch.doubt(&late));
                }
            }
            watches.followed.iter_mut().for_each(|watch| watch.finish(ended));
            Box::pin(self.confirm_slices(&mut slices, ended)).await;
            self.visit(std::mem::take(&mut watches.resting), &record).await;
        }
        let until = self.clock.now();
        let recorded = record.lock().take();
        self.evidence.header.window = Some(Window { from, until });
        let own = self.plan.driver.as_ref().map(|driver| driver.run.as_str());
        self.evidence.header.other_runs = of_other_runs(&recorded.histories, own);
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
        if let Some(shard) = self.plan.scope.shard {
            self.shared(shard);
        }
        match unlisted {
            _ if self.stopped() => self.cut_short(from, until, unlisted.is_none()),
            Some(why) => self.unlisted(&why, Window { from, until }),
            None => {}
        }
        self.driven(driver);
        self.writers();
        Ok(())
    }

    /// Refuses a scope that names what has no object.
    async fn check_scope(&self, record: &timeline::Shared, slices: &Slices) -> Result<(), CollectError> {
        let holds = |api, scope: &Scope| match api {
            Api::ClusterProfile => Some(record.lock().has(|profile| scope.holds(profile))),
            Api::Placement => Some(slices.has(scope)),
        };
        scope_check::check(&self.client(), &self.target, self.plan, holds).await
    }

    /// Runs the driver, if the plan has one.
    async fn drive(
        &self,
        record: &timeline::Shared,
        slices: &timeline::Shared<PlacementDecision>,
    ) -> Option<(Driver, bool)> {
        let context = RunContext {
            client: &self.client(),
            clock: self.clock,
            progress: self.progress,
            plan: self.plan,
            target: &self.target,
            permissions: &self.permissions,
            record: record.clone(),
            slices: slices.clone(),
        };
        let driver = self.plan.driver.as_ref()?;
        Some(Box::pin(drive(context, driver, self.stop.clone())).await)
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

    /// The watches of one kind of objects, whose collections are at `path`.
    pub(crate) fn watches<T: Tracked>(
        &self,
        record: &timeline::Shared<T>,
        path: impl Fn(Option<&str>) -> String,
    ) -> Vec<Watch<T>> {
        let watch = |namespace: Option<&str>| self.watch(namespace, record, path(namespace));
        let watches: Vec<Watch<T>> = match &self.observed {
            Observed::All => vec![watch(None)],
            Observed::Each(namespaces) => namespaces.iter().map(|name| watch(Some(name))).collect(),
        };
        self.client().toll.allow(watches.len());
        watches
    }

    pub(crate) fn watch<T: Tracked>(
        &self,
        namespace: Option<&str>,
        record: &timeline::Shared<T>,
        path: String,
    ) -> Watch<T> {
        Watch::new(
            self.client(),
            self.clock,
            record.clone(),
            path,
            namespace.map(str::to_owned),
            !self.plan.observe.is_zero(),
        )
    }

    async fn ticks(&self, record: &timeline::Shared, from: Timestamp) {
        let started = Instant::now();
        for tick in 1_u64.. {
            sleep(TICK).await;
            let (profiles, writes) = {
                let record = record.lock();
                (record.alive(), record.writes)
            };
            self.progress
                .tick(started.elapsed(), self.plan.observe, profiles, writes);
            let is_due = tick.is_multiple_of(GLANCE) && profiles <= LARGEST_GLANCE;
            if is_due && self.progress.wants_glances() {
                self.progress.glance(self.inventory(record, from));
            }
            if self.progress.wants_snapshot(false) {
                self.progress.snapshot(self.snapshot(record, from));
            }
        }
    }

    /// The inventory as it is now.
    fn inventory(&self, record: &timeline::Shared, from: Timestamp) -> Evidence {
        let mut header = self.evidence.header.clone();
        let until = self.clock.now();
        header.window = Some(Window { from, until });
        let profiles = record.lock().newest();
        Evidence {
            header,
            profiles,
            ..Evidence::default()
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
        let reason = format!(
            "the run was cut short: it was stopped after {seen} s of {} s",
            observe.as_secs()
        );
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

    pub(crate) fn asked(&mut self, kind: Kind, asked: Asked) {
        self.evidence.header.asked.insert(kind, asked);
    }

    pub(crate) fn gap(&mut self, kind: Kind, reason: impl Into<Reason>) {
        self.evidence.gaps.push(Gap::of(kind, reason));
    }

    pub(crate) fn gap_within(&mut self, kind: Kind, lost: Window, reason: impl Into<Reason>) {
        self.evidence.gaps.push(Gap {
            from: Some(lost.from),
            until: Some(lost.until),
            ..Gap::of(kind, reason)
        });
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// What comes of `work`; none where the caller ends the run before.
    pub(crate) async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        select! {
            biased;
            () = self.stop.cancelled() => None,
            outcome = work => Some(outcome),
        }
    }
}

/// Whether managedFields were seen. Without profiles, nothing speaks against it.
pub(crate) fn asked_for_writers(profiles: &[ProfileHistory]) -> Asked {
    let has_writers = |history: &ProfileHistory| history.last().metadata.writers.is_some();
    if profiles.is_empty() || profiles.iter().any(has_writers) {
        Asked::Yes
    } else {
        Asked::No("the hub showed no managedFields".into())
    }
}
