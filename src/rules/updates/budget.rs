//! How often an object may be written (KEP-4322 › Scalability implication).

use crate::{
    evidence::{Asked, Evidence, Kind, Origin, ProfileHistory, Request},
    rules::{
        Finding, Findings,
        bucket::{BURST, Overdraw, REFILL_SECONDS, allowed, overdraw},
        moment::{Micros, Moment, SECOND, end, status_writes},
    },
};

use super::log::{Key, Log, Names};

/// The time from which on a mean says something, in seconds (the ledger's 10 min).
const LONG_ENOUGH: i64 = 600;

/// `updates/status-writes-within-budget`
pub(in crate::rules) fn status_writes_within_budget(evidence: &Evidence, findings: &mut Findings) {
    let log = Log::read(evidence, Request::is_status_write);
    let watched = was_watched(evidence);
    say_what_was_used(evidence, log.as_ref(), findings);
    let Some(log) = log else {
        if watched {
            for history in evidence.histories() {
                findings.examine();
                if let Some(found) = watched_overdraw(evidence, history) {
                    findings.report(too_often(Finding::on(history.last(), TOO_OFTEN), found));
                }
            }
        }
        return;
    };
    let names = Names::of(evidence);
    let mut lacking = 0;
    for key in names.judged(&log) {
        findings.examine();
        let lives = log.lives(key);
        if let Some(found) = lives.iter().find_map(|life| overdraw(&life.writes, BURST, 0)) {
            findings.report(too_often(Finding::on(names.reference(key), TOO_OFTEN), found));
            continue;
        }
        let histories = names.histories(key);
        let seen = |history: &&ProfileHistory| status_writes(evidence, history).len();
        if !watched || is_told_by(&log, key, histories.iter().map(seen).sum()) {
            continue;
        }
        lacking += 1;
        for history in histories {
            if let Some(found) = watched_overdraw(evidence, history) {
                findings.report(too_often(Finding::on(history.last(), TOO_OFTEN), found));
            }
        }
    }
    if lacking > 0 {
        findings.note(format!(
            "the audit log does not tell all that the watch saw: {lacking} profiles were judged from the watch too"
        ));
    }
}

const TOO_OFTEN: &str = "the status is written more often than the budget allows";

fn watched_overdraw(evidence: &Evidence, history: &ProfileHistory) -> Option<Overdraw> {
    let moments: Vec<Moment> = status_writes(evidence, history)
        .iter()
        .map(|write| write.moment)
        .collect();
    overdraw(&moments, BURST, 0)
}

fn too_often(finding: Finding, found: Overdraw) -> Finding {
    finding
        .at("status")
        .expected(format!(
            "{} ({BURST} at once, one more every {REFILL_SECONDS} s)",
            found.expected()
        ))
        .observed(found.observed("writes"))
}

/// Whether the log tells of an object at least as much as the watch saw: an audit policy may leave requests out.
fn is_told_by<'a>(log: &Log<'a>, key: Key<'a>, seen: usize) -> bool {
    let told: usize = log.lives(key).iter().map(|life| life.writes.len()).sum();
    log.covers_window && told >= seen
}

fn was_watched(evidence: &Evidence) -> bool {
    *evidence.asked(Kind::Timeline) == Asked::Yes
}

/// Says which evidence was used, and what it could have caught.
fn say_what_was_used(evidence: &Evidence, log: Option<&Log>, findings: &mut Findings) {
    let caught = |seconds: i64| {
        format!(
            "over its {seconds} s more than {BURST} at once are caught, or more than {} in all",
            allowed(BURST, seconds.saturating_mul(SECOND))
        )
    };
    if let Some(log) = log {
        findings.note(format!(
            "judged from the audit log, where all status writes count: {}",
            caught(log.seconds)
        ));
    }
    if log.is_some_and(|log| log.covers_window) {
        return;
    }
    if let (true, Some(window)) = (was_watched(evidence), evidence.header.window) {
        findings.note(format!(
            "judged from the watch, where status writes that change something count: {}",
            caught(window.seconds())
        ));
    }
}

/// `updates/average-rate`
pub(in crate::rules) fn average_rate(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no profile was seen for 10 min or longer, as a mean needs");
    let watched = was_watched(evidence);
    let log = Log::read(evidence, |_| true);
    match &log {
        Some(_) => findings.note("judged from the audit log, where all writes on a profile count"),
        None => findings.note("judged from the watch, where the writes that change a profile count"),
    }
    let Some(log) = log else {
        if watched {
            for history in evidence.histories() {
                judge_mean_of(evidence, history, findings);
            }
        }
        return;
    };
    let names = Names::of(evidence);
    for key in names.judged(&log) {
        let found = findings.list.len();
        for life in log.lives(key) {
            let mean = Mean {
                writes: life.writes.len(),
                span: life.until - life.from,
            };
            mean.judge(|| Finding::on(names.reference(key), ON_AVERAGE), findings);
        }
        let histories = names.histories(key);
        let seen = histories.iter().map(|history| count_of(history)).sum();
        if log.lives(key).is_empty() && log.seconds >= LONG_ENOUGH {
            findings.examine();
        }
        if watched && found == findings.list.len() && !is_told_by(&log, key, seen) {
            for history in histories {
                judge_mean_of(evidence, history, findings);
            }
        }
    }
}

const ON_AVERAGE: &str = "on average the profile is written more often than every 30 s";

/// So many writes in so much time.
struct Mean {
    writes: usize,
    span: Micros,
}

impl Mean {
    /// The burst is taken off; a second is granted, as ends of the span are not known better.
    fn judge(&self, finding: impl FnOnce() -> Finding, findings: &mut Findings) {
        if self.span < LONG_ENOUGH * SECOND {
            return;
        }
        findings.examine();
        let allowed = allowed(BURST, self.span.saturating_add(SECOND));
        if i64::try_from(self.writes).is_ok_and(|writes| writes <= allowed) {
            return;
        }
        let seconds = self.span / SECOND;
        findings.report(
            finding()
                .at("metadata.resourceVersion")
                .expected(format!(
                    "at most {allowed} writes in {seconds} s ({BURST} and one every {REFILL_SECONDS} s)"
                ))
                .observed(format!("{} writes in {seconds} s", self.writes)),
        );
    }
}

/// Judges one profile from the watch, over the part of the window in which it was there.
fn judge_mean_of(evidence: &Evidence, history: &ProfileHistory, findings: &mut Findings) {
    let (Some(window), Some(end)) = (evidence.header.window, end(evidence)) else {
        return;
    };
    let from = match (history.origin, history.versions.first()) {
        (Origin::Created | Origin::Relisted, Some(first)) => first.at.as_microsecond(),
        _ => window.from.as_microsecond(),
    };
    let until = history.deleted.map_or(end, |deleted| deleted.as_microsecond());
    let mean = Mean {
        writes: count_of(history),
        span: until - from,
    };
    mean.judge(|| Finding::on(history.last(), ON_AVERAGE), findings);
}

/// How many writes the watch saw on a profile.
fn count_of(history: &ProfileHistory) -> usize {
    history
        .steps()
        .filter(|(before, after)| {
            before.profile.metadata.resource_version != after.profile.metadata.resource_version
        })
        .count()
}
