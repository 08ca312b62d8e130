//! Judges again when something changed, and once a minute, for as long as the observation is of use.

use std::{sync::Arc, time::Duration};

use collect::clock::Clock;
use judge::Decision;
use report::escape;
use tokio::{
    sync::OwnedMutexGuard,
    task::spawn_blocking,
    time::{Instant, sleep},
};

use super::{
    observation::{Measured, Observation, Pass},
    status::{SILENT, Shared, SharedObservation},
};

/// How often the monitor looks for something to judge.
const TICK: Duration = Duration::from_secs(1);
/// How long changes are gathered before they are judged.
const GATHER: Duration = Duration::from_secs(5);
/// How often the window follows, and a hub without changes is judged.
const WHOLE: Duration = Duration::from_secs(60);
/// Between two judgements is at least so many times what one takes.
const PAUSE: u32 = 5;
/// How long credentials may be refused, or a version not be served, before the monitor connects again.
const REFUSED: Duration = Duration::from_secs(30);
/// How often to look whether the kubeconfig leads elsewhere, while the watch is interrupted.
const LOOK: Duration = Duration::from_secs(5);
/// Why an observation is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The hub refuses the credentials, no longer serves the version that is read, or judging came to no end.
    Refused,
    /// The kubeconfig leads elsewhere: to another address, or by another certificate authority or other credentials.
    Outdated,
    /// The monitor is to end.
    Stopped,
    /// The hub has sent more than there is room for.
    Overfull,
}

/// Judges one observation, for as long as it is of use.
pub struct JudgementLoop<'a> {
    shared: &'a Shared,
    clock: Clock,
    window: Duration,
    is_outdated: &'a dyn Fn() -> bool,
    began: Instant,
    /// When a change is judged next, and when the window follows.
    next: Instant,
    next_whole: Instant,
    /// Since when the hub refuses the credentials, or does not serve the version.
    refused: Option<Instant>,
    /// When to look again whether the kubeconfig leads elsewhere.
    look: Instant,
    decision: Option<Decision>,
    is_lost: bool,
}

impl<'a> JudgementLoop<'a> {
    /// `is_outdated` tells whether a new connection would differ from the one in use.
    pub fn new(
        shared: &'a Shared,
        clock: Clock,
        window: Duration,
        is_outdated: &'a dyn Fn() -> bool,
    ) -> Self {
        let began = Instant::now();
        Self {
            shared,
            clock,
            window,
            is_outdated,
            began,
            next: began,
            next_whole: began,
            refused: None,
            look: began,
            decision: None,
            is_lost: false,
        }
    }

    /// Judges until the observation is of no use any longer.
    pub async fn run(mut self, observation: &SharedObservation) -> End {
        loop {
            let mut guard = Arc::clone(observation).lock_owned().await;
            let measured = guard.measure();
            if let Some(end) = self.end(&measured) {
                return end;
            }
            self.tell_of_the_watch(measured.health.lost.as_deref());
            self.shared.measure(measured);
            let now = Instant::now();
            let whole = now >= self.next_whole;
            if whole || (now >= self.next && guard.is_behind()) {
                let Some(pass) = self.judge(guard, whole).await else {
                    return End::Refused;
                };
                self.shared.take(pass);
            }
            sleep(TICK).await;
        }
    }

    /// Why the observation is of no use any longer, if so.
    fn end(&mut self, measured: &Measured) -> Option<End> {
        let (health, now) = (&measured.health, Instant::now());
        if !health.reconnects {
            self.refused = None;
        } else if now - *self.refused.get_or_insert(now) >= REFUSED {
            return Some(End::Refused);
        }
        let quiet = self.clock.now().duration_since(health.heard);
        if (health.lost.is_some() || quiet > SILENT) && now >= self.look {
            if (self.is_outdated)() {
                return Some(End::Outdated);
            }
            self.look = now + LOOK;
        }
        let is_over = health.overfull && self.began.elapsed() >= self.window;
        is_over.then_some(End::Overfull)
    }

    /// Judges beside what is served. Returns nothing if judging came to no end: the judge panicked, or the process ends.
    async fn judge(&mut self, mut observation: OwnedMutexGuard<Observation>, whole: bool) -> Option<Pass> {
        let at = self.clock.now();
        let judging = spawn_blocking(move || {
            let pass = observation.judge(at, whole);
            (pass, observation)
        });
        let (pass, observation) = judging.await.ok()?;
        if let Some(judgement) = observation.judgement()
            && self.decision.replace(judgement.decision) != Some(judgement.decision)
        {
            anstream::eprintln!("note: {}", judgement.decision.name());
        }
        let ended = Instant::now();
        self.next = ended + GATHER.max(pass.took * PAUSE);
        if pass.whole {
            self.next_whole = ended + WHOLE.max(pass.took * PAUSE);
        }
        Some(pass)
    }

    fn tell_of_the_watch(&mut self, why: Option<&str>) {
        match why {
            Some(why) if !self.is_lost => {
                anstream::eprintln!("warning: the watch is interrupted: {}", escape::line(why));
            }
            None if self.is_lost => anstream::eprintln!("note: the watch goes on"),
            _ => {}
        }
        self.is_lost = why.is_some();
    }
}
