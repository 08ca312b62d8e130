//! Consumers under adverse conditions: a correct verdict, or a clear reason why there is none.

use std::time::Duration;

use evidence::{Evidence, Expect, Kind, Published};
use judge::{Selection, Verdict, judge};
use lab::consumer::{Crash, Habits, Polling};

use crate::observed_consumer::{Condition, ConsumerRun};

/// A rule's verdict, and its reasons.
type Outcome = (String, Verdict, String);

fn outcomes(evidence: &Evidence) -> Vec<Outcome> {
    let judgement = judge(evidence, &Selection::default());
    let verdicts = judgement.verdicts.iter().map(|verdict| {
        let findings = verdict
            .findings
            .iter()
            .map(|finding| format!("{}: {}: {}", finding.object, finding.message, finding.observed));
        let reasons: Vec<String> = findings.take(3).chain(verdict.reason()).collect();
        (verdict.rule.id.to_owned(), verdict.verdict, reasons.join("; "))
    });
    verdicts.collect()
}

fn with(outcomes: &[Outcome], verdict: Verdict) -> Vec<&Outcome> {
    outcomes
        .iter()
        .filter(|(_, of_rule, _)| *of_rule == verdict)
        .collect()
}

/// Asserts that an honest consumer violates no rule, that at least `passes` rules pass, and that each rule without a verdict has a
/// reason.
fn assert_honest(run: &ConsumerRun<'_>, passes: usize) -> (Evidence, Vec<Outcome>) {
    let evidence = run.observe();
    let outcomes = outcomes(&evidence);
    for verdict in [Verdict::Fail, Verdict::Warn] {
        assert!(with(&outcomes, verdict).is_empty(), "{run:?}: {outcomes:#?}");
    }
    assert!(
        with(&outcomes, Verdict::Pass).len() >= passes,
        "{run:?}: {outcomes:#?}"
    );
    let mut inconclusive = with(&outcomes, Verdict::Inconclusive).into_iter();
    assert!(
        inconclusive.all(|(.., reason)| !reason.is_empty()),
        "{run:?}: {outcomes:#?}"
    );
    (evidence, outcomes)
}

/// Asserts that a rule is violated, and no other rule.
fn assert_only_violation(run: &ConsumerRun<'_>, rule: &str) {
    let outcomes = outcomes(&run.observe());
    let violated = outcomes
        .iter()
        .filter(|(_, verdict, _)| matches!(verdict, Verdict::Fail | Verdict::Warn));
    let rules: Vec<&str> = violated.map(|(id, ..)| id.as_str()).collect();
    assert_eq!(rules, [rule], "{run:?}: {outcomes:#?}");
}

/// Whether a gap of the testbed or of the calls has such a reason.
fn has_gap(evidence: &Evidence, kind: Kind, part: &str) -> bool {
    evidence.gaps(kind).any(|gap| gap.reason.contains(part))
}

fn habits(change: impl FnOnce(&mut Habits)) -> ConsumerRun<'static> {
    let mut run = ConsumerRun::default();
    change(&mut run.habits);
    run
}

fn under(condition: Condition) -> ConsumerRun<'static> {
    ConsumerRun {
        condition,
        ..ConsumerRun::default()
    }
}

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn each_scenario_gives_expectations_that_can_be_judged() {
    let of_profiles = habits(|habits| habits.finalizes = true);
    let of_decisions = habits(|habits| habits.reads_placements = true);
    for (run, count) in [(of_profiles, 13), (of_decisions, 17)] {
        let testbed = run.observe().testbed.expect("a testbed");
        let mut scenarios = testbed.scenarios.iter();
        assert!(scenarios.all(|scenario| scenario.called_at.is_some()));
        assert_eq!(testbed.scenarios.len(), count);
        assert_eq!(testbed.settle_seconds, Some(10));
        for expectation in &testbed.expectations {
            assert_eq!(expectation.void, None, "{expectation:?}");
            let period = expectation.until.duration_since(expectation.from);
            assert!(period.as_secs() >= 10, "{expectation:?}");
            let mut addresses = testbed.addresses.iter();
            let has_address = addresses.any(|address| address.url == expectation.url);
            let needs_address = expectation.expect != Expect::NoPluginRun {};
            assert!(has_address || !needs_address, "{expectation:?}");
        }
        let mut published = testbed.published.iter();
        assert!(published.any(|one| matches!(one.state, Published::Deleted {})));
    }
}

#[test]
fn a_consumer_that_never_starts_is_not_judged() {
    let (evidence, outcomes) = assert_honest(&under(Condition::StartsAfter(seconds(1_000_000))), 0);
    assert!(
        has_gap(&evidence, Kind::Testbed, "the consumer has called no member"),
        "{:?}",
        evidence.gaps
    );
    assert!(
        !with(&outcomes, Verdict::Inconclusive).is_empty(),
        "{outcomes:#?}"
    );
}

#[test]
fn a_consumer_that_starts_late_is_judged() {
    assert_honest(&under(Condition::StartsAfter(seconds(40))), 15);
}

#[test]
fn a_consumer_that_starts_too_late_is_not_judged() {
    let (evidence, _) = assert_honest(&under(Condition::StartsAfter(seconds(600))), 0);
    assert!(
        has_gap(&evidence, Kind::Testbed, "the consumer has called no member"),
        "{:?}",
        evidence.gaps
    );
}

#[test]
fn a_crash_is_not_a_violation() {
    for after in [20, 75, 150, 240] {
        let crash = Crash {
            after: seconds(after),
            down_for: seconds(20),
        };
        assert_honest(&habits(|habits| habits.crash = Some(crash)), 15);
    }
}

#[test]
fn an_exited_consumer_neither_keeps_nor_breaks_rules() {
    for after in [30, 100, 200] {
        let (evidence, _) = assert_honest(&under(Condition::ExitsAfter(seconds(after))), 0);
        let scenarios = evidence.testbed.iter().flat_map(|testbed| &testbed.scenarios);
        let uncalled = scenarios.filter(|scenario| scenario.called_at.is_none());
        assert_eq!(uncalled.count(), 2);
        assert!(
            has_gap(
                &evidence,
                Kind::Testbed,
                "the consumer has called no member since"
            ),
            "{:?}",
            evidence.gaps
        );
    }
}

#[test]
fn a_consumer_that_floods_the_hub_is_judged() {
    assert_honest(&under(Condition::ListsProfiles), 30);
}

#[test]
fn a_consumer_that_floods_its_members_is_not_judged_after_that() {
    let run = habits(|habits| habits.extra_requests = 2_000);
    let (evidence, _) = assert_honest(&run, 0);
    assert!(
        has_gap(&evidence, Kind::MemberCalls, "floods its members"),
        "{:?}",
        evidence.gaps
    );
}

#[test]
fn replicas_are_judged_as_one_consumer() {
    assert_honest(&habits(|habits| habits.further_replicas = 1), 30);
}

#[test]
fn a_consumer_that_calls_no_member_is_judged_by_its_outputs() {
    let (_, outcomes) = assert_honest(&habits(|habits| habits.calls_no_member = true), 5);
    let passes = with(&outcomes, Verdict::Pass);
    assert!(
        passes
            .iter()
            .any(|(id, ..)| id == "consumer-scope/selection-kept"),
        "{outcomes:#?}"
    );
}

#[test]
fn a_pool_of_connections_is_not_a_violation() {
    assert_honest(&habits(|habits| habits.pools_connections = true), 30);
}

#[test]
fn slow_polling_with_jitter_is_not_a_violation() {
    for interval in [20, 45] {
        let polling = Polling {
            interval: seconds(interval),
            jitter: seconds(interval),
        };
        assert_honest(&habits(|habits| habits.polls = Some(polling)), 15);
    }
}

#[test]
fn a_consumer_that_becomes_fast_is_judged() {
    let run = habits(|habits| {
        habits.work_time = seconds(8);
        habits.is_fast_after = Some(seconds(300));
    });
    assert_honest(&run, 20);
}

#[test]
fn connections_of_other_clients_do_not_count() {
    assert_honest(&under(Condition::OtherClientsConnect), 30);
}

#[test]
fn violations_are_found_under_adverse_conditions() {
    let with_fault = |run: ConsumerRun<'static>, faults| ConsumerRun { faults, ..run };
    let connects = || under(Condition::OtherClientsConnect);
    let pools = || habits(|habits| habits.pools_connections = true);
    let replicas = || habits(|habits| habits.further_replicas = 1);
    for (run, rule) in [
        (
            with_fault(connects(), &["consumer-access/no-guess"]),
            "consumer-access/no-guess",
        ),
        (
            with_fault(replicas(), &["consumer-access/ca-honoured"]),
            "consumer-access/ca-honoured",
        ),
        (
            with_fault(pools(), &["consumer-change/address-followed"]),
            "consumer-change/address-followed",
        ),
        (
            with_fault(
                under(Condition::ListsProfiles),
                &["consumer-scope/selection-kept"],
            ),
            "consumer-scope/selection-kept",
        ),
    ] {
        assert_only_violation(&run, rule);
    }
}
