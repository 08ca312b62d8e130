//! The progress of a run on standard error: a line that changes on a terminal, elsewhere a line each minute.

use std::{
    borrow::Cow,
    io::IsTerminal,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use collect::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use jiff::SignedDuration;
use report::escape;

use crate::command::terminal::advice;

/// How often a log reports a wait; it does not report shorter waits.
const PERIOD: Duration = Duration::from_secs(60);

/// The style of the terminal line while the run watches.
const WATCHING: &str = "{spinner} [{bar:12}] {wide_msg}";
/// The style of the terminal line at other times.
const ELSE: &str = "{spinner} {wide_msg}";

/// Progress that can also print a line of its own.
pub trait Output: Progress {
    /// Prints a line that stays.
    fn print(&self, line: &str);
}

/// Reports progress on standard error. Without `waits`, the hub's time is simulated, so a log does not report waits.
pub fn output(waits: bool) -> Arc<dyn Output> {
    if std::io::stderr().is_terminal() {
        return Arc::new(Line::on(ProgressBar::no_length()));
    }
    Arc::new(Log::new(waits, |line: &str| anstream::eprintln!("{line}")))
}

/// A line on a terminal, which disappears when it is dropped.
struct Line {
    bar: ProgressBar,
    step: Step,
}

impl Line {
    fn on(bar: ProgressBar) -> Self {
        bar.set_style(style(ELSE));
        Self {
            bar,
            step: Step::default(),
        }
    }
}

impl Output for Line {
    fn print(&self, line: &str) {
        self.bar.suspend(|| anstream::eprintln!("{line}"));
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
        let time = match observe.saturating_sub(elapsed) {
            Duration::ZERO => format!("{} watched", in_words(elapsed)),
            left => format!("{} left", in_words(left)),
        };
        let (counts, step) = (counts(profiles, writes), self.step.at_end());
        self.bar.set_message(format!("{time}, {counts}{step}"));
        self.bar.set_position(elapsed.as_secs());
    }

    fn settling(&self, elapsed: Duration, most: Duration, awaited: &str) {
        self.bar.set_style(style(ELSE));
        self.bar
            .set_message(settling(awaited, most.saturating_sub(elapsed)));
        self.bar.tick();
    }

    fn step(&self, what: &str) {
        self.step.set(what);
    }

    fn warn(&self, what: &str) {
        self.print(&format!("warning: {}", escape::line(what)));
    }

    fn left_over(&self, journal: &Path) {
        self.warn(&advice::left_over(journal));
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn style(template: &'static str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates are constants, and right")
}

/// The log of a pipeline.
struct Log<Say: Fn(&str) + Send + Sync> {
    waits: bool,
    /// The number of lines about this wait.
    lines: AtomicU64,
    /// Whether it reported that the run settles.
    settles: AtomicBool,
    step: Step,
    say: Say,
}

impl<Say: Fn(&str) + Send + Sync> Log<Say> {
    fn new(waits: bool, say: Say) -> Self {
        Self {
            waits,
            lines: AtomicU64::new(0),
            settles: AtomicBool::new(false),
            step: Step::default(),
            say,
        }
    }
}

impl<Say: Fn(&str) + Send + Sync> Output for Log<Say> {
    fn print(&self, line: &str) {
        (self.say)(line);
    }
}

impl<Say: Fn(&str) + Send + Sync> Progress for Log<Say> {
    fn tick(&self, elapsed: Duration, observe: Duration, profiles: usize, writes: u64) {
        // A driver may take longer.
        if !self.waits || observe.max(elapsed) < PERIOD {
            return;
        }
        let periods = elapsed.as_secs() / PERIOD.as_secs();
        let lines = self.lines.load(Ordering::Relaxed);
        // The first line comes immediately.
        if lines > periods {
            return;
        }
        self.lines.store(periods + 1, Ordering::Relaxed);
        let (watched, counts) = (in_words(elapsed), counts(profiles, writes));
        let line = match lines {
            _ if elapsed >= observe => format!("watched {watched}, until the driver is done: {counts}"),
            0 => format!("watching for {}: {counts}", in_words(observe)),
            _ => format!("watched {watched} of {}: {counts}", in_words(observe)),
        };
        self.print(&(line + &self.step.at_end()));
    }

    fn step(&self, what: &str) {
        self.step.set(what);
    }

    fn settling(&self, _: Duration, most: Duration, awaited: &str) {
        if self.waits && !self.settles.swap(true, Ordering::Relaxed) {
            self.print(&settling(awaited, most));
        }
    }

    fn warn(&self, what: &str) {
        self.print(&format!("warning: {}", escape::line(what)));
    }

    fn left_over(&self, journal: &Path) {
        self.warn(&advice::left_over(journal));
    }
}

/// The driver's last step.
#[derive(Default)]
struct Step(Mutex<String>);

impl Step {
    fn set(&self, what: &str) {
        *self.lock() = escape::line(what).into_owned();
    }

    /// The end of a progress line; empty before the first step.
    fn at_end(&self) -> String {
        match &**self.lock() {
            "" => String::new(),
            step => format!("; {step}"),
        }
    }

    fn lock(&self) -> MutexGuard<'_, String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn counts(profiles: usize, writes: u64) -> String {
    let plural = |number: u64| if number == 1 { "" } else { "s" };
    format!(
        "{profiles} profile{}, {writes} write{}",
        plural(profiles as u64),
        plural(writes)
    )
}

fn settling(awaited: &str, most: Duration) -> String {
    format!("waiting for {awaited} to settle, at most {}", in_words(most))
}

/// A duration in whole seconds, such as `1m 30s`.
pub fn in_words(duration: Duration) -> Cow<'static, str> {
    match SignedDuration::try_from(Duration::from_secs(duration.as_secs())) {
        Ok(duration) => format!("{duration:#}").into(),
        Err(_) => "for ever".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60;

    #[test]
    fn a_log_reports_immediately_and_then_each_minute() {
        let lines = Mutex::new(Vec::new());
        let log = Log::new(true, |line: &str| {
            lines.lock().expect("a lock").push(line.to_owned())
        });
        for second in 1..=4 * MINUTE {
            log.tick(
                Duration::from_secs(second),
                Duration::from_secs(3 * MINUTE),
                20,
                second / 50,
            );
            if second == 3 * MINUTE {
                log.step("scene ends (8 of 13)");
            }
        }
        assert_eq!(
            *lines.lock().expect("a lock"),
            [
                "watching for 3m: 20 profiles, 0 writes",
                "watched 1m of 3m: 20 profiles, 1 write",
                "watched 2m of 3m: 20 profiles, 2 writes",
                "watched 3m, until the driver is done: 20 profiles, 3 writes",
                "watched 4m, until the driver is done: 20 profiles, 4 writes; scene ends (8 of 13)",
            ]
        );
    }

    #[test]
    fn a_log_does_not_report_short_or_simulated_waits() {
        for (waits, observe) in [(true, 59_u64), (false, 600)] {
            let log = Log::new(waits, |line: &str| panic!("{line}"));
            for second in 1..=observe {
                log.tick(Duration::from_secs(second), Duration::from_secs(observe), 1, 0);
            }
        }
    }

    #[test]
    fn a_terminal_line_shows_the_step_of_the_driver() {
        let line = Line::on(ProgressBar::hidden());
        line.step("outage: break of \u{1b}[2Jx");
        line.tick(Duration::from_secs(400), Duration::from_secs(300), 1, 2);
        assert_eq!(
            line.bar.message(),
            r"6m 40s watched, 1 profile, 2 writes; outage: break of \u{1b}[2Jx"
        );
    }
}
