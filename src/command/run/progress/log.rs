//! Progress in a log.

use std::{
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use collect::{Progress, Snapshot};
use evidence::{Awaited, Evidence};
use report::escape;

use super::{SoFar, Step, in_words, seen};
use crate::command::terminal::advice;

/// How often a log reports a wait; it does not report shorter waits.
const PERIOD: Duration = Duration::from_secs(60);

/// A log, such as a pipeline's: neither silent for long, nor flooded.
pub struct Log<Say: Fn(&str) + Send + Sync> {
    so_far: SoFar,
    waits: bool,
    /// The number of lines about this wait.
    lines: AtomicU64,
    /// Whether it was told that the run looks on.
    settles: AtomicBool,
    told: Mutex<Told>,
    step: Step,
    say: Say,
}

/// What was said of the evidence so far.
#[derive(Default)]
struct Told {
    /// The number of broken rules.
    broken: usize,
    /// Whether it was said that something is pending.
    pending: bool,
}

impl<Say: Fn(&str) + Send + Sync> Log<Say> {
    pub fn new(so_far: SoFar, waits: bool, say: Say) -> Self {
        Self {
            so_far,
            waits,
            lines: AtomicU64::new(0),
            settles: AtomicBool::new(false),
            told: Mutex::default(),
            step: Step::default(),
            say,
        }
    }

    /// Says which rules are newly broken.
    fn say_broken(&self) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        for line in self.so_far.broken_since(told.broken) {
            told.broken += 1;
            (self.say)(&format!("broken: {line}"));
        }
    }

    /// Says which rules are newly broken, and once what is pending.
    fn say_so_far(&self) {
        self.say_broken();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = self.so_far.pending().filter(|_| !told.pending) {
            told.pending = true;
            (self.say)(&line);
        }
    }
}

/// A run may end on what was found since the last tick.
impl<Say: Fn(&str) + Send + Sync> Drop for Log<Say> {
    fn drop(&mut self) {
        self.say_broken();
    }
}

impl<Say: Fn(&str) + Send + Sync> Progress for Log<Say> {
    fn tick(&self, elapsed: Duration, observe: Duration, profiles: usize, writes: u64) {
        if !self.waits {
            return;
        }
        self.say_so_far();
        // A driver may take longer.
        if observe.max(elapsed) < PERIOD {
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
        let mut line = match lines {
            _ if elapsed >= observe => format!("watched {watched}, until the driver is done: {seen}"),
            0 => format!("watching for {}: {seen}", in_words(observe)),
            _ => format!("watched {watched} of {}: {seen}", in_words(observe)),
        };
        line += &self.step.at_end();
        (self.say)(&line);
    }

    fn step(&self, what: &str) {
        self.step.set(what);
    }

    fn open(&self, so_far: &Evidence) -> Awaited {
        self.so_far.open(so_far)
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

    fn wants_glance(&self) -> bool {
        self.so_far.is_due(self.waits)
    }

    fn glance(&self, so_far: Snapshot) {
        self.so_far.judge(so_far);
    }
}

#[cfg(test)]
mod tests {
    use judge::Selection;

    use super::*;

    const MINUTE: u64 = 60;

    fn nothing_found() -> SoFar {
        SoFar::new(&Selection::default(), None, None)
    }

    #[test]
    fn a_log_is_told_at_once_and_then_each_minute() {
        let lines = Mutex::new(Vec::new());
        let log = Log::new(nothing_found(), true, |line: &str| {
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
    fn a_log_is_not_told_of_what_takes_no_time() {
        for (waits, observe) in [(true, 59_u64), (false, 600)] {
            let log = Log::new(nothing_found(), waits, |line: &str| panic!("{line}"));
            for second in 1..=observe {
                log.tick(Duration::from_secs(second), Duration::from_secs(observe), 1, 0);
            }
            assert_eq!(log.wants_glance(), waits);
        }
    }
}
