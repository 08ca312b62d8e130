//! Events about findings: one for each finding that appears.

use std::{
    convert::Infallible,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
    time::Duration,
};

use collect::hub_events::{EventError, EventWriter, Told, Written};
use judge::{RuleVerdict, rules::Finding};
use tokio::time::{Instant, sleep_until};

use super::{backlog::Backlog, status::Shared};

/// How far apart Events are on average, and how many may follow each other at once.
const INTERVAL: Duration = Duration::from_secs(1);
const BURST: u32 = 20;
/// The reason of each Event.
const REASON: &str = "RuleBroken";

/// The beginning of the time in which Events may have been left out, so that as many may follow each other at once.
fn earliest(now: Instant) -> Instant {
    now.checked_sub(INTERVAL * BURST).unwrap_or(now)
}

/// Tells a finding from others, also after a restart.
pub fn digest(rule: &str, finding: &Finding) -> u64 {
    let (object, path) = (&finding.object, &finding.path);
    let mut hasher = DefaultHasher::new();
    (
        rule,
        &object.kind,
        &object.namespace,
        &object.name,
        &object.uid,
        path,
    )
        .hash(&mut hasher);
    hasher.finish()
}

/// A finding as an Event.
pub fn event(verdict: &RuleVerdict, finding: &Finding, digest: u64, api_version: String) -> Told {
    let Finding {
        object,
        path,
        expected,
        observed,
        message,
        ..
    } = finding;
    let (id, level) = (verdict.rule.id, verdict.rule.facts.level);
    let place = if path.is_empty() {
        String::new()
    } else {
        format!(" at {path}")
    };
    let note = format!("{level} {id}: {message}{place}; expected {expected}; observed {observed}");
    Told {
        object: object.clone(),
        api_version,
        digest: format!("{digest:016x}"),
        reason: REASON,
        note: report::escape::line(&note).into_owned(),
    }
}

/// Tells of findings, each once while it is there.
pub struct Teller {
    writer: EventWriter,
    backlog: Arc<Backlog>,
    /// The command that prints the grants.
    grants: String,
    /// From when on the next Event may be written, if all before had been on time.
    due: Instant,
    /// True once it was told that Events are forbidden.
    is_forbidden_told: bool,
    /// True once it was told that Events are refused, or that the hub fails, until one is written again.
    is_failure_told: bool,
}

impl Teller {
    /// A teller that has not told of anything yet. What the hub still knows is not told again. `grants` is the command
    /// that prints the grants.
    pub fn new(writer: EventWriter, grants: String) -> Self {
        Self {
            writer,
            backlog: Arc::default(),
            grants,
            due: earliest(Instant::now()),
            is_forbidden_told: false,
            is_failure_told: false,
        }
    }

    /// What writes the Events.
    pub fn writer(&mut self) -> &mut EventWriter {
        &mut self.writer
    }

    /// Where findings wait to be told.
    pub fn backlog(&self) -> Arc<Backlog> {
        Arc::clone(&self.backlog)
    }

    /// Tells of what waits, for as long as it is polled.
    pub async fn follow(&mut self, shared: &Shared) -> Infallible {
        loop {
            sleep_until(self.due).await;
            let waiting = self.backlog.next().await;
            let outcome = if waiting.count == 1 {
                self.writer.tell(&waiting.told).await
            } else {
                self.writer.tell_again(&waiting.told, waiting.count).await
            };
            self.due = self.due.max(earliest(Instant::now())) + INTERVAL;
            self.backlog.settle(&waiting, &outcome);
            shared.count_events(self.backlog.outcomes());
            self.report(&outcome);
        }
    }

    fn report(&mut self, outcome: &Result<Written, EventError>) {
        let (error, advice) = match outcome {
            Ok(_) => {
                if std::mem::take(&mut self.is_failure_told) {
                    anstream::eprintln!("note: Events are written again");
                }
                return;
            }
            Err(error @ EventError::Forbidden(_)) => {
                if std::mem::replace(&mut self.is_forbidden_told, true) {
                    return;
                }
                (error, format!("; apply the role that `{}` prints", self.grants))
            }
            Err(error) => {
                if std::mem::replace(&mut self.is_failure_told, true) {
                    return;
                }
                (error, "; trying again".to_owned())
            }
        };
        anstream::eprintln!("warning: {}{advice}", report::escape::line(&error.to_string()));
    }
}
