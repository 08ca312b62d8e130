//! What the monitor knows of itself: how well the hub is known, and what was judged last.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use collect::{Meter, clock::Clock};
use evidence::{Claim, Traffic};
use jiff::{SignedDuration, Timestamp};
use prometheus::{Histogram, HistogramOpts};
use tokio::sync::Mutex as AsyncMutex;

use super::{
    figures::{Figures, Owner, PREFIX},
    observation::{Measured, Observation, Pass},
};

/// How long a watch may be interrupted before what it showed last is no longer shown.
pub const LOST: SignedDuration = SignedDuration::from_secs(60);
/// How long a watch may tell nothing. Hubs end watches after a few minutes, and most send bookmarks each minute.
pub const SILENT: SignedDuration = SignedDuration::from_secs(5 * 60);
/// How old a judgement may be: there is one each minute.
pub const OLD: SignedDuration = SignedDuration::from_secs(3 * 60);
/// How long until something is tried again.
pub const AGAIN: Duration = Duration::from_secs(15);
/// The buckets of the histogram, in seconds.
const TIMES: [f64; 8] = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0];

/// An observation that the judging and the pages take turns at.
pub type SharedObservation = Arc<AsyncMutex<Observation>>;

/// What the parts of the monitor share.
pub struct Shared {
    clock: Clock,
    state: std::sync::Mutex<State>,
    times: Histogram,
    edition: String,
}

#[derive(Default)]
struct State {
    /// Why nothing is observed, or not yet.
    waiting: Option<String>,
    observation: Option<SharedObservation>,
    measured: Option<Measured>,
    figures: Figures,
    judged_at: Option<Timestamp>,
    writes: BTreeMap<Owner, u64>,
    writes_dropped: u64,
    /// For how many seconds the watch was interrupted, in observations that are over.
    earlier_gaps: f64,
    /// What the hub was asked by earlier connections.
    earlier_traffic: Traffic,
    /// Counts what it is asked by the present one.
    meter: Option<Meter>,
}

/// What is shown at one moment.
pub struct Shown {
    /// Why verdicts are not shown, if so.
    pub unready: Option<String>,
    /// How well the hub is known.
    pub measured: Option<Measured>,
    /// The figures of the last judgement.
    pub figures: Figures,
    /// When it was judged.
    pub judged_at: Option<Timestamp>,
    /// The status writes since the process began.
    pub writes: BTreeMap<Owner, u64>,
    /// Those that are in no series.
    pub writes_dropped: u64,
    /// For how many seconds the watch was interrupted in all.
    pub gap_seconds: f64,
    /// What the hub was asked in all.
    pub traffic: Traffic,
    /// How long judging takes.
    pub times: Histogram,
    /// The edition.
    pub edition: String,
}

impl Shown {
    /// True if the watch goes on.
    pub fn watches(&self) -> bool {
        let healthy = |measured: &Measured| measured.health.lost.is_none();
        self.measured.as_ref().is_some_and(healthy)
    }

    /// True if the verdicts are those of the hub as it is now.
    pub fn is_fresh(&self) -> bool {
        self.unready.is_none()
    }
}

impl Shared {
    /// Nothing is known yet.
    pub fn new(clock: Clock, claim: &Claim) -> Self {
        let options = HistogramOpts::new(
            format!("{PREFIX}_judge_duration_seconds"),
            "How long it takes to judge what has changed.",
        );
        let times = Histogram::with_opts(options.buckets(TIMES.to_vec()));
        let editions: Vec<String> = claim.editions().map(|edition| edition.to_string()).collect();
        Self {
            clock,
            state: std::sync::Mutex::default(),
            times: times.expect("the name and the buckets are valid"),
            edition: editions.join(","),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Counts what the hub is asked by that meter from now on, beside what was counted before.
    pub fn count_traffic(&self, meter: Meter) {
        let mut state = self.state();
        let is_counted = state.meter.as_ref().is_some_and(|known| known.is_same(&meter));
        if !is_counted {
            state.earlier_traffic = traffic(&state);
            state.meter = Some(meter);
        }
    }

    /// Notes why nothing is observed.
    pub fn wait(&self, why: String) {
        self.state().waiting = Some(why);
    }

    /// An observation begins.
    pub fn begin(&self, observation: SharedObservation) {
        let mut state = self.state();
        state.waiting = None;
        state.observation = Some(observation);
    }

    /// An observation is over: nothing of it is shown any longer.
    pub fn end(&self) {
        let mut state = self.state();
        state.observation = None;
        state.judged_at = None;
        state.figures = Figures::default();
        state.earlier_gaps = gap_seconds(&state);
        state.measured = None;
    }

    /// Notes how well the hub is known.
    pub fn measure(&self, measured: Measured) {
        self.state().measured = Some(measured);
    }

    /// Takes a judgement.
    pub fn take(&self, pass: Pass) {
        self.times.observe(pass.took.as_secs_f64());
        let mut state = self.state();
        state.figures = pass.figures;
        state.judged_at = Some(pass.at);
        state.writes = pass.writes;
        state.writes_dropped = pass.writes_dropped;
    }

    /// The present observation, if there is one.
    pub fn observation(&self) -> Option<SharedObservation> {
        self.state().observation.clone()
    }

    /// What is shown now.
    pub fn shown(&self) -> Shown {
        let now = self.clock.now();
        let state = self.state();
        Shown {
            unready: unready(&state, now),
            measured: state.measured.clone(),
            figures: state.figures.clone(),
            judged_at: state.judged_at,
            writes: state.writes.clone(),
            writes_dropped: state.writes_dropped,
            gap_seconds: gap_seconds(&state),
            traffic: traffic(&state),
            times: self.times.clone(),
            edition: self.edition.clone(),
        }
    }
}

fn gap_seconds(state: &State) -> f64 {
    let present = state.measured.as_ref();
    state.earlier_gaps + present.map_or(0.0, |measured| measured.gap_seconds)
}

fn traffic(state: &State) -> Traffic {
    let present = state.meter.as_ref();
    state
        .earlier_traffic
        .with(present.map(Meter::traffic).unwrap_or_default())
}

/// Why verdicts are not shown, if so.
fn unready(state: &State, now: Timestamp) -> Option<String> {
    let (Some(measured), Some(judged_at)) = (&state.measured, state.judged_at) else {
        let why = state.waiting.as_deref();
        return Some(
            why.unwrap_or("the hub has not listed its profiles yet")
                .to_owned(),
        );
    };
    let health = &measured.health;
    let quiet = now.duration_since(health.heard);
    if let Some(lost) = health.lost.as_ref().filter(|_| quiet > LOST) {
        return Some(format!("the watch is down for {} s: {lost}", quiet.as_secs()));
    }
    if quiet > SILENT {
        return Some(format!("the watch has told nothing for {} s", quiet.as_secs()));
    }
    let age = now.duration_since(judged_at);
    (age > OLD).then(|| format!("the last judgement is {} s old", age.as_secs()))
}
