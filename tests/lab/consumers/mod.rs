//! Consumers with other habits and under adverse conditions: a correct verdict, or a clear reason why there is none.

mod run;

use std::{collections::BTreeSet, time::Duration};

use evidence::{Evidence, Expect, Kind, Published, file::write_to};
use judge::Verdict;
use lab::consumer::{Crash, Habits, Polling};

use self::run::{Condition, ConsumerRun};
use super::{Verdicts, judged};

fn rules_with(verdicts: &Verdicts, wanted: &[Verdict]) -> Vec<&'static str> {
    let verdicts = verdicts.values();
    let verdicts = verdicts.filter(|verdict| wanted.contains(&verdict.verdict));
    verdicts.map(|verdict| verdict.rule.id).collect()
}

const VIOLATION: [Verdict; 2] = [Verdict::Fail, Verdict::Warn];

/// Asserts that an honest consumer violates no rule, that at least `passes` rules pass, and that each inconclusive rule has
/// a reason.
fn assert_honest(run: &ConsumerRun<'_>, passes: usize) -> (Evidence, Verdicts) {
    let evidence = run.observe();
    let verdicts = judged(&evidence);
    assert_eq!(rules_with(&verdicts, &VIOLATION), [""; 0], "{run:?}");
    let passed = rules_with(&verdicts, &[Verdict::Pass]);
    assert!(passed.len() >= passes, "{run:?}: only {passed:?} pass");
    for verdict in verdicts.values() {
        let has_reason = verdict.reason().is_some_and(|reason| !reason.is_empty());
        let is_explained = verdict.verdict != Verdict::Inconclusive || has_reason;
        assert!(is_explained, "{run:?}: {}", verdict.rule.id);
    }
    (evidence, verdicts)
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

fn polls(interval: u64, jitter: u64) -> Option<Polling> {
    let [interval, jitter] = [interval, jitter].map(seconds);
    Some(Polling { interval, jitter })
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

/// Skips a consumer that passes arguments of profiles to the plugin.
const PROFILE_ARGS_OFF: &str = "consumer-exec/profile-args-off-by-default";

#[test]
fn honest_consumer_with_other_habits_passes_each_rule() {
    const UNHEALTHY: &[&str] = &["consumer-health/unhealthy-not-dispatched", PROFILE_ARGS_OFF];
    const IDENTITY: &[&str] = &["consumer-identity/", PROFILE_ARGS_OFF];
    const NO_ARGS: &[&str] = &[
        "consumer-exec/profile-args-as-told",
        "consumer-exec/nothing-leaks-between-profiles",
    ];
    const DEFAULT: &[&str] = &[PROFILE_ARGS_OFF];
    // Rules on members that a rollout has not called yet.
    const UNCALLED: [&str; 3] = [
        "consumer-placement/all-slices",
        "consumer-placement/references",
        "consumer-placement/follows",
    ];
    // A habit, and the rules that skip it.
    let habits: [(fn(&mut Habits), _); 11] = [
        (|habits| habits.polls = polls(10, 0), DEFAULT),
        (|habits| habits.work_time = seconds(2), DEFAULT),
        (|habits| habits.work_time = seconds(9), DEFAULT),
        (|habits| habits.keeps_last_known_good = true, DEFAULT),
        (|habits| habits.calls_unhealthy = true, UNHEALTHY),
        (|habits| habits.acts_on_duplicates = true, IDENTITY),
        (|habits| habits.warns_by_events = true, DEFAULT),
        (|habits| habits.finalizes = true, DEFAULT),
        (|habits| habits.drops_profile_args = true, NO_ARGS),
        (|habits| habits.reads_placements = true, DEFAULT),
        (
            |habits| (habits.reads_placements, habits.rolls_out) = (true, true),
            DEFAULT,
        ),
    ];
    for (change, skipped) in habits {
        let run = with_habits(change);
        let expected = |id: &str| match id {
            id if skipped.iter().any(|part| id.starts_with(part)) => Verdict::Skipped,
            id if id.starts_with("consumer-placement/") && !run.habits.reads_placements => Verdict::Skipped,
            id if run.habits.rolls_out && UNCALLED.contains(&id) => Verdict::Inconclusive,
            _ => Verdict::Pass,
        };
        for (id, verdict) in judged(&run.observe()) {
            assert_eq!(verdict.verdict, expected(id), "{:?}: {verdict:#?}", run.habits);
        }
    }
}

#[test]
fn honest_consumer_is_judged_under_adverse_conditions() {
    let crash = |after| {
        let (after, down_for) = (seconds(after), seconds(20));
        with_habits(|habits| habits.crash = Some(Crash { after, down_for }))
    };
    let replicas = with_habits(|habits| (habits.further_replicas, habits.pools_connections) = (1, true));
    let slow_at_first = with_habits(|habits| {
        (habits.work_time, habits.is_fast_after) = (seconds(8), Some(seconds(300)));
    });
    for (run, passes) in [
        (under(Condition::StartsAfter(seconds(40))), 15),
        (crash(20), 15),
        (crash(150), 15),
        (crash(240), 15),
        (under(Condition::ListsProfiles), 30),
        (replicas, 30),
        (with_habits(|habits| habits.polls = polls(45, 45)), 15),
        (slow_at_first, 20),
        (under(Condition::OtherClientsConnect), 30),
        (with_habits(|habits| habits.calls_no_member = true), 5),
    ] {
        assert_honest(&run, passes);
    }
}

#[test]
fn consumer_that_starts_too_late_exits_or_floods_is_not_judged() {
    for after in [600, 1_000_000] {
        let (evidence, verdicts) = assert_honest(&under(Condition::StartsAfter(seconds(after))), 0);
        assert_gap(&evidence, Kind::Testbed, "the consumer has called no member");
        assert_ne!(rules_with(&verdicts, &[Verdict::Inconclusive]), [""; 0]);
    }
    for after in [30, 100, 200] {
        let (evidence, _) = assert_honest(&under(Condition::ExitsAfter(seconds(after))), 0);
        let scenarios = evidence.testbed.iter().flat_map(|testbed| &testbed.scenarios);
        let uncalled = scenarios.filter(|scenario| scenario.called_at.is_none());
        assert_eq!(uncalled.count(), 2);
        let reason = "the consumer has called no member since";
        assert_gap(&evidence, Kind::Testbed, reason);
    }
    let floods = with_habits(|habits| habits.extra_requests = 2_000);
    let (evidence, _) = assert_honest(&floods, 0);
    assert_gap(&evidence, Kind::MemberCalls, "floods its members");
}

#[test]
fn stopped_run_finds_no_violation() {
    for after in [30, 200, 260] {
        let mut run = with_habits(|habits| habits.reads_placements = true);
        run.stop_after = Some(seconds(after));
        assert_honest(&run, 0);
    }
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
        assert_eq!(rules_with(&judged(&evidence), &VIOLATION), [rule]);
    }
}

/// The consumer's own log has the credentials.
#[test]
fn evidence_has_no_credential_of_a_member() {
    let run = ConsumerRun {
        faults: &["consumer-secrets/nothing-secret-in-the-open"],
        ..ConsumerRun::default()
    };
    let (evidence, lines) = run.observe_with_log();
    let mut text = Vec::new();
    write_to(&evidence, &mut text).expect("written");
    let text = String::from_utf8(text).expect("UTF-8");
    let bearer = |line: &String| Some(line.split_once("Authorization: Bearer ")?.1.to_owned());
    let tokens: BTreeSet<String> = lines.iter().filter_map(bearer).collect();
    let count = tokens.len();
    assert!(count >= 20, "only {count} credentials were logged");
    for token in tokens {
        assert!(!text.contains(&token), "the evidence has the credential {token}");
    }
}
