//! Progress on a terminal, in place.

use std::{path::Path, time::Duration};

use collect::{Progress, Snapshot};
use evidence::{Awaited, Evidence};
use indicatif::{ProgressBar, ProgressStyle};
use report::escape;

use super::{SoFar, Step, in_words, seen};
use crate::command::terminal::advice;

/// The line of a run that watches: its progress, what it has seen, broken rules, and the driver's step.
const WATCHING: &str = "{spinner} [{bar:12}] {wide_msg}";
/// The same, and what is broken.
const WATCHING_BROKEN: &str = "{spinner} [{bar:12}] {wide_msg}\n{prefix}";
const ELSE: &str = "{spinner} {wide_msg}";

/// How many broken rules are shown.
const MOST_BROKEN: usize = 5;

/// A line on a terminal, and those on broken rules below it; gone when it is dropped.
pub struct Line {
    pub(super) bar: ProgressBar,
    step: Step,
    so_far: SoFar,
    waits: bool,
}

impl Line {
    pub fn new(so_far: SoFar, waits: bool) -> Self {
        Self::on(ProgressBar::no_length(), so_far, waits)
    }

    pub(super) fn on(bar: ProgressBar, so_far: SoFar, waits: bool) -> Self {
        bar.set_style(style(ELSE));
        Self {
            bar,
            step: Step::default(),
            so_far,
            waits,
        }
    }

    /// Shows what is broken already, and what is pending, each line cut to the terminal.
    fn show_so_far(&self) {
        let columns = usize::from(console::Term::stderr().size().1);
        let mut lines = self.so_far.broken();
        let hidden = lines.len().saturating_sub(MOST_BROKEN);
        lines.truncate(MOST_BROKEN);
        if hidden > 0 {
            lines.push(format!("… and {hidden} more"));
        }
        lines.extend(self.so_far.pending());
        let cut = |line: &String| console::truncate_str(&format!("  {line}"), columns, "…").into_owned();
        let lines: Vec<String> = lines.iter().map(cut).collect();
        self.bar.set_style(style(if lines.is_empty() {
            WATCHING
        } else {
            WATCHING_BROKEN
        }));
        self.bar.set_prefix(lines.join("\n"));
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
        if self.waits {
            self.show_so_far();
        } else {
            self.bar.set_style(style(WATCHING));
        }
        let mut told = match observe.saturating_sub(elapsed) {
            Duration::ZERO => format!("{} watched", in_words(elapsed)),
            left => format!("{} left", in_words(left)),
        };
        told += &format!(", {}", seen(profiles, writes));
        match self.so_far.broken().len() {
            0 => {}
            1 => told += ", 1 MUST rule broken so far",
            broken => told += &format!(", {broken} MUST rules broken so far"),
        }
        told += &self.step.at_end();
        self.bar.set_message(told);
        self.bar.set_position(elapsed.as_secs());
    }

    fn open(&self, so_far: &Evidence) -> Awaited {
        self.so_far.open(so_far)
    }

    fn settling(&self, elapsed: Duration, most: Duration, awaited: &str) {
        self.bar.set_style(style(ELSE));
        let left = in_words(most.saturating_sub(elapsed));
        self.bar
            .set_message(format!("waiting for {awaited} to settle, at most {left}"));
        self.bar.tick();
    }

    fn step(&self, what: &str) {
        self.step.set(what);
    }

    fn warn(&self, what: &str) {
        self.bar
            .suspend(|| anstream::eprintln!("warning: {}", escape::line(what)));
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

impl Drop for Line {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        if self.so_far.ends_the_run() {
            for line in self.so_far.broken() {
                anstream::eprintln!("broken: {line}");
            }
        }
    }
}

fn style(template: &'static str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates are constants, and right")
}
