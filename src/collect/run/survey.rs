//! Surveys a hub before a run: whether it can be reached, who the runner is and may do, and what there is to judge.
//!
//! It sends what a run sends first, and one question more: who asks. It watches nothing, reads no Secret and stores
//! nothing.

use std::time::Duration;

use evidence::{
    Evidence, Kind,
    api::{ObjectKind, names},
    redact::without_credentials,
    runs::is_of_a_run,
};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::{Run, plan::Plan};
use crate::{
    clock::Clock,
    connect::{Connection, RequestFailure, ask},
    hub::{CollectError, places},
    progress::Quiet,
    watch::asked_for_writers,
};

const WHO: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

/// What a run on the hub would begin with.
#[derive(Debug)]
pub struct Survey {
    /// The runner's user name on the hub; none if the hub does not say.
    pub user: Option<String>,
    /// What a run with the plan would ask for, and cannot have, and the profiles that it would judge.
    pub evidence: Evidence,
    /// The list of profiles.
    pub listed: Result<ListSummary, CollectError>,
}

/// What a list of profiles had besides those that a run would judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListSummary {
    /// How many a run leaves out: those of other managers than the plan's, and those of other conformance runs.
    pub left_out: usize,
    /// How many cannot be read.
    pub unreadable: usize,
    /// Whether the list ended before the time was over.
    pub is_whole: bool,
}

/// Surveys the hub for a run with that plan. `writes` says whether its driver may write to the hub. The survey takes at
/// most `limit` in all.
///
/// # Errors
/// When a run could not begin: the hub does not answer, or serves no ClusterProfiles that it could read.
pub async fn survey(
    hub: &Connection,
    plan: &Plan,
    writes: bool,
    clock: Clock,
    limit: Duration,
) -> Result<Survey, CollectError> {
    let began = Instant::now();
    let late = |_| {
        CollectError::of(
            &RequestFailure::silent("no whole answer came", limit),
            &hub.source,
            "",
        )
    };
    let preparing = async {
        let stop = CancellationToken::new();
        let run = Run::prepare(hub, plan, writes, clock, &Quiet, stop).await?;
        Ok((run, user(hub).await))
    };
    let (mut run, user) = timeout(limit, preparing).await.map_err(late)??;
    let listed = run.list(limit.saturating_sub(began.elapsed())).await;
    run.evidence.header.permissions = run.context.permissions.into_inner();
    Ok(Survey {
        user,
        evidence: run.evidence,
        listed,
    })
}

/// Asks for the runner's user name. Hubs before Kubernetes 1.28 do not report it.
async fn user(hub: &Connection) -> Option<String> {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let review: Value = ask(&hub.timed(), WHO, &review).await.ok()?;
    let name = review["status"]["userInfo"]["username"].as_str()?;
    Some(without_credentials(name).into_owned())
}

impl Run<'_> {
    async fn list(&mut self, limit: Duration) -> Result<ListSummary, CollectError> {
        let scope = &self.plan.scope;
        let kind = ObjectKind::ClusterProfile;
        let mut listed = self.watches(kind, false);
        let started = timeout(limit, listed.start(&self.patience)).await;
        let is_whole = started.is_ok() && listed.unlisted.is_none();
        if let Ok(Err(failure)) = started {
            return Err(self.list_error(kind, &failure));
        }
        if self.may_not_watch() {
            let message = "the runner may list them, but not watch them".to_owned();
            return Err(CollectError::forbidden(kind, message, &scope.namespaces));
        }
        if is_whole {
            self.check_scope(&listed, None)?;
        }
        let recorded = listed.record.lock().take();
        self.set_requested(Kind::Writers, asked_for_writers(&recorded.histories));
        let all = recorded.histories.len();
        let mut histories = recorded.histories;
        histories.retain(|history| scope.holds(history.last()) && !is_of_a_run(history.last()));
        self.evidence.profiles = histories;
        Ok(ListSummary {
            left_out: all - self.evidence.profiles.len(),
            unreadable: recorded.unreadable.len(),
            is_whole,
        })
    }

    /// Whether the hub forbids to watch profiles: it says so before it refuses.
    fn may_not_watch(&self) -> bool {
        let allows = |namespace| {
            self.context
                .permissions
                .allows("watch", names::GROUP, names::PLURAL, namespace)
        };
        let mut places = places(&self.plan.scope.namespaces).into_iter();
        !self.plan.observe.is_zero() && places.any(|namespace| allows(namespace) == Some(false))
    }
}
