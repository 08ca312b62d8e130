//! Begins an observation, and follows its hub.

use std::{convert::Infallible, future::pending, time::Duration};

use evidence::{Tracked, api::PlacementDecision};
use futures::{
    StreamExt as _, TryStreamExt as _,
    future::{join_all, ready},
    stream,
};
use tokio::{select, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{namespaces::Follower, view::View};
use crate::{
    clock::Clock,
    connect::{connection::Connection, failure::Failure},
    hub::{error::CollectError, namespaces::allowed},
    progress::listener::Progress,
    run::{
        patience::Unfinished,
        plan::Plan,
        state::{AT_ONCE, Run},
    },
    watch::{
        memory_budget::MemoryBudget,
        timeline::{self, Watch},
    },
};

/// How often a list is compared with what a watch has brought: some proxies accept a watch and deliver nothing.
const CONFIRMING: Duration = Duration::from_secs(30 * 60);

/// The watches of an observation.
pub struct Following {
    profiles: Vec<Watch>,
    slices: Vec<Watch<PlacementDecision>>,
    namespaces: Option<Follower>,
}

/// Lists what the plan names, and begins to watch it. Evidence is of the last `window`. The plan's own window says how long
/// a list may take.
///
/// # Errors
/// When nothing can be seen of the profiles.
pub async fn observe(
    hub: &Connection,
    plan: &Plan,
    window: Duration,
    clock: Clock,
    progress: &dyn Progress,
    stop: CancellationToken,
) -> Result<(Following, View), CollectError> {
    let before = hub.traffic();
    let run = Run::prepare(hub, plan, clock, progress, stop).await?;
    progress.phase("listing profiles");
    let began = clock.now();
    let record = timeline::Shared::default();
    record.lock().memory = MemoryBudget::monitored(window);
    record.lock().skew = run.target.skew;
    let mut profiles = run.watches(&record, |namespace| run.target.profiles(namespace));
    let scope = &plan.scope.namespaces;
    start(&run, &mut profiles, |failure| {
        CollectError::of_list(failure, &hub.source, scope)
    })
    .await?;
    let mut slices = Vec::new();
    let mut slice_record = None;
    if let Some(target) = &run.target.placements {
        let record = timeline::Shared::default();
        record.lock().memory = MemoryBudget::monitored(window);
        slices = run.watches(&record, |namespace| target.slices(namespace));
        start(&run, &mut slices, |failure| {
            CollectError::of_slices(failure, &hub.source, scope)
        })
        .await?;
        slice_record = Some(record);
    }
    let mut namespaces =
        allowed(&run.permissions, scope).then(|| Follower::new(run.client(), run.permissions.clone(), scope));
    if let Some(follower) = &mut namespaces {
        // What cannot be listed now is tried again while the profiles are watched.
        let _ = run.patience.within(run.patience.list / 3, follower.list()).await;
    }
    let seen = namespaces.as_ref().map(Follower::seen);
    let view = View::new(run, (record, slice_record, seen), began, before, window);
    Ok((
        Following {
            profiles,
            slices,
            namespaces,
        },
        view,
    ))
}

/// Reads the first lists.
async fn start<T: Tracked>(
    run: &Run<'_>,
    watches: &mut [Watch<T>],
    error: impl Fn(&Failure) -> CollectError,
) -> Result<(), CollectError> {
    let starting = stream::iter(watches.iter_mut().map(Watch::start)).buffer_unordered(AT_ONCE);
    let starting = starting.try_for_each(|()| ready(Ok(())));
    match run.patience.within(run.patience.list, starting).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(failure)) => Err(error(&failure)),
        Err(Unfinished::Stopped) => Err(CollectError::Stopped),
        Err(Unfinished::Late(_) | Unfinished::NoTime) => {
            Err(error(&Failure::silent("no whole list came", run.patience.list)))
        }
    }
}

impl Following {
    /// Records every change, for as long as it is polled.
    pub async fn follow(&mut self) -> Infallible {
        let namespaces = async {
            match &mut self.namespaces {
                Some(follower) => follower.follow().await,
                None => pending().await,
            }
        };
        let profiles = join_all(self.profiles.iter_mut().map(keep));
        let slices = join_all(self.slices.iter_mut().map(keep));
        futures::join!(profiles, slices, namespaces).2
    }
}

/// Follows a watch, and compares it with a list now and then.
async fn keep<T: Tracked>(watch: &mut Watch<T>) -> Infallible {
    loop {
        select! {
            never = watch.follow() => match never {},
            () = sleep(CONFIRMING) => {}
        }
        watch.confirm().await;
    }
}
