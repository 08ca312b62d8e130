//! A run: the road from a plan to evidence.

pub(crate) mod context;
mod other_evidence;
pub(crate) mod plan;
mod settle;
mod snapshot;
pub(crate) mod survey;
mod window;

use std::{future::Future, time::Duration};

use evidence::{Evidence, Gap, Kind, Reason, Requested, Tracked, Traffic, Window, api::ObjectKind};
use parking_lot::Mutex;
use tokio::{
    select,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use self::{
    context::RunContext,
    plan::{Plan, header},
    settle::follow,
    window::{AllWatches, Watches},
};
use crate::{
    clock::Clock,
    connect::{Connection, RequestFailure},
    driver::Touched,
    hub::{
        CollectError, NO_CLAIM, NO_DRY_RUN, NO_NAMESPACES, NO_SECRETS, Permissions, may_read_namespaces,
        places, probe, secret_places, target,
    },
    progress::Progress,
    watch::{Watch, timeline},
};

const TICK: Duration = Duration::from_secs(1);
/// How often a list besides the profiles is tried.
const ATTEMPTS: u32 = 3;

const BESIDE_LISTS: Duration = Duration::from_secs(20);

/// How long a run that was stopped reads the hub a last time.
const LAST_LOOK: Duration = Duration::from_secs(5);

/// Collects what the plan asks for. When `stop` is cancelled, the run ends early with what it has seen so far. It ends
/// too if the hub does not finish its answers: besides the window, the run waits for it no longer than a list may take
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
    let writes = plan.testbed.is_some() || plan.driver.as_ref().is_some_and(|driver| driver.mutations);
    let mut run = Run::prepare(hub, plan, writes, clock, progress, stop).await?;
    let mut asking = run.member_poll();
    // The parts of a run are on the heap: together they would fill the stack of a thread.
    Box::pin(run.profiles_and_members(&mut asking)).await?;
    run.keep_window();
    // What is open when the window ends goes on while the rest is read.
    let mut open = run.open();
    select! {
        biased;
        () = Box::pin(run.after_window(asking)) => {}
        () = follow(open.as_mut()) => {}
    }
    let stopped = run.stopped();
    if let Some(open) = open {
        Box::pin(run.settle(open)).await;
    }
    Ok(run.finish(stopped, hub.traffic().since(before)))
}

pub(crate) struct Run<'a> {
    pub(crate) hub: &'a Connection,
    pub(crate) plan: &'a Plan,
    context: RunContext<'a>,
    pub(crate) evidence: Evidence,
    /// Whether the profiles could not be listed at the end of the window.
    is_stale: bool,
    pub(crate) patience: Patience,
    left: Option<AllWatches>,
}

impl<'a> Run<'a> {
    /// Asks the hub what it serves and allows. `writes` says whether the run may write to it.
    pub(crate) async fn prepare(
        hub: &'a Connection,
        plan: &'a Plan,
        writes: bool,
        clock: Clock,
        progress: &'a dyn Progress,
        stop: CancellationToken,
    ) -> Result<Self, CollectError> {
        progress.phase("asking the hub what it serves and allows");
        let mut client = hub.timed();
        let patience = Patience::new(client.request_timeout, plan.observe, stop.clone());
        client.list_timeout = client.list_timeout.max(patience.list);
        let unprepared = |unfinished| match unfinished {
            Unfinished::Stopped => CollectError::Stopped,
            Unfinished::Late(_) | Unfinished::NoTime => {
                let silent = RequestFailure::silent("no whole answer came", patience.list);
                CollectError::of(&silent, &hub.source, "")
            }
        };
        let version = plan.api_version.as_deref();
        let target = target(
            &client,
            clock,
            &hub.source,
            &plan.claim,
            plan.placements(),
            version,
        );
        let target = patience.within(patience.list, target).await;
        let mut target = target.map_err(unprepared)??;
        let roles = plan.written(writes);
        let asking = async {
            let permissions = Permissions::ask(&client, &plan.scope.namespaces, &roles).await;
            target.describe(&client, &permissions).await;
            permissions
        };
        let permissions = patience.within(patience.list, asking).await;
        let permissions = permissions.map_err(unprepared)?;
        let mut run = Self {
            hub,
            plan,
            evidence: Evidence {
                header: header(plan, &target),
                ..Evidence::default()
            },
            context: RunContext {
                client,
                clock,
                progress,
                claim: &plan.claim,
                scope: &plan.scope,
                secrets: &plan.secrets,
                target,
                permissions,
                touched: Touched::default(),
                stop,
            },
            is_stale: false,
            patience,
            left: None,
        };
        run.ask_for_allowed();
        Ok(run)
    }
}

impl Run<'_> {
    /// Notes which kinds of evidence the run asks for, if that depends on permissions.
    fn ask_for_allowed(&mut self) {
        let (plan, permissions) = (self.plan, &self.context.permissions);
        let scope = &plan.scope.namespaces;
        let may_read_secrets = !secret_places(permissions, scope).is_empty();
        let (secrets, no_secrets) = plan.secrets.decide(may_read_secrets, Kind::Secrets, NO_SECRETS);
        let may_probe = probe::is_allowed(permissions, scope);
        let (probe, no_probe) = plan.probe.decide(may_probe, Kind::Probe, NO_DRY_RUN);
        let namespaces = if may_read_namespaces(permissions, scope) {
            Requested::Yes
        } else {
            Requested::No(NO_NAMESPACES)
        };
        self.evidence.header.requested.extend([
            (Kind::Namespaces, namespaces),
            (Kind::Secrets, secrets),
            // Those may belong to anyone.
            (
                Kind::UnlabelledSecrets,
                plan.secrets.requested_if_explicit(NO_CLAIM),
            ),
            (Kind::Probe, probe),
        ]);
        self.evidence.gaps.extend(no_secrets.into_iter().chain(no_probe));
    }

    /// Whether the run asked for a kind of evidence, and may read it: what it may not read is a gap already.
    fn reads(&self, kind: Kind) -> bool {
        self.evidence.is_whole(kind)
    }

    /// The namespaces in which the runner may list Secrets; an empty name means all.
    fn secret_places(&self) -> Vec<String> {
        secret_places(&self.context.permissions, &self.plan.scope.namespaces)
    }

    /// The watches of one kind of objects. Without `streams` they begin with a plain list.
    fn watches<T: Tracked>(&self, kind: ObjectKind, streams: bool) -> Watches<T> {
        let record = timeline::Shared::default();
        let watch = |namespace: &str| {
            let path = self.context.target.collection(kind, namespace);
            let name = Some(namespace.to_owned()).filter(|name| !name.is_empty());
            let record = timeline::Shared::clone(&record);
            Watch::new(
                self.context.client.clone(),
                self.context.clock,
                record,
                path,
                name,
                streams,
            )
        };
        let namespaces = places(&self.plan.scope.namespaces).into_iter();
        let watches: Vec<Watch<T>> = namespaces.map(watch).collect();
        self.context.client.cost.allow(watches.len());
        Watches::new(record, watches)
    }

    fn set_requested(&mut self, kind: Kind, state: Requested) {
        self.evidence.header.requested.insert(kind, state);
    }

    fn gap(&mut self, kind: Kind, reason: impl Into<Reason>) {
        self.evidence.gaps.push(Gap::of(kind, reason));
    }

    fn gap_within(&mut self, kind: Kind, span: Window, reason: impl Into<Reason>) {
        self.evidence.gaps.push(Gap::of(kind, reason).within(span));
    }

    fn stopped(&self) -> bool {
        self.context.is_stopped()
    }

    fn finish(mut self, stopped: bool, traffic: Traffic) -> Evidence {
        if stopped {
            self.evidence.header.cut_short = Some("it was stopped".to_owned());
        }
        self.evidence.header.permissions = self.context.permissions.into_inner();
        self.evidence.header.traffic = Some(traffic);
        self.evidence
    }

    /// What comes of `work`; none where the caller ends the run before.
    async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        select! {
            biased;
            () = self.context.stop.cancelled() => None,
            outcome = work => Some(outcome),
        }
    }
}

/// The time that a run has for its hub's answers.
#[derive(Debug)]
pub(crate) struct Patience {
    /// How long one list may take.
    pub list: Duration,
    left: Mutex<Duration>,
    stop: CancellationToken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unfinished {
    #[error("the run was stopped before it was read")]
    Stopped,
    #[error("the hub did not finish its answer within {} s", .0.as_secs())]
    Late(Duration),
    #[error("no time was left: earlier answers of the hub took too long")]
    NoTime,
}

impl Patience {
    /// A list may take as long as another request, or as long as the window, if that is longer.
    pub fn new(request_timeout: Duration, observe: Duration, stop: CancellationToken) -> Self {
        let list = request_timeout.max(observe);
        Self {
            list,
            left: Mutex::new(list.saturating_add(BESIDE_LISTS)),
            stop,
        }
    }

    /// How much of the time is left.
    pub fn left(&self) -> Duration {
        *self.left.lock()
    }

    /// What comes of `work` within that time.
    pub async fn within<T>(&self, most: Duration, work: impl Future<Output = T>) -> Result<T, Unfinished> {
        self.until(self.stop.cancelled(), most, work).await
    }

    /// The outcome of a final confirmation within that time. It gets a moment although the caller ends the run.
    pub async fn at_last<T>(&self, most: Duration, work: impl Future<Output = T>) -> Result<T, Unfinished> {
        let stopped = async {
            self.stop.cancelled().await;
            sleep(LAST_LOOK).await;
        };
        self.until(stopped, most, work).await
    }

    async fn until<T>(
        &self,
        stopped: impl Future<Output = ()>,
        most: Duration,
        work: impl Future<Output = T>,
    ) -> Result<T, Unfinished> {
        let began = Instant::now();
        let limit = self.left();
        let outcome = select! {
            biased;
            () = stopped => Err(Unfinished::Stopped),
            // `timeout` polls the work, which may never rest, before its own timer.
            outcome = timeout(most.min(limit), work) => {
                outcome.map_err(|_| if limit < most { Unfinished::NoTime } else { Unfinished::Late(most) })
            }
        };
        let mut remaining = self.left.lock();
        *remaining = remaining.saturating_sub(began.elapsed());
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn all_waits_together_are_bounded() {
        let seconds = Duration::from_secs;
        let stop = CancellationToken::new();
        let patience = Patience::new(seconds(30), seconds(4), stop.clone());
        let began = Instant::now();
        let late = patience.within(seconds(30), pending::<()>()).await;
        assert_eq!(late, Err(Unfinished::Late(seconds(30))));
        assert_eq!(patience.within(seconds(30), async { 1 }).await, Ok(1));
        for _ in 0..3 {
            let late = patience.within(seconds(30), pending::<()>()).await;
            assert_eq!(late, Err(Unfinished::NoTime));
        }
        assert_eq!(began.elapsed(), seconds(50));
        assert_eq!(
            patience.within(seconds(30), async { 1 }).await,
            Ok(1),
            "what is quick is had"
        );
        stop.cancel();
        let stopped = patience.within(seconds(30), pending::<()>()).await;
        assert_eq!(stopped, Err(Unfinished::Stopped));
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_that_is_stopped_lists_once_more_at_the_end() {
        let stop = CancellationToken::new();
        let patience = Patience::new(Duration::from_secs(30), Duration::ZERO, stop.clone());
        stop.cancel();
        let began = Instant::now();
        assert_eq!(patience.at_last(patience.list, async { 1 }).await, Ok(1));
        assert_eq!(began.elapsed(), Duration::ZERO);
        let stopped = patience.at_last(patience.list, pending::<()>()).await;
        assert_eq!(stopped, Err(Unfinished::Stopped));
        assert_eq!(began.elapsed(), LAST_LOOK);
    }

    #[test]
    fn a_long_window_allows_long_lists() {
        let seconds = Duration::from_secs;
        let patience = |timeout, observe| Patience::new(timeout, observe, CancellationToken::new()).list;
        assert_eq!(patience(seconds(30), seconds(300)), seconds(300));
        assert_eq!(patience(seconds(600), seconds(4)), seconds(600));
        assert_eq!(patience(Duration::MAX, seconds(4)), Duration::MAX);
    }
}
