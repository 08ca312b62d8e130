//! The progress of a run: on a terminal a line that changes, elsewhere a line each minute.

use std::{
    borrow::Cow,
    io::IsTerminal,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use collect::Progress;
use evidence::{Awaited, Evidence, Kind};
use indicatif::{ProgressBar, ProgressStyle};
use jiff::SignedDuration;
use judge::{
    Selection, Verdict, judge,
    rules::{self, Level, Rule},
    unsettled,
};
use report::escape;
use tokio::task::spawn_blocking;

use crate::command::{sonobuoy::Relay, terminal::advice};

/// The line of a run that watches: its progress, what it has seen, broken rules, and the driver's step.
const WATCHING: &str = "{spinner} [{bar:12}] {wide_msg}";
const ELSE: &str = "{spinner} {wide_msg}";

/// How often a log reports a wait; it does not report shorter waits.
const PERIOD: Duration = Duration::from_secs(60);

/// Reports progress on standard error. Without `waits`, the hub's time is simulated and there is nothing to wait for.
pub fn progress(selection: &Selection, waits: bool) -> Box<dyn Progress> {
    if std::io::stderr().is_terminal() {
        Box::new(Line::new(
            ProgressBar::no_length(),
            selection,
            waits.then(|| Glances::new(selection)),
        ))
    } else {
        let relay = Relay::from_environment();
        Box::new(Log::new(selection, waits, move |line| {
            anstream::eprintln!("{line}");
            if let Some(relay) = relay {
                relay.say(line);
            }
        }))
    }
}

/// A line on a terminal, gone when it is dropped.
struct Line {
    bar: ProgressBar,
    step: Mutex<String>,
    selection: Selection,
    glances: Option<Glances>,
}

impl Line {
    fn new(bar: ProgressBar, selection: &Selection, glances: Option<Glances>) -> Self {
        bar.set_style(style(ELSE));
        Self {
            bar,
            step: Mutex::default(),
            selection: selection.clone(),
            glances,
        }
    }
}

impl Progress for Line {
    fn phase(&self, what: &str) {
        self.bar.set_style(style(ELSE));
        self.bar.set_message(escape::line(what).into_owned());
        self.bar.tick();
    }

    fn tick(&self, elapsed: Duration, observe: Duration, profiles: usize, writes: u64) {
        if self.bar.length().is_none() {
            self.bar.set_length(observe.as_secs());
        }
        self.bar.set_style(style(WATCHING));
        let mut told = match observe.saturating_sub(elapsed) {
            Duration::ZERO => format!("{} watched", in_words(elapsed)),
            left => format!("{} left", in_words(left)),
        };
        told += &format!(", {}", seen(profiles, writes));
        match self.glances.as_ref().map_or(0, Glances::broken) {
            0 => {}
            1 => told += ", 1 MUST rule broken so far",
            broken => told += &format!(", {broken} MUST rules broken so far"),
        }
        let step = self.step.lock().unwrap_or_else(PoisonError::into_inner);
        if !step.is_empty() {
            told += &format!("; {step}");
        }
        self.bar.set_message(told);
        self.bar.set_position(elapsed.as_secs());
    }

    fn open(&self, so_far: &Evidence) -> Awaited {
        unsettled(so_far, &self.selection)
    }

    fn settling(&self, elapsed: Duration, most: Duration, awaited: &str) {
        self.bar.set_style(style(ELSE));
        let left = in_words(most.saturating_sub(elapsed));
        self.bar
            .set_message(format!("waiting for {awaited} to settle, at most {left}"));
        self.bar.tick();
    }

    fn step(&self, what: &str) {
        let mut step = self.step.lock().unwrap_or_else(PoisonError::into_inner);
        *step = escape::line(what).into_owned();
    }

    fn warn(&self, what: &str) {
        self.bar
            .suspend(|| anstream::eprintln!("warning: {}", escape::line(what)));
    }

    fn left_over(&self, journal: &Path) {
        self.warn(&advice::left_over(journal));
    }

    fn wants_glances(&self) -> bool {
        self.glances.is_some()
    }

    fn glance(&self, inventory: Evidence) {
        if let Some(glances) = &self.glances {
            glances.take(inventory);
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Judges the inventory in parallel to the watch.
struct Glances {
    selection: Selection,
    /// The number of broken rules in the last snapshot.
    broken: Arc<AtomicUsize>,
    /// Whether a snapshot is being judged; others are dropped meanwhile.
    busy: Arc<AtomicBool>,
}

impl Glances {
    fn new(selection: &Selection) -> Self {
        Self {
            selection: early(selection),
            broken: Arc::default(),
            busy: Arc::default(),
        }
    }

    fn broken(&self) -> usize {
        self.broken.load(Ordering::Relaxed)
    }

    fn take(&self, inventory: Evidence) {
        if self.selection.filters.is_empty() || self.busy.swap(true, Ordering::Acquire) {
            return;
        }
        let (broken, busy) = (Arc::clone(&self.broken), Arc::clone(&self.busy));
        let selection = self.selection.clone();
        spawn_blocking(move || {
            let judgement = judge(&inventory, &selection);
            let failed = judgement.verdicts.iter().filter(|v| v.verdict == Verdict::Fail);
            broken.store(failed.count(), Ordering::Relaxed);
            busy.store(false, Ordering::Release);
        });
    }
}

/// Returns the selected rules whose violations are certain from the inventory alone, without other evidence.
fn early(selection: &Selection) -> Selection {
    let is_early = |rule: &&Rule| {
        let facts = &rule.facts;
        let is_must = facts.editions.iter().any(|applies| applies.level == Level::Must);
        is_must
            && facts.needs == [Kind::Inventory]
            && facts.needs_one_of.is_empty()
            && facts.helped_by.is_empty()
            && selection.holds(rule.id)
    };
    let rules = rules::all().iter().filter(is_early);
    Selection {
        filters: rules.map(|rule| rule.id.to_owned()).collect(),
        exact: true,
        basis: selection.basis,
        ..Selection::default()
    }
}

/// A log, such as a pipeline's: neither silent for long, nor flooded.
struct Log<Say> {
    selection: Selection,
    waits: bool,
    /// The number of lines about this wait.
    lines: AtomicU64,
    /// Whether it was told that the run looks on.
    settles: AtomicBool,
    say: Say,
}

impl<Say: Fn(&str) + Send + Sync> Log<Say> {
    fn new(selection: &Selection, waits: bool, say: Say) -> Self {
        Self {
            selection: selection.clone(),
            waits,
            lines: AtomicU64::new(0),
            settles: AtomicBool::new(false),
            say,
        }
    }
}

impl<Say: Fn(&str) + Send + Sync> Progress for Log<Say> {
    fn tick(&self, elapsed: Duration, observe: Duration, profiles: usize, writes: u64) {
        if !self.waits || observe < PERIOD {
            return;
        }
        let periods = elapsed.as_secs() / PERIOD.as_secs();
        let lines = self.lines.load(Ordering::Relaxed);
        // The first line comes immediately.
        if lines > periods {
            return;
        }
        self.lines.store(periods + 1, Ordering::Relaxed);
        let (watched, seen) = (in_words(elapsed), seen(profiles, writes));
        (self.say)(&match lines {
            0 => format!("watching for {}: {seen}", in_words(observe)),
            _ if elapsed < observe => format!("watched {watched} of {}: {seen}", in_words(observe)),
            _ => format!("watched {watched}, until the driver is done: {seen}"),
        });
    }

    fn open(&self, so_far: &Evidence) -> Awaited {
        unsettled(so_far, &self.selection)
    }

    fn settling(&self, _: Duration, most: Duration, awaited: &str) {
        if self.waits && !self.settles.swap(true, Ordering::Relaxed) {
            (self.say)(&format!(
                "waiting for {awaited} to settle, at most {}",
                in_words(most)
            ));
        }
    }

    fn warn(&self, what: &str) {
        (self.say)(&format!("warning: {}", escape::line(what)));
    }

    fn left_over(&self, journal: &Path) {
        self.warn(&advice::left_over(journal));
    }
}

fn seen(profiles: usize, writes: u64) -> String {
    let plural = |number: u64| if number == 1 { "" } else { "s" };
    format!(
        "{profiles} profile{}, {writes} write{}",
        plural(profiles as u64),
        plural(writes)
    )
}

fn style(template: &'static str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates are constants, and right")
}

fn in_words(duration: Duration) -> Cow<'static, str> {
    match SignedDuration::try_from(Duration::from_secs(duration.as_secs())) {
        Ok(duration) => format!("{duration:#}").into(),
        Err(_) => "for ever".into(),
    }
}

#[cfg(test)]
mod tests {
    use collect::{Members, Plan, Wish, clock::Clock, collect};
    use evidence::{Claim, Scope};
    use lab::{
        hub::Hub,
        manager::{Fault, Manager, hub_definitions},
    };
    use tokio_util::sync::CancellationToken;

    use super::*;

    const MINUTE: u64 = 60;

    #[test]
    fn a_log_is_told_at_once_and_then_each_minute() {
        let lines = Mutex::new(Vec::new());
        let log = Log::new(&Selection::default(), true, |line: &str| {
            lines.lock().expect("a lock").push(line.to_owned())
        });
        for second in 1..=4 * MINUTE {
            log.tick(
                Duration::from_secs(second),
                Duration::from_secs(3 * MINUTE),
                20,
                second / 50,
            );
        }
        assert_eq!(
            *lines.lock().expect("a lock"),
            [
                "watching for 3m: 20 profiles, 0 writes",
                "watched 1m of 3m: 20 profiles, 1 write",
                "watched 2m of 3m: 20 profiles, 2 writes",
                "watched 3m, until the driver is done: 20 profiles, 3 writes",
                "watched 4m, until the driver is done: 20 profiles, 4 writes",
            ]
        );
    }

    #[test]
    fn a_log_is_not_told_of_what_takes_no_time() {
        for (waits, observe) in [(true, 59), (false, 600)] {
            let log = Log::new(&Selection::default(), waits, |line: &str| panic!("{line}"));
            for second in 1..=observe {
                log.tick(Duration::from_secs(second), Duration::from_secs(observe), 1, 0);
            }
            assert!(!log.wants_glances());
        }
    }

    /// What a line says after that many seconds with the reference manager on the lab.
    async fn line_after(seconds: u64, faults: &[&str], filters: &[&str]) -> String {
        let clock = Clock::system();
        let faults: Vec<Fault> = faults
            .iter()
            .map(|fault| Fault::parse(fault).expect("a fault"))
            .collect();
        let hub = Hub::lab_with(clock, &hub_definitions(&faults))
            .await
            .expect("a hub");
        let client = hub.client_as(Manager::NAME, Manager::NAME).expect("a client");
        let mut manager = Manager::new(faults, clock);
        manager.set_up(&client).await.expect("it starts");
        let plan = Plan {
            claim: Claim::default(),
            scope: Scope::default(),
            api_version: None,
            observe: Duration::from_secs(seconds + 60),
            settle: Duration::ZERO,
            wait: true,
            secrets: Wish::IfAllowed,
            probe: Wish::IfAllowed,
            audit_logs: Vec::new(),
            workloads: None,
            members: Members::default(),
            driver: None,
            stage: None,
        };
        let selection = Selection {
            filters: filters.iter().map(|&filter| filter.to_owned()).collect(),
            ..Selection::default()
        };
        let line = Line::new(ProgressBar::hidden(), &selection, Some(Glances::new(&selection)));
        tokio::select! {
            seen = collect(&hub.connection, &plan, clock, &line, CancellationToken::new()) => panic!("{:?}", seen.map(|_| "over")),
            end = manager.run(client) => panic!("{end:?}"),
            () = tokio::time::sleep(Duration::from_secs(seconds)) => {}
        }
        line.bar.message()
    }

    #[tokio::test(start_paused = true)]
    async fn a_line_tells_what_is_left_and_what_is_broken_already() {
        let faults = ["identity/manager-label-matches", "access/server-is-url"];
        let broken = line_after(150, &faults, &[]).await;
        assert!(
            broken.starts_with("1m ") && broken.contains(" left, "),
            "{broken}"
        );
        assert!(broken.ends_with(", 2 MUST rules broken so far"), "{broken}");
        // Only the rules that the user has picked count. A fault counts once it has lasted for 2 min.
        let picked = line_after(150, &faults, &["access/"]).await;
        assert!(picked.ends_with(", 1 MUST rule broken so far"), "{picked}");
        let none = line_after(150, &faults, &["properties/", "updates/"]).await;
        assert!(none.contains(" left, ") && !none.contains("broken"), "{none}");
    }

    #[test]
    fn a_line_tells_what_the_driver_does() {
        let line = Line::new(ProgressBar::hidden(), &Selection::default(), None);
        line.step("outage: break of \u{1b}[2Jx");
        line.tick(Duration::from_secs(400), Duration::from_secs(300), 1, 2);
        assert_eq!(
            line.bar.message(),
            r"6m 40s watched, 1 profile, 2 writes; outage: break of \u{1b}[2Jx"
        );
    }
}
