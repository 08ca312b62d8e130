//! The life of a monitor: lead, observe, judge, and begin anew where that is needed.

use std::{convert::Infallible, sync::Arc, time::Duration};

use collect::{
    CollectError, Plan, Quiet,
    clock::Clock,
    connect::{Connection, KubeconfigOptions},
    hub_events::EventWriter,
    lease::{Candidate, LeaseName},
    ongoing::{self, Following},
};
use report::escape;
use tokio::{
    select,
    sync::{Mutex, watch},
    task::spawn_blocking,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    bench::{Bench, StatusWrites},
    events::{self, Findings, Teller},
    leading::{self, Waited},
    status::{AGAIN, Leading, Shared, SharedBench},
    verdicts::Verdicts,
};
use crate::command::Failure;

/// How often the monitor looks for something to judge.
const TICK: Duration = Duration::from_secs(1);
/// How often everything is judged, and the window follows.
const WHOLE: Duration = Duration::from_secs(60);
/// Judging takes at most one part in so many of the time.
const SHARE: u32 = 4;
/// How long credentials may be refused before they are read anew.
const REFUSED: Duration = Duration::from_secs(30);
/// How long giving a Lease back may take.
const RELEASE: Duration = Duration::from_secs(2);

/// What a monitor does.
pub struct Settings {
    /// What to observe.
    pub plan: Plan,
    /// How far back evidence reaches.
    pub window: Duration,
    /// The Lease to lead by.
    pub lease: Option<LeaseName>,
    /// Whether to write Events.
    pub events: bool,
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

/// Why an observation is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The hub refuses the credentials.
    Refused,
    /// Another replica leads, or the hub has sent more than there is room for.
    Anew,
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
        kept: (settings.verdicts, StatusWrites::default()),
        plan: settings.plan,
        window: settings.window,
        shared,
        clock,
        teller: None,
        is_known: false,
    };
    let options = match source {
        Source::Own(hub) => {
            while !stop.is_cancelled() {
                life.on(hub, settings.lease.clone(), settings.events, &stop)
                    .await?;
                pause(&stop).await;
            }
            return Ok(());
        }
        Source::Kubeconfig(options) => options,
    };
    let mut is_known = false;
    while !stop.is_cancelled() {
        let connected = select! {
            biased;
            () = stop.cancelled() => break,
            connected = Connection::from_kubeconfig(&options) => connected,
        };
        match connected {
            Ok(hub) => {
                is_known = true;
                life.on(&hub, settings.lease.clone(), settings.events, &stop)
                    .await?;
                // Whatever ended it must not end it over and over.
                pause(&stop).await;
            }
            Err(error) if is_known => {
                let told = Failure::unreachable(error).in_one_line();
                life.put_off(&told, &stop).await;
            }
            Err(error) => return Err(Failure::unreachable(error)),
        }
    }
    Ok(())
}

struct Life<'a> {
    plan: Plan,
    window: Duration,
    shared: &'a Shared,
    clock: Clock,
    /// What outlasts an observation.
    kept: (Verdicts, StatusWrites),
    teller: Option<Teller>,
    /// True once the hub was observed: what goes wrong later may pass.
    is_known: bool,
}

impl Life<'_> {
    /// Leads and observes by one connection, until the hub no longer accepts its credentials.
    async fn on(
        &mut self,
        hub: &Connection,
        lease: Option<LeaseName>,
        events: bool,
        stop: &CancellationToken,
    ) -> Result<(), Failure> {
        let identity = leading::identity();
        if events && self.teller.is_none() {
            self.teller = Some(Teller::new(EventWriter::new(hub, self.clock, &identity)));
        }
        let mut candidate = lease.map(|lease| Candidate::new(hub, self.clock, lease, identity));
        let outcome = loop {
            if let Some(candidate) = &mut candidate {
                select! {
                    biased;
                    () = stop.cancelled() => break Ok(()),
                    waited = leading::wait(candidate, self.shared) => match waited {
                        Ok(Waited::Leads) => {}
                        Ok(Waited::Unanswered) => break Ok(()),
                        Err(failure) => break Err(failure),
                    },
                }
                anstream::eprintln!("note: this replica leads");
            }
            let led = async {
                match &mut candidate {
                    Some(candidate) => leading::keep(candidate).await,
                    None => std::future::pending().await,
                }
            };
            let ended = select! {
                biased;
                () = stop.cancelled() => None,
                () = led => {
                    anstream::eprintln!("warning: this replica leads no longer");
                    self.shared.lead(Leading::Follows(None));
                    Some(Ok(End::Anew))
                }
                ended = self.observe(hub, stop) => Some(ended),
            };
            self.finish().await;
            match ended {
                None | Some(Ok(End::Refused)) => break Ok(()),
                Some(Ok(End::Anew)) => {}
                Some(Err(failure)) => break Err(failure),
            }
        };
        if let Some(candidate) = &mut candidate {
            // The process must end in time, whether the hub answers or not.
            let _ = timeout(RELEASE, candidate.release()).await;
        }
        outcome
    }

    /// Takes back what outlasts an observation.
    async fn finish(&mut self) {
        let bench = self.shared.bench();
        self.shared.end();
        if let Some(bench) = bench {
            // A page may still be rendered from it.
            let mut bench = bench.lock().await;
            self.kept = bench.take_parts();
        }
    }

    /// Begins an observation, and judges what it shows.
    async fn observe(&mut self, hub: &Connection, stop: &CancellationToken) -> Result<End, Failure> {
        let (mut following, bench) = loop {
            let begun = ongoing::observe(hub, &self.plan, self.window, self.clock, &Quiet, stop.clone());
            match Box::pin(begun).await {
                Ok((following, view)) => {
                    let (verdicts, writes) = &self.kept;
                    break (following, Bench::new(view, verdicts.anew(), writes.clone()));
                }
                Err(CollectError::Unauthorized { .. }) if self.is_known => {
                    self.put_off("the hub does not accept the credentials", stop)
                        .await;
                    return Ok(End::Refused);
                }
                Err(error) if self.is_known || may_pass(&error) => {
                    let told = Failure::nothing_seen(error).in_one_line();
                    self.put_off(&told, stop).await;
                }
                Err(error) => return Err(Failure::nothing_seen(error)),
            }
        };
        self.is_known = true;
        anstream::eprintln!("note: watching {}", escape::line(&hub.source));
        let bench: SharedBench = Arc::new(Mutex::new(bench));
        self.shared.begin(Arc::clone(&bench));
        let (told, mut findings) = watch::channel(Findings::default());
        let (shared, clock, window) = (self.shared, self.clock, self.window);
        let telling = async {
            match &mut self.teller {
                Some(teller) => teller.follow(&mut findings, shared).await,
                None => std::future::pending().await,
            }
        };
        let judging = judge(&bench, shared, clock, window, &told);
        select! {
            never = follow(&mut following) => match never {},
            end = judging => Ok(end),
            () = telling => Ok(End::Anew),
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

/// Judges what changes, and everything once a minute, for as long as the observation is of use.
async fn judge(
    bench: &SharedBench,
    shared: &Shared,
    clock: Clock,
    window: Duration,
    told: &watch::Sender<Findings>,
) -> End {
    let began = Instant::now();
    let (mut next, mut next_whole) = (began, began);
    let mut refused: Option<Instant> = None;
    let mut decision = None;
    let mut lost = false;
    loop {
        let mut guard = Arc::clone(bench).lock_owned().await;
        let now = Instant::now();
        let measured = guard.measure();
        if measured.health.unauthorized {
            let since = *refused.get_or_insert(now);
            if now - since >= REFUSED {
                return End::Refused;
            }
        } else {
            refused = None;
        }
        if measured.health.overfull && began.elapsed() >= window {
            return End::Anew;
        }
        tell_of_the_watch(&mut lost, measured.health.lost.as_deref());
        shared.measure(measured);
        let whole = now >= next_whole;
        if whole || (now >= next && guard.is_behind()) {
            let at = clock.now();
            let judging = spawn_blocking(move || {
                let judged = guard.judge(at, whole);
                (judged, guard)
            });
            let Ok((judged, guard)) = judging.await else {
                // It can only have been cancelled, as the runtime ends.
                return End::Refused;
            };
            if let Some(judgement) = guard.judgement() {
                if decision.replace(judgement.decision) != Some(judgement.decision) {
                    anstream::eprintln!("note: {}", judgement.decision.name());
                }
                if !told.is_closed() {
                    let findings = events::findings(judgement, &guard.api_version());
                    told.send_if_modified(|known| {
                        let is_new = **known != findings;
                        *known = Arc::new(findings);
                        is_new
                    });
                }
            }
            let ended = Instant::now();
            if judged.whole {
                // What changes is not kept waiting for what is done once a minute.
                next = ended;
                next_whole = ended + WHOLE.max(judged.took * SHARE);
            } else {
                next = ended + TICK.max(judged.took * SHARE);
            }
            shared.take(judged);
        }
        sleep(TICK).await;
    }
}

fn tell_of_the_watch(lost: &mut bool, why: Option<&str>) {
    match why {
        Some(why) if !*lost => {
            anstream::eprintln!("warning: the watch is interrupted: {}", escape::line(why));
        }
        None if *lost => anstream::eprintln!("note: the watch goes on"),
        _ => {}
    }
    *lost = why.is_some();
}
