//! Random histories of a small hub, as watches of all kinds report them. Verdicts must be true of what happened.
//!
//! `COURSES_SEEDS` sets the number of histories, and `COURSES_SEED` the first seed.

mod course;
mod faults;
#[path = "../../support/seeds.rs"]
mod seeds;
mod watch;

use std::collections::BTreeMap;

use course::{Course, SECOND, honest, with_fault};
use judge::{RuleVerdict, Selection, Verdict, judge, rules::Level};
use proptest::{prelude::Strategy, test_runner::TestCaseError};
use watch::{Watch, watches};

/// How many histories `cargo test` tries.
const COURSES: u32 = 200;

/// How much of a violation a watch must show: the grace period, and three times the delay of a watch.
const ENOUGH: i64 = 150 * SECOND;

type Verdicts = BTreeMap<&'static str, RuleVerdict>;

/// The verdicts on a history that is watched in one way.
fn judged(course: &Course, watch: &Watch) -> Verdicts {
    let judgement = judge(&watch.evidence(course), &Selection::default());
    let verdicts = judgement.verdicts.into_iter();
    verdicts.map(|verdict| (verdict.rule.id, verdict)).collect()
}

/// Whether a rule has more than warnings.
fn is_broken(verdict: &RuleVerdict) -> bool {
    matches!(verdict.verdict, Verdict::Fail | Verdict::Warn)
        && verdict.findings.iter().any(|finding| !finding.advisory)
}

/// Checks that only rules that `may_be` allows are violated.
fn blames_no_manager(
    how: &str,
    verdicts: &Verdicts,
    may_be: impl Fn(&RuleVerdict) -> bool,
) -> Result<(), TestCaseError> {
    let mut broken = verdicts.values().filter(|verdict| is_broken(verdict));
    match broken.find(|verdict| !may_be(verdict)) {
        None => Ok(()),
        Some(verdict) => {
            let (rule, findings) = (verdict.rule.id, &verdict.findings);
            Err(TestCaseError::fail(format!("{how}: {rule}: {findings:#?}")))
        }
    }
}

/// The violations of a law in random histories.
fn complaints<T: Strategy>(
    courses: impl Fn() -> T + Sync,
    law: impl Fn(T::Value) -> Result<(), TestCaseError> + Sync,
) -> String {
    let try_some = |seed, cases| {
        let outcome = seeds::runner(seed, cases).run(&courses(), &law);
        outcome.map_err(|error| format!("COURSES_SEED={seed}: {error}"))
    };
    seeds::complaints("COURSES", COURSES, try_some).join("\n\n")
}

/// A manager that keeps every rule violates no MUST, whatever other clients write, and whatever the watch misses.
#[test]
fn no_honest_manager_is_blamed() {
    let is_less = |verdict: &RuleVerdict| verdict.level() != Level::Must;
    let complaints = complaints(
        || (honest(), watches()),
        |(course, watch)| {
            let complete = judged(&course, &Watch::complete());
            blames_no_manager("seen completely", &complete, is_less)?;
            blames_no_manager("seen by this watch", &judged(&course, &watch), is_less)
        },
    );
    assert!(complaints.is_empty(), "{complaints}");
}

/// Complete evidence shows a violation. A watch that shows enough of it does not let it pass, and adds no other violation.
#[test]
fn a_fault_that_is_seen_does_not_pass() {
    let complaints = complaints(
        || (with_fault(), watches()),
        |((rule, course), watch)| {
            let complete = judged(&course, &Watch::complete());
            if !is_broken(&complete[rule]) {
                let verdict = complete[rule].verdict;
                return Err(TestCaseError::fail(format!(
                    "seen completely: {rule}: {verdict:?}"
                )));
            }
            let seen = judged(&course, &watch);
            let saw = course.faults().into_iter().any(|fault| watch.saw(fault, ENOUGH));
            if saw && seen[rule].verdict == Verdict::Pass {
                return Err(TestCaseError::fail(format!("seen by this watch: {rule} passes")));
            }
            blames_no_manager("seen by this watch", &seen, |verdict| {
                let is_may = verdict.level() == Level::May;
                let complete = &complete[verdict.rule.id];
                // Without managedFields or configured names, the engine counts violations of unknown authors: those in profiles
                // of other managers, too.
                let mut objects = verdict.findings.iter().map(|finding| &finding.object.name);
                let is_of_others = !watch.knows_authors() && objects.all(|name| name.starts_with("other-"));
                // A later arrival may show more exactly how long a violation lasted.
                is_may || is_of_others || is_broken(complete) || complete.verdict == Verdict::Inconclusive
            })
        },
    );
    assert!(complaints.is_empty(), "{complaints}");
}
