//! What the steps of a run share.

use std::time::Duration;

use evidence::{Asked, Evidence, Gap, Kind, Reason, Tracked, Traffic, Window, api::PlacementDecision};
use tokio::select;
use tokio_util::sync::CancellationToken;

use super::{
    patience::{Patience, Unfinished},
    plan::{Plan, header},
    watches::{Watches, watched_namespaces},
};
use crate::{
    clock::Clock,
    connect::{call::TimedClient, connection::Connection, failure::Failure},
    driver::Touched,
    hub::{
        error::CollectError,
        missing::NO_NAMESPACES,
        namespaces,
        permissions::Permissions,
        probe, secrets,
        target::{Target, target},
    },
    progress::Progress,
    watch::timeline::{self, Watch},
};

/// Interval of progress reports.
pub(super) const TICK: Duration = Duration::from_secs(1);
/// How often a list besides the profiles is tried.
pub(super) const ATTEMPTS: u32 = 3;

/// One run of one plan.
pub(crate) struct Run<'a> {
    pub(crate) hub: &'a Connection,
    pub(crate) plan: &'a Plan,
    pub(crate) clock: Clock,
    pub(super) progress: &'a dyn Progress,
    pub(super) stop: CancellationToken,
    pub(crate) target: Target,
    pub(crate) permissions: Permissions,
    pub(crate) evidence: Evidence,
    /// What the run has written to.
    pub(super) touched: Touched,
    /// Whether the profiles could not be listed at the end of the window.
    pub(super) is_stale: bool,
    pub(crate) patience: Patience,
    /// The watches that go on after the window.
    pub(super) left: Option<(Watches, Watches<PlacementDecision>)>,
}

impl<'a> Run<'a> {
    /// Asks the hub what it serves and allows. `writes` says whether the run may write to it.
    ///
    /// # Errors
    /// When it does not say, or serves nothing that can be judged.
    pub(crate) async fn prepare(
        hub: &'a Connection,
        plan: &'a Plan,
        writes: bool,
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
        let written = plan.written(writes);
        let asking = async {
            let permissions = Permissions::ask(&client, &plan.scope.namespaces, &written).await;
            target.describe(&client, &permissions).await;
            permissions
        };
        let permissions = patience.within(patience.list, asking).await;
        let permissions = permissions.map_err(unprepared)?;
        let mut run = Self {
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
            touched: Touched::default(),
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
        let (plan, permissions) = (self.plan, &self.permissions);
        let scope = &plan.scope.namespaces;
        let (secrets, no_secrets) = secrets::asked(&plan.secrets, permissions, scope);
        let (probe, no_probe) = probe::asked(&plan.probe, permissions, scope);
        let namespaces = if namespaces::allowed(permissions, scope) {
            Asked::Yes
        } else {
            Asked::No(NO_NAMESPACES)
        };
        self.evidence.header.asked.extend([
            (Kind::Namespaces, namespaces),
            (Kind::Secrets, secrets),
            (Kind::UnlabelledSecrets, secrets::unlabelled_asked(&plan.secrets)),
            (Kind::Probe, probe),
        ]);
        self.evidence.gaps.extend(no_secrets.into_iter().chain(no_probe));
    }

    /// Whether the run asked for a kind of evidence, and may read it: what it may not read is a gap already.
    pub(super) fn reads(&self, kind: Kind) -> bool {
        self.evidence.is_whole(kind)
    }

    /// The namespaces whose Secrets the runner may list; an empty name stands for all.
    pub(super) fn secret_places(&self) -> Vec<String> {
        secrets::places(&self.permissions, &self.plan.scope.namespaces)
    }

    /// The client for the hub.
    pub(crate) fn client(&self) -> TimedClient {
        self.hub.timed().with_list_timeout(self.patience.list)
    }

    /// The watches of one kind of objects, whose collections are at `path`. Without `streams` they begin with a plain list.
    pub(super) fn watches<T: Tracked>(
        &self,
        streams: bool,
        path: impl Fn(Option<&str>) -> String,
    ) -> Watches<T> {
        let record = timeline::Shared::default();
        let watch = |namespace: Option<&str>| {
            let name = namespace.map(str::to_owned);
            let record = timeline::Shared::clone(&record);
            Watch::new(self.client(), self.clock, record, path(namespace), name, streams)
        };
        let namespaces = watched_namespaces(&self.plan.scope).into_iter();
        let watches: Vec<Watch<T>> = namespaces.map(watch).collect();
        self.client().cost.allow(watches.len());
        Watches::new(record, watches)
    }

    pub(super) fn asked(&mut self, kind: Kind, asked: Asked) {
        self.evidence.header.asked.insert(kind, asked);
    }

    pub(super) fn gap(&mut self, kind: Kind, reason: impl Into<Reason>) {
        self.evidence.gaps.push(Gap::of(kind, reason));
    }

    pub(super) fn gap_within(&mut self, kind: Kind, lost: Window, reason: impl Into<Reason>) {
        self.evidence.gaps.push(Gap::of(kind, reason).within(lost));
    }

    pub(super) fn stopped(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// The evidence, when there is nothing more to read.
    pub(super) fn finish(mut self, stopped: bool, traffic: Traffic) -> Evidence {
        if stopped {
            self.evidence.header.cut_short = Some("it was stopped".to_owned());
        }
        self.evidence.header.permissions = self.permissions.into_inner();
        self.evidence.header.traffic = Some(traffic);
        self.evidence
    }

    /// What comes of `work`; none where the caller ends the run before.
    pub(super) async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        select! {
            biased;
            () = self.stop.cancelled() => None,
            outcome = work => Some(outcome),
        }
    }
}
