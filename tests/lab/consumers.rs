//! Consumers under adverse conditions: a correct verdict, or a clear reason why there is none.

use std::time::Duration;

use evidence::{Evidence, Expect, Kind, Published};
use judge::{Judgement, Selection, Verdict, judge};
use lab::consumer::{Crash, Habits, Polling};

use crate::observed_consumer::{Condition, ConsumerRun};

/// The ids of the rules with one of these verdicts.
fn rules_with(judgement: &Judgement, wanted: &[Verdict]) -> Vec<&'static str> {
    let verdicts = judgement.verdicts.iter();
    let verdicts = verdicts.filter(|verdict| wanted.contains(&verdict.verdict));
    verdicts.map(|verdict| verdict.rule.id).collect()
}

const VIOLATION: [Verdict; 2] = [Verdict::Fail, Verdict::Warn];

/// Asserts that an honest consumer violates no rule, that at least `passes` rules pass, and that each rule without a verdict has a
/// reason.
fn assert_honest(run: &ConsumerRun<'_>, passes: usize) -> (Evidence, Judgement) {
    let evidence = run.observe();
    let judgement = judge(&evidence, &Selection::default());
    assert_eq!(rules_with(&judgement, &VIOLATION), [""; 0], "{run:?}");
    let passed = rules_with(&judgement, &[Verdict::Pass]);
    assert!(passed.len() >= passes, "{run:?}: only {passed:?} pass");
    for verdict in &judgement.verdicts {
        let has_reason = verdict.reason().is_some_and(|reason| !reason.is_empty());
        let is_explained = verdict.verdict != Verdict::Inconclusive || has_reason;
        assert!(is_explained, "{run:?}: {}", verdict.rule.id);
    }
    (evidence, judgement)
}

#[track_caller]
fn assert_gap(evidence: &Evidence, kind: Kind, part: &str) {
    let has_gap = evidence.gaps(kind).any(|gap| gap.reason.contains(part));
    assert!(has_gap, "{part:?} is not in {:?}", evidence.gaps);
}

fn with_habits(change: impl FnOnce(&mut Habits)) -> ConsumerRun<'static> {
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
    let of_profiles = with_habits(|habits| habits.finalizes = true);
    let of_decisions = with_habits(|habits| habits.reads_placements = true);
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
fn an_honest_consumer_is_judged_under_adverse_conditions() {
    let crash = |after| {
        let (after, down_for) = (seconds(after), seconds(20));
        with_habits(|habits| habits.crash = Some(Crash { after, down_for }))
    };
    let (interval, jitter) = (seconds(45), seconds(45));
    for (run, passes) in [
        (under(Condition::StartsAfter(seconds(40))), 15),
        (crash(20), 15),
        (crash(150), 15),
        (crash(240), 15),
        (under(Condition::ListsProfiles), 30),
        (
            with_habits(|habits| (habits.further_replicas, habits.pools_connections) = (1, true)),
            30,
        ),
        (
            with_habits(|habits| habits.polls = Some(Polling { interval, jitter })),
            15,
        ),
        (
            with_habits(|habits| (habits.work_time, habits.is_fast_after) = (seconds(8), Some(seconds(300)))),
            20,
        ),
        (under(Condition::OtherClientsConnect), 30),
    ] {
        assert_honest(&run, passes);
    }
}

#[test]
fn a_consumer_that_starts_too_late_exits_or_floods_is_not_judged_then() {
    for after in [600, 1_000_000] {
        let (evidence, judgement) = assert_honest(&under(Condition::StartsAfter(seconds(after))), 0);
        assert_gap(&evidence, Kind::Testbed, "the consumer has called no member");
        assert_ne!(rules_with(&judgement, &[Verdict::Inconclusive]), [""; 0]);
    }
    for after in [30, 100, 200] {
        let (evidence, _) = assert_honest(&under(Condition::ExitsAfter(seconds(after))), 0);
        let scenarios = evidence.testbed.iter().flat_map(|testbed| &testbed.scenarios);
        let uncalled = scenarios.filter(|scenario| scenario.called_at.is_none());
        assert_eq!(uncalled.count(), 2);
        assert_gap(
            &evidence,
            Kind::Testbed,
            "the consumer has called no member since",
        );
    }
    let floods = with_habits(|habits| habits.extra_requests = 2_000);
    let (evidence, _) = assert_honest(&floods, 0);
    assert_gap(&evidence, Kind::MemberCalls, "floods its members");
}

#[test]
fn a_consumer_that_calls_no_member_is_judged_by_its_outputs() {
    let (_, judgement) = assert_honest(&with_habits(|habits| habits.calls_no_member = true), 5);
    let passed = rules_with(&judgement, &[Verdict::Pass]);
    assert!(passed.contains(&"consumer-scope/selection-kept"), "{passed:?}");
}

#[test]
fn violations_are_found_under_adverse_conditions() {
    let replicas = with_habits(|habits| habits.further_replicas = 1);
    let pools = with_habits(|habits| habits.pools_connections = true);
    for (run, rule) in [
        (under(Condition::OtherClientsConnect), "consumer-access/no-guess"),
        (replicas, "consumer-access/ca-honoured"),
        (pools, "consumer-change/address-followed"),
        (under(Condition::ListsProfiles), "consumer-scope/selection-kept"),
    ] {
        let faults = &[rule];
        let evidence = ConsumerRun { faults, ..run }.observe();
        let judgement = judge(&evidence, &Selection::default());
        assert_eq!(rules_with(&judgement, &VIOLATION), [rule]);
    }
}
