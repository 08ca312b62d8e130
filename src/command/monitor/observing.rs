//! The life of a monitor: connect, observe, judge, and begin again where that is needed.

use std::{convert::Infallible, sync::Arc, time::Duration};

use collect::{
    CollectError, Plan, Quiet,
    clock::Clock,
    connect::{Connection, KubeconfigOptions},
    ongoing::{self, Following},
};
use report::escape;
use tokio::{select, sync::Mutex, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{
    grants::Roles,
    judgement_loop::{End, JudgementLoop},
    observation::Observation,
    status::{AGAIN, Shared, SharedObservation},
    status_writes::StatusWrites,
    verdicts::Verdicts,
};
use crate::command::terminal::exit::Failure;

/// What a monitor does.
pub struct Settings {
    /// What to observe.
    pub plan: Plan,
    /// How far back evidence reaches.
    pub window: Duration,
    /// How to judge.
    pub verdicts: Verdicts,
}

/// Where the hub is.
pub enum Source<'a> {
    /// The user's, to which a new connection can be made.
    Kubeconfig(KubeconfigOptions),
    /// One of ours.
    Own(&'a Connection),
}

/// Observes and judges until `stop` is cancelled.
///
/// # Errors
/// When the hub cannot be found, or refuses what the monitor needs.
pub async fn run(
    settings: Settings,
    source: Source<'_>,
    shared: &Shared,
    clock: Clock,
    stop: CancellationToken,
) -> Result<(), Failure> {
    let mut life = Life {
        roles: Roles::of(&settings.plan),
        kept: (settings.verdicts, StatusWrites::default()),
        plan: settings.plan,
        window: settings.window,
        options: match &source {
            Source::Kubeconfig(options) => Some(options.clone()),
            Source::Own(_) => None,
        },
        shared,
        clock,
        is_known: false,
    };
    let mut is_known = false;
    while !stop.is_cancelled() {
        let options = match &source {
            Source::Kubeconfig(options) => options,
            Source::Own(hub) => {
                life.on(hub, &stop).await?;
                pause(&stop).await;
                continue;
            }
        };
        let connected = select! {
            biased;
            () = stop.cancelled() => break,
            connected = Connection::from_kubeconfig(options) => connected,
        };
        match connected {
            Ok(hub) => {
                is_known = true;
                let end = life.on(&hub, &stop).await?;
                if end != End::Outdated {
                    // Whatever ended it must not end it over and over.
                    pause(&stop).await;
                }
            }
            Err(error) if is_known => {
                let told = Failure::no_connection(error).in_one_line();
                life.put_off(&told, &stop).await;
            }
            Err(error) => return Err(Failure::no_connection(error)),
        }
    }
    Ok(())
}

struct Life<'a> {
    plan: Plan,
    window: Duration,
    roles: Roles,
    /// The way to the hub; none if the hub is one of ours.
    options: Option<KubeconfigOptions>,
    shared: &'a Shared,
    clock: Clock,
    /// What outlasts an observation.
    kept: (Verdicts, StatusWrites),
    /// True once the hub was observed: what goes wrong later may pass.
    is_known: bool,
}

impl Life<'_> {
    /// Observes by one connection, until it is of no use any longer.
    async fn on(&mut self, hub: &Connection, stop: &CancellationToken) -> Result<End, Failure> {
        self.shared.count_traffic(hub.meter());
        loop {
            let end = select! {
                biased;
                () = stop.cancelled() => Ok(End::Stopped),
                end = self.observe(hub, stop) => end,
            };
            self.finish(stop).await;
            match end? {
                End::Overfull => {}
                end => return Ok(end),
            }
        }
    }

    /// Ends an observation, and takes back what outlasts it.
    async fn finish(&mut self, stop: &CancellationToken) {
        let observation = self.shared.observation();
        self.shared.end();
        let Some(observation) = observation else {
            return;
        };
        select! {
            biased;
            // A page may still be rendered from it, and nothing comes after it.
            () = stop.cancelled() => {}
            mut observation = observation.lock() => self.kept = observation.take_parts(),
        }
    }

    /// Begins an observation, and judges what it shows.
    async fn observe(&mut self, hub: &Connection, stop: &CancellationToken) -> Result<End, Failure> {
        let (mut following, observation) = loop {
            let begun = ongoing::observe(hub, &self.plan, self.window, self.clock, &Quiet, stop.clone());
            let error = match Box::pin(begun).await {
                Ok((following, view)) => {
                    let (verdicts, writes) = &self.kept;
                    break (
                        following,
                        Observation::new(view, verdicts.clone(), writes.clone()),
                    );
                }
                Err(error) => self.roles.explain(error),
            };
            if !self.is_known && !may_pass(&error) {
                return Err(Failure::no_evidence(error, hub));
            }
            let is_refused = matches!(error, CollectError::Unauthorized { .. });
            let is_forbidden = matches!(
                error,
                CollectError::Forbidden { .. } | CollectError::PlacementsForbidden { .. }
            );
            let mut told = Failure::no_evidence(error, hub).in_one_line();
            if is_forbidden {
                told += &format!("; apply the role that `{}` prints", self.roles.command());
            }
            self.put_off(&told, stop).await;
            if is_refused {
                return Ok(End::Refused);
            }
            if is_outdated(self.options.as_ref(), hub) {
                return Ok(End::Outdated);
            }
        };
        self.is_known = true;
        anstream::eprintln!("note: watching {}", escape::line(&hub.source));
        let observation: SharedObservation = Arc::new(Mutex::new(observation));
        self.shared.begin(Arc::clone(&observation));
        let options = self.options.as_ref();
        let is_outdated = || is_outdated(options, hub);
        let (shared, clock, window) = (self.shared, self.clock, self.window);
        let judging = JudgementLoop::new(shared, clock, window, &is_outdated);
        select! {
            never = follow(&mut following) => match never {},
            end = judging.run(&observation) => Ok(end),
        }
    }

    /// Says what is wrong, and waits before the next attempt.
    async fn put_off(&self, why: &str, stop: &CancellationToken) {
        anstream::eprintln!(
            "warning: {}; trying again in {} s",
            escape::line(why),
            AGAIN.as_secs()
        );
        self.shared.wait(why.to_owned());
        pause(stop).await;
    }
}

/// Waits before the next attempt, unless the monitor ends.
async fn pause(stop: &CancellationToken) {
    select! {
        () = stop.cancelled() => {}
        () = sleep(AGAIN) => {}
    }
}

async fn follow(following: &mut Following) -> Infallible {
    following.follow().await
}

/// True if a new connection would differ from this one.
fn is_outdated(options: Option<&KubeconfigOptions>, hub: &Connection) -> bool {
    options.is_some_and(|options| hub.is_outdated(options))
}

/// True if somebody may mend that without changing the monitor.
fn may_pass(error: &CollectError) -> bool {
    matches!(
        error,
        CollectError::Unreachable { .. }
            | CollectError::CrdMissing { .. }
            | CollectError::PlacementsMissing { .. }
            | CollectError::Failed { .. }
    )
}
