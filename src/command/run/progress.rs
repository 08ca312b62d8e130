//! The progress of a run on standard error: a line that changes on a terminal, elsewhere a line each minute.

use std::{
    borrow::Cow,
    io::IsTerminal,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use indicatif::{ProgressBar, ProgressStyle};
use jiff::SignedDuration;
use report::{count, escape};

/// How often a log reports a wait; it does not report shorter waits.
const PERIOD: Duration = Duration::from_secs(60);

/// The style of the terminal line while the run watches.
const WATCHING: &str = "{spinner} [{bar:12}] {wide_msg}";
/// The style of the terminal line at other times.
const ELSE: &str = "{spinner} {wide_msg}";

pub struct Display {
    /// The line on a terminal, which disappears when it is dropped; none: a log.
    bar: Option<ProgressBar>,
    /// Prints a line that stays.
    write: Box<dyn Fn(&str) + Send + Sync>,
    /// Whether a log reports waits.
    waits: bool,
    /// The number of lines in the log about this wait.
    lines: AtomicU64,
    /// Whether the log reported that the run settles.
    settles: AtomicBool,
    step: Mutex<String>,
}

impl Display {
    /// Shows progress on standard error. Without `waits`, the hub's time is simulated, so a log does not report waits.
    pub fn new(waits: bool) -> Self {
        let bar = std::io::stderr().is_terminal().then(ProgressBar::no_length);
        Self::on(bar, waits, |line| anstream::eprintln!("{line}"))
    }

    pub fn on(bar: Option<ProgressBar>, waits: bool, write: impl Fn(&str) + Send + Sync + 'static) -> Self {
        if let Some(bar) = &bar {
            bar.set_style(style(ELSE));
        }
        Self {
            bar,
            write: Box::new(write),
            waits,
            lines: AtomicU64::new(0),
            settles: AtomicBool::new(false),
            step: Mutex::default(),
        }
    }

    /// Prints a line that stays.
    pub fn print(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| (self.write)(line)),
            None => (self.write)(line),
        }
    }

    pub fn warn(&self, what: &str) {
        self.print(&format!("warning: {}", escape::line(what)));
    }

    /// Shows what the run does now; a log does not.
    pub fn phase(&self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_style(style(ELSE));
            bar.set_message(what.to_owned());
            bar.tick();
        }
    }

    pub fn step(&self, what: &str) {
        *self.last_step() = escape::line(what).into_owned();
    }

    /// Shows for how long the run has watched, and what it has seen.
    pub fn tick(&self, elapsed: Duration, observe: Duration, profiles: usize, writes: u64) {
        let (watched, seen) = (in_words(elapsed), counts(profiles, writes));
        // A driver may take longer than the run was to watch.
        let left = observe.saturating_sub(elapsed);
        if let Some(bar) = &self.bar {
            if bar.length().is_none() {
                bar.set_length(observe.as_secs());
            }
            bar.set_style(style(WATCHING));
            let time = match left {
                Duration::ZERO => format!("{watched} watched"),
                left => format!("{} left", in_words(left)),
            };
            bar.set_message(format!("{time}, {seen}{}", self.end_of_line()));
            bar.set_position(elapsed.as_secs());
            return;
        }
        let periods = elapsed.as_secs() / PERIOD.as_secs();
        let lines = self.lines.load(Ordering::Relaxed);
        // The first line comes immediately.
        if !self.waits || observe.max(elapsed) < PERIOD || lines > periods {
            return;
        }
        self.lines.store(periods + 1, Ordering::Relaxed);
        let time = match (left, lines) {
            (Duration::ZERO, _) => format!("watched {watched}, until the driver is done"),
            (_, 0) => format!("watching for {}", in_words(observe)),
            _ => format!("watched {watched} of {}", in_words(observe)),
        };
        self.print(&format!("{time}: {seen}{}", self.end_of_line()));
    }

    /// Shows for what the run waits after its window.
    pub fn settling(&self, elapsed: Duration, most: Duration, awaited: &str) {
        let left = in_words(most.saturating_sub(elapsed));
        let line = format!("waiting for {awaited} to settle, at most {left}");
        if self.bar.is_some() {
            self.phase(&line);
        } else if self.waits && !self.settles.swap(true, Ordering::Relaxed) {
            self.print(&line);
        }
    }

    /// The driver's step at the end of a line; empty before the first step.
    fn end_of_line(&self) -> String {
        match &**self.last_step() {
            "" => String::new(),
            step => format!("; {step}"),
        }
    }

    fn last_step(&self) -> MutexGuard<'_, String> {
        self.step.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn style(template: &'static str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates are constants, and right")
}

fn counts(profiles: usize, writes: u64) -> String {
    let writes = usize::try_from(writes).unwrap_or(usize::MAX);
    format!("{}, {}", count(profiles, "profile"), count(writes, "write"))
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
    use std::sync::Arc;

    use super::*;

    const MINUTE: u64 = 60;

    #[test]
    fn a_log_reports_immediately_and_then_each_minute() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&lines);
        let log = Display::on(None, true, move |line| {
            written.lock().expect("a lock").push(line.to_owned())
        });
        for second in 1..=4 * MINUTE {
            let [watched, observe] = [second, 3 * MINUTE].map(Duration::from_secs);
            log.tick(watched, observe, 20, second / 50);
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
            let log = Display::on(None, waits, |line| panic!("{line}"));
            for second in 1..=observe {
                log.tick(Duration::from_secs(second), Duration::from_secs(observe), 1, 0);
            }
        }
    }

    #[test]
    fn a_terminal_line_shows_the_step_of_the_driver() {
        let line = Display::on(Some(ProgressBar::hidden()), true, |line| panic!("{line}"));
        line.step("outage: break of \u{1b}[2Jx");
        line.tick(Duration::from_secs(400), Duration::from_secs(300), 1, 2);
        let expected = r"6m 40s watched, 1 profile, 2 writes; outage: break of \u{1b}[2Jx";
        assert_eq!(line.bar.as_ref().expect("a line").message(), expected);
    }
}
