//! The progress of a run: on a terminal lines that change, elsewhere a line each minute. Both show what is broken already.

mod line;
mod log;
mod so_far;
#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    io::IsTerminal,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use collect::Progress;
use jiff::SignedDuration;
use report::escape;

pub use self::so_far::SoFar;
use self::{line::Line, log::Log};
use crate::command::sonobuoy::Relay;

/// Reports progress on standard error. Without `waits`, the hub's time is simulated and there is nothing to wait for.
pub fn progress(so_far: SoFar, waits: bool) -> Box<dyn Progress> {
    if std::io::stderr().is_terminal() {
        Box::new(Line::new(so_far, waits))
    } else {
        let relay = Relay::from_environment();
        Box::new(Log::new(so_far, waits, move |line| {
            anstream::eprintln!("{line}");
            if let Some(relay) = relay {
                relay.say(line);
            }
        }))
    }
}

/// The driver's last step, for the line of a run.
#[derive(Default)]
struct Step(Mutex<String>);

impl Step {
    fn set(&self, what: &str) {
        *self.lock() = escape::line(what).into_owned();
    }

    /// What is said of it at the end of a line; nothing before the first step.
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

fn seen(profiles: usize, writes: u64) -> String {
    let plural = |number: u64| if number == 1 { "" } else { "s" };
    format!(
        "{profiles} profile{}, {writes} write{}",
        plural(profiles as u64),
        plural(writes)
    )
}

fn in_words(duration: Duration) -> Cow<'static, str> {
    match SignedDuration::try_from(Duration::from_secs(duration.as_secs())) {
        Ok(duration) => format!("{duration:#}").into(),
        Err(_) => "for ever".into(),
    }
}
