//! Events about findings: one for each finding that appears.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
    time::Duration,
};

use collect::hub_events::{EventError, EventWriter, Told, Written};
use judge::{Judgement, RuleVerdict, rules::Finding};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use super::status::{AGAIN, Shared};

/// How many findings may be told of.
const MOST: usize = 1000;
/// How far apart Events are on average, and how many may follow each other at once.
const INTERVAL: Duration = Duration::from_secs(1);
const BURST: u32 = 20;
/// The reason of each Event.
const REASON: &str = "RuleBroken";

/// The findings to tell of, as of the last judgement.
pub type Findings = Arc<Vec<Told>>;

/// How many Events were written, were there already, or could not be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    written: u64,
    known: u64,
    failed: u64,
}

impl Outcomes {
    /// The counts by name.
    pub fn counts(&self) -> [(&'static str, u64); 3] {
        [
            ("written", self.written),
            ("known", self.known),
            ("failed", self.failed),
        ]
    }
}

/// The beginning of the time in which Events may have been left out, so that as many may follow each other at once.
fn earliest(now: Instant) -> Instant {
    now.checked_sub(INTERVAL * BURST).unwrap_or(now)
}

/// The findings of a judgement as Events.
pub fn findings(judgement: &Judgement, api_version: &str) -> Vec<Told> {
    let each = judgement.verdicts.iter().flat_map(|verdict| {
        let findings = verdict.findings.iter();
        findings.map(move |finding| event(verdict, finding, api_version))
    });
    each.take(MOST).collect()
}

fn event(verdict: &RuleVerdict, finding: &Finding, api_version: &str) -> Told {
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
    let mut hasher = DefaultHasher::new();
    (
        id,
        &object.kind,
        &object.namespace,
        &object.name,
        &object.uid,
        path,
    )
        .hash(&mut hasher);
    Told {
        object: object.clone(),
        api_version: match object.kind.as_str() {
            "Namespace" | "Secret" => "v1".to_owned(),
            _ => api_version.to_owned(),
        },
        digest: format!("{:016x}", hasher.finish()),
        reason: REASON,
        note: report::escape::line(&note).into_owned(),
    }
}

/// What is known of one finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    /// How often it has appeared.
    count: u32,
    /// True while it is there.
    present: bool,
}

/// Tells of findings, each once while it is there.
pub struct Teller {
    writer: EventWriter,
    known: BTreeMap<String, Known>,
    outcomes: Outcomes,
    /// From when on the next Event may be written, if all before had been on time.
    due: Instant,
    /// True once it was told that Events are refused.
    is_warned: bool,
}

impl Teller {
    /// A teller that has not told of anything yet. What the hub still knows is not told again.
    pub fn new(writer: EventWriter) -> Self {
        Self {
            writer,
            known: BTreeMap::new(),
            outcomes: Outcomes::default(),
            due: earliest(Instant::now()),
            is_warned: false,
        }
    }

    /// Tells of what appears, for as long as it is polled.
    pub async fn follow(&mut self, findings: &mut watch::Receiver<Findings>, shared: &Shared) {
        while findings.changed().await.is_ok() {
            let present = Arc::clone(&findings.borrow_and_update());
            self.tell(&present).await;
            shared.count_events(self.outcomes);
        }
    }

    async fn tell(&mut self, findings: &[Told]) {
        let mut present: BTreeMap<&str, &Told> = BTreeMap::new();
        present.extend(findings.iter().map(|told| (&*told.digest, told)));
        for (digest, known) in &mut self.known {
            known.present &= present.contains_key(&**digest);
        }
        if self.known.len() > 10 * MOST {
            self.known.retain(|_, known| known.present);
        }
        for (digest, told) in present {
            let known = self.known.get(digest).copied();
            if known.is_some_and(|known| known.present) {
                continue;
            }
            self.turn().await;
            let count = known.map_or(1, |known| known.count + 1);
            let written = if count == 1 {
                self.writer.tell(told).await
            } else {
                self.writer.tell_again(told, count).await
            };
            match written {
                Ok(written) => {
                    self.outcomes.written += u64::from(written == Written::New);
                    self.outcomes.known += u64::from(written == Written::Known);
                    let present = true;
                    self.known.insert(digest.to_owned(), Known { count, present });
                }
                // The next judgement has the finding again.
                Err(error) => {
                    self.outcomes.failed += 1;
                    return self.rest(&error);
                }
            }
        }
    }

    /// Waits until an Event may be written.
    async fn turn(&mut self) {
        self.due = self.due.max(earliest(Instant::now())) + INTERVAL;
        sleep_until(self.due).await;
    }

    fn rest(&mut self, error: &EventError) {
        self.due = Instant::now() + AGAIN;
        if !self.is_warned {
            self.is_warned = true;
            let advice = match error {
                EventError::Forbidden(_) => "; apply the role that `rbac --monitor --events` prints",
                EventError::Failed(_) => "",
            };
            anstream::eprintln!("warning: {}{advice}", report::escape::line(&error.to_string()));
        }
    }
}
