//! How a run goes on, for those who wait at a terminal.

use std::{borrow::Cow, io::IsTerminal, time::Duration};

use clusterprofile_conformance::{collect::Progress, report::inert};
use indicatif::{ProgressBar, ProgressStyle};
use jiff::SignedDuration;

/// How a run with a watch is told: how far it is, what is seen, and what the driver does.
const WATCHING: &str = "{spinner} watching [{bar:20}] {msg}{prefix}";

/// A line on standard error that tells what is being done; nothing where standard error is no terminal.
#[derive(Debug)]
pub struct Line(ProgressBar);

impl Line {
    /// A line that is gone when it is dropped.
    pub fn new() -> Self {
        let bar = if std::io::stderr().is_terminal() {
            ProgressBar::no_length()
        } else {
            ProgressBar::hidden()
        };
        bar.set_style(style("{spinner} {msg}"));
        Self(bar)
    }
}

impl Progress for Line {
    fn phase(&self, what: &str) {
        self.0.set_style(style("{spinner} {msg}"));
        self.0.set_message(inert::line(what).into_owned());
        self.0.tick();
    }

    fn tick(&self, elapsed: Duration, observe: Duration, profiles: usize, writes: u64) {
        if self.0.length().is_none() {
            self.0.set_style(style(WATCHING));
            self.0.set_length(observe.as_secs());
        }
        let position = elapsed.as_secs();
        let (elapsed, observe) = (told(elapsed), told(observe));
        self.0.set_message(format!(
            "{elapsed} of {observe}, {profiles} profiles, {writes} changes"
        ));
        self.0.set_position(position);
    }

    fn step(&self, what: &str) {
        self.0.set_prefix(format!("; {}", inert::line(what)));
    }

    fn warn(&self, what: &str) {
        self.0
            .suspend(|| anstream::eprintln!("warning: {}", inert::line(what)));
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn style(template: &'static str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates are constants, and right")
}

fn told(duration: Duration) -> Cow<'static, str> {
    match SignedDuration::try_from(Duration::from_secs(duration.as_secs())) {
        Ok(duration) => format!("{duration:#}").into(),
        Err(_) => "for ever".into(),
    }
}
