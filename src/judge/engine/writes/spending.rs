//! The budget of a profile write by write: the figures behind `updates/status-writes-within-budget`, for reports.

use evidence::{Evidence, api::ClusterProfile};
use jiff::Timestamp;

use super::{Count, budget::BUDGET, named::names};
use crate::{engine::Hub, hash::HashMap, time::timestamp};

/// The known budgets of a hub's profiles, by namespace and name.
pub struct Spendings<'e>(HashMap<(&'e str, &'e str), Vec<Spending>>);

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

impl<'e> Spendings<'e> {
    /// Reads the status writes of the implementation, from the source that the rule uses.
    pub fn of(evidence: &'e Evidence) -> Self {
        let hub = Hub::of(evidence);
        let mut spendings: HashMap<(&str, &str), Vec<Spending>> = HashMap::default();
        for named in names::<ClusterProfile>(&hub, Count::Status) {
            let of_name = spendings.entry(named.name).or_default();
            for writes in named.of_each_object(Count::Status) {
                let balances = writes.balances(BUDGET).into_iter();
                let draws = balances.map(|(at, left)| Draw {
                    at: timestamp(at),
                    left: left as f64 / BUDGET.refill as f64,
                });
                of_name.push(Spending {
                    source: writes.source,
                    draws: draws.collect(),
                });
            }
            of_name.retain(|spending| !spending.draws.is_empty());
        }
        Self(spendings)
    }

    /// The buckets of the profiles with one name, one after the other, without those that were never written.
    pub fn of_profile(&self, namespace: &'e str, name: &'e str) -> &[Spending] {
        self.0.get(&(namespace, name)).map_or(&[], Vec::as_slice)
    }
}

impl Spending {
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

impl Source {
    /// A note on the evidence of a budget rule.
    pub(super) fn note(self) -> &'static str {
        match self {
            Self::AuditLog => "judged from the audit log, which has every write",
            Self::Watch => "judged from the watch, which shows writes that change something",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{self, example::Example};

    /// The drawing agrees with the verdict: the profiles with a finding are those with an overdrawn bucket.
    #[test]
    fn is_overdrawn_where_the_rule_reports_a_violation() {
        let judge = rules::find("updates/status-writes-within-budget").expect("the rule");
        let (mut complaints, mut buckets) = (0, 0);
        for rule in rules::all().iter().filter(|rule| rule.suite() == "updates") {
            for example in Example::of(rule).expect("examples") {
                let evidence = example.evidence();
                let findings = judge.findings(evidence);
                let spendings = Spendings::of(evidence);
                for history in evidence.histories() {
                    let metadata = &history.last().metadata;
                    let of_profile = spendings.of_profile(&metadata.namespace, &metadata.name);
                    let is_reported = findings.list().iter().any(|finding| {
                        *finding.object.name == *metadata.name
                            && *finding.object.namespace == *metadata.namespace
                    });
                    assert_eq!(
                        of_profile.iter().any(Spending::is_overdrawn),
                        is_reported,
                        "{}: {}",
                        rule.id,
                        metadata.name
                    );
                    complaints += usize::from(is_reported);
                    buckets += of_profile.len();
                }
            }
        }
        assert!(complaints > 3 && buckets > 30, "{complaints} of {buckets}");
    }
}
