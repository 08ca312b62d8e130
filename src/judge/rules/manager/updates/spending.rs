//! The budget of a profile write by write: the figures behind `updates/status-writes-within-budget`, for reports.

use evidence::Evidence;
use jiff::Timestamp;

use super::{
    budget::{is_told_by, sure_writes, was_watched},
    log::{Names, StatusLog},
    spendable::Writers,
};
use crate::{
    shared::{bucket::BUDGET, writes::status_writes},
    time::{Events, skew, timestamp},
};

/// The known budgets of a hub's profiles.
pub struct Spendings<'a> {
    evidence: &'a Evidence,
    who: Writers<'a>,
    log: Option<StatusLog<'a>>,
    names: Names<'a>,
}

/// One profile's bucket, from its creation (or the first evidence) to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Spending {
    /// The evidence of the writes.
    pub source: Source,
    /// The writes, in order.
    pub draws: Vec<Draw>,
}

/// One status write, and the balance after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    /// When it was reported, by the runner's clock.
    pub at: Timestamp,
    /// Best possible number of writes left, as far as times are known: at most [`BURST`](crate::rules::BURST); negative if
    /// overdrawn.
    pub left: f64,
}

/// The evidence of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The audit log: all writes.
    AuditLog,
    /// The watch: writes that change something.
    Watch,
}

impl<'a> Spendings<'a> {
    /// Reads the audit log, if there is one.
    pub fn of(evidence: &'a Evidence) -> Self {
        let who = Writers::of(evidence);
        Self {
            evidence,
            log: StatusLog::read(evidence, &who),
            who,
            names: Names::of(evidence),
        }
    }

    /// The buckets of the profiles with one name, one after the other, without those that were never written. Like
    /// the rule, uses the log, and the watch where it saw more or proves more, without what may be a person's.
    pub fn of_profile(&self, namespace: &'a str, name: &'a str) -> Vec<Spending> {
        let key = (namespace, name);
        let mut spendings = Vec::new();
        let histories = self.names.histories(key);
        let watched = || {
            histories
                .iter()
                .map(|history| status_writes(self.evidence, history))
        };
        let mut is_told = false;
        if let Some(log) = &self.log {
            let ahead = skew(self.evidence);
            let lives = log.sure().lives(key).iter().map(|life| &life.writes);
            spendings.extend(lives.map(|writes| Spending::of(Source::AuditLog, writes, ahead)));
            is_told = is_told_by(&log.all, key, watched().map(|writes| writes.len()).sum());
        }
        if was_watched(self.evidence) && !spendings.iter().any(Spending::is_overdrawn) {
            let sure = watched().map(|writes| sure_writes(&self.who, writes));
            let seen = sure.map(|writes| Spending::of(Source::Watch, &writes, 0));
            spendings.extend(seen.filter(|spending| !is_told || spending.is_overdrawn()));
        }
        spendings.retain(|spending| !spending.draws.is_empty());
        spendings
    }
}

impl Spending {
    /// The bucket after each write; the clock of the source is ahead by `ahead`.
    fn of(source: Source, writes: &Events, ahead: i64) -> Self {
        let told = writes
            .iter()
            .map(|moment| timestamp(moment.reported.saturating_sub(ahead)));
        let balances = writes.balances(BUDGET).into_iter();
        let left = balances.map(|left| left as f64 / BUDGET.refill as f64);
        Self {
            source,
            draws: told.zip(left).map(|(at, left)| Draw { at, left }).collect(),
        }
    }

    /// Whether a write overdraws the bucket.
    pub fn is_overdrawn(&self) -> bool {
        self.draws.iter().any(Draw::is_too_much)
    }
}

impl Draw {
    /// Whether it overdraws the bucket.
    pub fn is_too_much(&self) -> bool {
        self.left < 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{self, example::Example};

    /// The drawing must agree with the verdict: in every example of the suite, the profiles with a finding are those whose bucket
    /// is overdrawn.
    #[test]
    fn is_overdrawn_just_where_the_rule_complains() {
        let judge = rules::find("updates/status-writes-within-budget").expect("the rule");
        let (mut complaints, mut buckets) = (0, 0);
        for rule in rules::all().iter().filter(|rule| rule.suite() == "updates") {
            for example in Example::of(rule).expect("examples") {
                let evidence = example.evidence();
                let findings = judge.findings(evidence);
                let spendings = Spendings::of(evidence);
                for history in evidence.histories() {
                    let metadata = &history.last().metadata;
                    let found = spendings.of_profile(&metadata.namespace, &metadata.name);
                    let is_found = findings.list().iter().any(|finding| {
                        *finding.object.name == *metadata.name
                            && *finding.object.namespace == *metadata.namespace
                    });
                    assert_eq!(
                        found.iter().any(Spending::is_overdrawn),
                        is_found,
                        "{}: {}",
                        rule.id,
                        metadata.name
                    );
                    complaints += usize::from(is_found);
                    buckets += found.len();
                }
            }
        }
        assert!(complaints > 3 && buckets > 100, "{complaints} of {buckets}");
    }
}
