//! Courses of events on a small hub, as watches of all kinds see them: what is judged must be true of what happened.
//!
//! `COURSES_SEEDS` says how many are tried, and `COURSES_SEED` where they begin.

mod course;
#[path = "../support/seeds.rs"]
mod seeds;
mod watch;

use course::{Course, honest};
use judge::{Selection, Verdict, judge, rules::Level};
use proptest::test_runner::TestCaseError;
use watch::{Watch, watches};

/// How many courses `cargo test` tries.
const COURSES: u32 = 1000;

/// A MUST rule that blames an honest manager in some courses, and why.
struct Blamed {
    rule: &'static str,
    /// Whether that may be so in a course.
    may_be: fn(&Course) -> bool,
}

const BLAMED: [Blamed; 2] = [
    // A backup's restore creates profiles under the manager's name, and counts as a second manager.
    Blamed {
        rule: "identity/manager-unique",
        may_be: Course::is_restored,
    },
    // A condition that came after the profile counts as old as the profile, so that a change within its second is too late.
    Blamed {
        rule: "conditions/transition-time-moves",
        may_be: Course::changes_at_once,
    },
];

/// What a watch finds broken of a course: each MUST rule with its findings.
fn found(course: &Course, watch: &Watch) -> Vec<(&'static str, String)> {
    let judgement = judge(&watch.evidence(course), &Selection::default());
    let verdicts = judgement.verdicts.into_iter();
    verdicts
        .filter(|verdict| verdict.rule.facts.level == Level::Must && verdict.verdict == Verdict::Fail)
        .map(|verdict| (verdict.rule.id, format!("{:#?}", verdict.findings)))
        .collect()
}

/// No MUST rule fails that is not among these.
fn try_honest(seed: u64, cases: u32, known: &[Blamed]) -> Result<(), String> {
    use proptest::strategy::Strategy;
    let complain = |course: &Course, watch: &Watch, how: &str| {
        let mut found = found(course, watch);
        found.retain(|(rule, _)| {
            !known
                .iter()
                .any(|known| known.rule == *rule && (known.may_be)(course))
        });
        match found.first() {
            None => Ok(()),
            Some((rule, findings)) => Err(TestCaseError::fail(format!("{how}: {rule}: {findings}"))),
        }
    };
    let mut runner = seeds::runner(seed, cases);
    let cases = (honest(), watches()).prop_map(|(course, watch)| (course, watch));
    let outcome = runner.run(&cases, |(course, watch)| {
        complain(&course, &Watch::complete(), "seen completely")?;
        complain(&course, &watch, "seen by this watch")
    });
    outcome.map_err(|error| format!("COURSES_SEED={seed}: {error}"))
}

/// A manager that keeps every rule breaks none, whoever else writes and whatever is seen of it.
#[test]
fn no_honest_manager_is_blamed() {
    let complaints = seeds::complaints("COURSES", COURSES, |seed, cases| try_honest(seed, cases, &BLAMED));
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}

/// How often each MUST rule blames an honest manager, and the first course that it does so in.
#[test]
#[ignore = "a survey to read"]
fn whom_honest_courses_blame() {
    use proptest::strategy::{Strategy, ValueTree};
    let mut blamed = std::collections::BTreeMap::<_, (usize, usize)>::new();
    let mut runner = seeds::runner(7, 1);
    for _ in 0..3000 {
        let (course, watch) = (honest(), watches())
            .new_tree(&mut runner)
            .expect("a course")
            .current();
        let is_unknown = |rule: &&str| {
            !BLAMED
                .iter()
                .any(|known| known.rule == *rule && (known.may_be)(&course))
        };
        for (rule, _) in found(&course, &Watch::complete())
            .into_iter()
            .filter(|(rule, _)| is_unknown(rule))
        {
            blamed.entry(rule).or_default().0 += 1;
        }
        for (rule, _) in found(&course, &watch)
            .into_iter()
            .filter(|(rule, _)| is_unknown(rule))
        {
            blamed.entry(rule).or_default().1 += 1;
        }
    }
    println!("{blamed:#?}");
}
