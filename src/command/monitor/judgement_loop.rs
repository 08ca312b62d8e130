//! Judges again when something changed, and once a minute, for as long as the observation is of use.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bytes::Bytes;
use collect::{
    clock::Clock,
    ongoing::{Health, View},
};
use jiff::Timestamp;
use judge::{Decision, Judgement};
use report::{Report, escape, html};
use tokio::{
    sync::OwnedMutexGuard,
    task::spawn_blocking,
    time::{Instant, sleep},
};

use super::{
    figures::{Figures, Owner},
    status::{SILENT, Shared, SharedObservation},
    status_writes::StatusWrites,
    verdicts::Verdicts,
};
use crate::command::terminal::advice;

/// How often the monitor looks for something to judge.
const TICK: Duration = Duration::from_secs(1);
/// How long changes are gathered before they are judged.
const GATHER: Duration = Duration::from_secs(5);
/// How often the window follows, and a hub without changes is judged.
const WHOLE: Duration = Duration::from_secs(60);
/// Between two judgements is at least so many times what one takes.
const PAUSE: u32 = 5;
/// How long credentials may be refused before they are read anew.
const REFUSED: Duration = Duration::from_secs(30);
/// How often to look whether the kubeconfig leads elsewhere, while the watch is interrupted.
const LOOK: Duration = Duration::from_secs(5);
/// How long a page is shown while newer judgements come.
const PAGE_AGE: Duration = Duration::from_secs(10);

/// Why an observation is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The hub refuses the credentials, or judging came to no end.
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
    /// Since when the hub refuses the credentials.
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
        if !health.unauthorized {
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

/// What one observation shows, and the judgement of it.
pub struct Observation {
    view: View,
    verdicts: Verdicts,
    judged: Option<LastJudgement>,
    page: Option<Page>,
    writes: StatusWrites,
    /// The emptiest buckets, as of the last whole judgement.
    tokens: BTreeMap<Owner, f64>,
}

struct LastJudgement {
    judgement: Judgement,
    at: Timestamp,
    number: u64,
}

struct Page {
    /// The judgement that it shows.
    number: u64,
    rendered: Instant,
    html: Bytes,
}

/// One pass of the loop, for the metrics.
pub struct Pass {
    /// Its figures.
    pub figures: Figures,
    /// When it was judged.
    pub at: Timestamp,
    /// How long that took.
    pub took: Duration,
    /// True if the window followed.
    pub whole: bool,
    /// How many status writes were seen since the process began.
    pub writes: BTreeMap<Owner, u64>,
    /// How many of owners that found no room.
    pub writes_dropped: u64,
}

/// How well the hub is known.
#[derive(Clone, Debug)]
pub struct Measured {
    /// How well it is known.
    pub health: Health,
    /// For how many seconds the watch was interrupted.
    pub gap_seconds: f64,
    /// How many versions are held.
    pub versions: usize,
}

impl Observation {
    /// An observation of which nothing is judged yet. `writes` goes on from the one before.
    pub fn new(view: View, verdicts: Verdicts, writes: StatusWrites) -> Self {
        Self {
            view,
            verdicts,
            judged: None,
            page: None,
            writes,
            tokens: BTreeMap::new(),
        }
    }

    /// True if there is something to judge that the last judgement did not have.
    pub fn is_behind(&self) -> bool {
        self.judged.is_none() || self.view.is_behind()
    }

    /// Judges what there is at that time. If it is `whole`, the window follows.
    pub fn judge(&mut self, at: Timestamp, whole: bool) -> Pass {
        let began = Instant::now();
        let is_copied_anew = self.view.refresh(whole);
        let evidence = self.view.evidence();
        let judgement = self.verdicts.judge(evidence, at);
        let mut figures = Figures::of(evidence, &judgement);
        if is_copied_anew {
            figures.add_tokens(evidence);
            self.tokens = std::mem::take(&mut figures.tokens);
        }
        figures.tokens.clone_from(&self.tokens);
        self.writes.count(evidence, is_copied_anew);
        let number = self.judged.as_ref().map_or(0, |judged| judged.number + 1);
        self.judged = Some(LastJudgement {
            judgement,
            at,
            number,
        });
        Pass {
            figures,
            at,
            took: began.elapsed(),
            whole,
            writes: self.writes.by_owner.clone(),
            writes_dropped: self.writes.dropped,
        }
    }

    /// The last judgement.
    pub fn judgement(&self) -> Option<&Judgement> {
        self.judged.as_ref().map(|judged| &judged.judgement)
    }

    /// How well the hub is known now.
    pub fn measure(&mut self) -> Measured {
        Measured {
            health: self.view.health(),
            gap_seconds: self.view.gap_seconds(),
            versions: self.view.versions(),
        }
    }

    /// The page of the last judgement, if it need not be rendered anew.
    pub fn ready_page(&self) -> Option<Bytes> {
        let (page, judged) = (self.page.as_ref()?, self.judged.as_ref()?);
        let is_ready = page.number == judged.number || page.rendered.elapsed() < PAGE_AGE;
        is_ready.then(|| page.html.clone())
    }

    /// The page of the last judgement; none before the first one.
    pub fn page(&mut self) -> Option<Bytes> {
        if let Some(html) = self.ready_page() {
            return Some(html);
        }
        let judged = self.judged.as_ref()?;
        let report = Report {
            evidence: self.view.evidence(),
            judgement: &judged.judgement,
            selection: self.verdicts.selection(),
            judged_at: judged.at,
            file: None,
            place: None,
            advice: advice::flag,
        };
        let mut html = Vec::new();
        html::write(&report, &mut html).ok()?;
        let page = self.page.insert(Page {
            number: judged.number,
            rendered: Instant::now(),
            html: html.into(),
        });
        Some(page.html.clone())
    }

    /// Ends the observation. Returns what the next one goes on from.
    pub fn take_parts(&mut self) -> (Verdicts, StatusWrites) {
        (self.verdicts.clone(), std::mem::take(&mut self.writes))
    }
}
