//! What is broken already while a run goes on, judged beside the watch.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use collect::{Snapshot, clock::Clock};
use evidence::{Awaited, Evidence};
use judge::{RuleVerdict, Selection, Verdict, Waivers, judge_so_far, pending, unsettled};
use report::so_far::{broken_line, pending_line};
use tokio::{task::spawn_blocking, time::Instant};

use crate::command::run::pace::Pace;

/// Interval of the looks at what was seen so far.
const EVERY: Duration = Duration::from_secs(5);

/// Judges what was seen so far. A clone shares what it finds.
#[derive(Clone)]
pub struct SoFar(Arc<Shared>);

struct Shared {
    selection: Selection,
    waivers: Option<Waivers>,
    /// Called with the first broken MUST rule, if the run is to end then.
    end: Option<Box<dyn Fn(&'static str) + Send + Sync>>,
    found: Mutex<Found>,
}

struct Found {
    pace: Pace,
    /// The rules that are broken, in the order in which they were found, and a line on each.
    broken: Vec<(&'static str, String)>,
    /// A line on what is not yet older than its grace.
    pending: Option<String>,
}

impl SoFar {
    /// Judges by these rules, without the violations that are waived. Calls `end` with the first broken MUST rule.
    pub fn new(
        selection: &Selection,
        waivers: Option<&Waivers>,
        end: Option<Box<dyn Fn(&'static str) + Send + Sync>>,
    ) -> Self {
        Self(Arc::new(Shared {
            selection: selection.clone(),
            waivers: waivers.cloned(),
            end,
            found: Mutex::new(Found {
                pace: Pace::new(Duration::ZERO, EVERY),
                broken: Vec::new(),
                pending: None,
            }),
        }))
    }

    /// Returns `true` if a copy of the evidence is due. Without `waits`, only a run that may end early takes copies.
    pub fn is_due(&self, waits: bool) -> bool {
        (waits || self.ends_the_run()) && self.0.found().pace.is_due()
    }

    /// Whether the run ends on the first broken MUST rule.
    pub fn ends_the_run(&self) -> bool {
        self.0.end.is_some()
    }

    /// Judges a copy of the evidence on a thread of its own.
    pub fn judge(&self, so_far: Snapshot) {
        self.0.found().pace.begin();
        let shared = Arc::clone(&self.0);
        spawn_blocking(move || shared.judge(so_far));
    }

    /// The objects whose faults are not yet decided.
    pub fn open(&self, so_far: &Evidence) -> Awaited {
        unsettled(so_far, &self.0.selection)
    }

    /// A line on each broken rule, in the order in which they were found.
    pub fn broken(&self) -> Vec<String> {
        self.broken_since(0)
    }

    /// The same without the first ones.
    pub fn broken_since(&self, first: usize) -> Vec<String> {
        let found = self.0.found();
        let lines = found.broken.iter().skip(first);
        lines.map(|(_, line)| line.clone()).collect()
    }

    /// The broken rules, in the order in which they were found.
    #[cfg(test)]
    pub fn broken_rules(&self) -> Vec<&'static str> {
        self.0.found().broken.iter().map(|(rule, _)| *rule).collect()
    }

    /// A line on what is not yet older than its grace.
    pub fn pending(&self) -> Option<String> {
        self.0.found().pending.clone()
    }
}

impl Shared {
    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn judge(&self, so_far: Snapshot) {
        let started = Instant::now();
        if let Some(evidence) = so_far.take() {
            let broken = self.broken(&evidence);
            let waiting = pending_line(&pending(&evidence, &self.selection));
            let mut found = self.found();
            for verdict in &broken {
                let id = verdict.rule.id;
                let line = broken_line(verdict);
                match found.broken.iter_mut().find(|(known, _)| *known == id) {
                    Some(known) => known.1 = line,
                    None => found.broken.push((id, line)),
                }
            }
            found.pending = waiting;
            drop(found);
            if let (Some(end), Some(first)) = (&self.end, broken.first()) {
                end(first.rule.id);
            }
        }
        self.found().pace.end(started);
    }

    /// The verdicts that fail, without what is waived.
    fn broken(&self, evidence: &Evidence) -> Vec<RuleVerdict> {
        let mut judgement = judge_so_far(evidence, &self.selection);
        if let Some(waivers) = &self.waivers {
            let today = Waivers::day(Clock::system().now());
            judgement.waive(waivers, today, evidence.header.claim.strict);
        }
        let mut verdicts = judgement.verdicts;
        verdicts.retain(|verdict| verdict.verdict == Verdict::Fail);
        verdicts
    }
}
