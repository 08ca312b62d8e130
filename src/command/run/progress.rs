//! What a run shows on standard error while it watches: a line that changes on a terminal, elsewhere a line each minute.

use std::{
    io::{self, IsTerminal},
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use collect::{Progress, clock::Clock};
use console::{Term, truncate_str};
use evidence::{Awaited, Evidence, api::Role};
use jiff::SignedDuration;
use judge::{RuleVerdict, Selection, Verdict, Waivers, judge, rules::Level, unsettled};
use report::{count, escape, no_status};
use tokio::{task::spawn_blocking, time::Instant};

use super::recording::Keeper;
use crate::command::terminal::advice;

/// How often a log reports a wait; it does not report shorter waits.
const PERIOD: Duration = Duration::from_secs(60);

/// Shows progress, judges the first list, and keeps the part of the record.
pub struct RunProgress {
    screen: Arc<Screen>,
    /// Whether a log reports waits.
    waits: bool,
    /// The number of lines in the log about this wait.
    lines: AtomicU64,
    /// Whether the log reported that the run settles.
    settles: AtomicBool,
    /// The last step of the driver.
    step: Mutex<String>,
    selection: Selection,
    waivers: Option<Waivers>,
    keeper: Option<Arc<Mutex<Keeper>>>,
}

/// Standard error.
struct Screen {
    /// The line on a terminal, which disappears when it is dropped; none: a log.
    line: Option<StatusLine>,
}

/// The last line of a terminal, which each text replaces.
struct StatusLine {
    terminal: Term,
    text: Mutex<String>,
}

impl StatusLine {
    fn new() -> Self {
        Self {
            terminal: Term::buffered_stderr(),
            text: Mutex::default(),
        }
    }

    fn set(&self, text: &str) {
        // A full line would wrap on some terminals.
        let columns = usize::from(self.terminal.size().1).saturating_sub(1);
        let mut line = lock(&self.text);
        *line = truncate_str(text, columns, "…").into_owned();
        self.draw(&line);
    }

    /// Prints a line above it.
    fn print_above(&self, text: &str) {
        let line = lock(&self.text);
        self.draw("");
        anstream::eprintln!("{text}");
        self.draw(&line);
    }

    /// A terminal that went away is not an error of the run.
    fn draw(&self, text: &str) {
        let _ = self
            .terminal
            .clear_line()
            .and_then(|()| self.terminal.write_str(text))
            .and_then(|()| self.terminal.flush());
    }
}

impl Screen {
    /// Prints a line that stays.
    fn print(&self, text: &str) {
        match &self.line {
            Some(line) => line.print_above(text),
            None => anstream::eprintln!("{text}"),
        }
    }

    fn warn(&self, what: &str) {
        self.print(&format!("warning: {}", escape::line(what)));
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if let Some(line) = &self.line {
            line.draw("");
        }
    }
}

impl RunProgress {
    /// Shows progress on standard error. Without `waits`, the hub's time is simulated, so a log does not report waits.
    pub fn new(
        selection: &Selection,
        waivers: Option<&Waivers>,
        keeper: Option<Keeper>,
        waits: bool,
    ) -> Self {
        let line = io::stderr().is_terminal().then(StatusLine::new);
        Self {
            screen: Arc::new(Screen { line }),
            waits,
            lines: AtomicU64::new(0),
            settles: AtomicBool::new(false),
            step: Mutex::default(),
            selection: selection.clone(),
            waivers: waivers.cloned(),
            keeper: keeper.map(|keeper| Arc::new(Mutex::new(keeper))),
        }
    }

    /// Shows a line on a terminal, or if it is due in a log.
    fn show(&self, text: &str, is_due: impl Fn() -> bool) {
        match &self.screen.line {
            Some(line) => line.set(text),
            None if is_due() => self.screen.print(text),
            None => {}
        }
    }

    /// For how long the run has watched, and what it has seen.
    fn watched(&self, elapsed: Duration, observe: Duration, profiles: usize, writes: u64) -> String {
        let watched = in_words(elapsed);
        // A driver may take longer than the run was to watch.
        let time = if elapsed < observe {
            format!("watched {watched} of {}", in_words(observe))
        } else {
            format!("watched {watched}, until the driver is done")
        };
        let writes = usize::try_from(writes).unwrap_or(usize::MAX);
        let (profiles, writes) = (count(profiles, "profile"), count(writes, "write"));
        format!("{time}: {profiles}, {writes}{}", lock(&self.step))
    }

    /// Whether a log reports a wait now: immediately, and then each minute.
    fn is_due(&self, elapsed: Duration, observe: Duration) -> bool {
        let periods = elapsed.as_secs() / PERIOD.as_secs();
        let is_long = observe.max(elapsed) >= PERIOD;
        self.waits && is_long && self.lines.fetch_max(periods + 1, Ordering::Relaxed) <= periods
    }
}

impl Progress for RunProgress {
    fn phase(&self, what: &str) {
        self.show(&escape::line(what), || false);
    }

    fn step(&self, what: &str) {
        *lock(&self.step) = format!("; {}", escape::line(what));
    }

    fn warn(&self, what: &str) {
        self.screen.warn(what);
    }

    fn left_over(&self, journal: &Path) {
        self.screen.warn(&advice::left_over(journal));
    }

    fn listed(&self, list: Evidence, observe: Duration) {
        // A judgement that takes longer than the run is not shown.
        let screen = Arc::downgrade(&self.screen);
        let (selection, waivers) = (self.selection.clone(), self.waivers.clone());
        spawn_blocking(move || {
            let mut roles = list.header.claim.roles();
            // The profiles for a consumer are the run's own, and come later.
            let is_empty = list.profiles.is_empty() && list.slices.is_empty();
            if is_empty || roles.all(|role| role == Role::Consumer) {
                return;
            }
            let line = first_sight(&list, &selection, waivers.as_ref(), observe);
            if let Some(screen) = screen.upgrade() {
                screen.print(&line);
            }
        });
    }

    fn tick(&self, elapsed: Duration, observe: Duration, profiles: usize, writes: u64) {
        let line = self.watched(elapsed, observe, profiles, writes);
        self.show(&line, || self.is_due(elapsed, observe));
    }

    fn open(&self, so_far: &Evidence) -> Awaited {
        unsettled(so_far, &self.selection)
    }

    fn settling(&self, elapsed: Duration, most: Duration, awaited: &str) {
        let remaining = in_words(most.saturating_sub(elapsed));
        let line = format!("waiting for {awaited} to settle, at most {remaining}");
        let is_first = || !self.settles.swap(true, Ordering::Relaxed);
        self.show(&line, || self.waits && is_first());
    }

    fn wants_snapshot(&self, is_over: bool) -> bool {
        self.keeper
            .as_ref()
            .is_some_and(|keeper| match keeper.try_lock() {
                // A run without a part so far has lasted less than a minute.
                Ok(keeper) if is_over => keeper.has_begun,
                Ok(keeper) => Instant::now() >= keeper.next,
                // It is writing a part.
                Err(_) => is_over,
            })
    }

    fn snapshot(&self, so_far: Evidence) {
        let Some(keeper) = self.keeper.clone() else { return };
        let screen = Arc::downgrade(&self.screen);
        lock(&keeper).begin();
        spawn_blocking(move || {
            let failure = lock(&keeper).write(&so_far);
            if let (Some(failure), Some(screen)) = (failure, screen.upgrade()) {
                screen.warn(&failure);
            }
        });
    }
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A duration in whole seconds, for example `1m 30s`.
pub fn in_words(duration: Duration) -> String {
    let duration = SignedDuration::try_from(Duration::from_secs(duration.as_secs()));
    duration.map_or_else(|_| "for ever".to_owned(), |duration| format!("{duration:#}"))
}

/// The number of rules that the line names.
const MOST_NAMED: usize = 3;

/// Judges the first list as a single snapshot, and names the MUST rules that fail.
fn first_sight(
    list: &Evidence,
    selection: &Selection,
    waivers: Option<&Waivers>,
    observe: Duration,
) -> String {
    let mut judgement = judge(list, selection);
    if let Some(waivers) = waivers {
        let today = Waivers::day(Clock::system().now());
        judgement.waive(waivers, today, list.header.claim.strict);
    }
    let fails = |verdict: &&RuleVerdict| verdict.verdict == Verdict::Fail && verdict.level() == Level::Must;
    let failed = judgement.verdicts.iter().filter(fails);
    let ids: Vec<&str> = failed.map(|verdict| verdict.rule.id).collect();
    let cause = no_status(list).map_or_else(String::new, |cause| format!("; {cause}"));
    let (rules, observe) = (in_one_line(&ids), in_words(observe));
    format!("at first sight: {rules}{cause}; watching for {observe}")
}

fn in_one_line(ids: &[&str]) -> String {
    let names = ids[..ids.len().min(MOST_NAMED)].join(", ");
    match ids.len() {
        0 => "no MUST rule fails".to_owned(),
        1 => format!("1 MUST rule fails ({names})"),
        number @ 2..=MOST_NAMED => format!("{number} MUST rules fail ({names})"),
        number => format!(
            "{number} MUST rules fail ({names}, and {} more)",
            number - MOST_NAMED
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60;

    fn progress(waits: bool) -> RunProgress {
        RunProgress::new(&Selection::default(), None, None, waits)
    }

    #[test]
    fn a_log_reports_immediately_and_then_each_minute() {
        let log = progress(true);
        let mut lines = Vec::new();
        for second in 1..=4 * MINUTE {
            let [watched, observe] = [second, 3 * MINUTE].map(Duration::from_secs);
            if log.is_due(watched, observe) {
                lines.push(log.watched(watched, observe, 20, second / 50));
            }
            if second == 3 * MINUTE {
                log.step("outage: break of \u{1b}[2Jx");
            }
        }
        assert_eq!(
            lines,
            [
                "watched 1s of 3m: 20 profiles, 0 writes",
                "watched 1m of 3m: 20 profiles, 1 write",
                "watched 2m of 3m: 20 profiles, 2 writes",
                "watched 3m, until the driver is done: 20 profiles, 3 writes",
                r"watched 4m, until the driver is done: 20 profiles, 4 writes; outage: break of \u{1b}[2Jx",
            ]
        );
    }

    #[test]
    fn a_log_does_not_report_short_or_simulated_waits() {
        for (waits, observe) in [(true, MINUTE - 1), (false, 10 * MINUTE)] {
            let log = progress(waits);
            for second in 1..=observe {
                let [watched, observe] = [second, observe].map(Duration::from_secs);
                assert!(!log.is_due(watched, observe), "{waits} {second}");
            }
        }
    }

    #[test]
    fn a_line_names_at_most_three_rules() {
        assert_eq!(in_one_line(&[]), "no MUST rule fails");
        assert_eq!(in_one_line(&["a/b"]), "1 MUST rule fails (a/b)");
        assert_eq!(in_one_line(&["a", "b", "c"]), "3 MUST rules fail (a, b, c)");
        let expected = "5 MUST rules fail (a, b, c, and 2 more)";
        assert_eq!(in_one_line(&["a", "b", "c", "d", "e"]), expected);
    }
}
