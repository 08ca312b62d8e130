//! Verdicts that are kept up to date are those of a whole judgement, whatever happens and whenever they are asked for.
//!
//! `STANDING_SEEDS` says how many random histories are tried, and `STANDING_SEED` where they begin. With `STANDING_STEP=1`,
//! all examples are judged at each moment.

mod moments;
#[path = "../support/seeds.rs"]
mod seeds;
#[path = "../support/timeline.rs"]
mod timeline;
mod world;

use std::{collections::BTreeSet, sync::Mutex};

use evidence::{Evidence, api::Edition};
use judge::{Judgement, Selection, Standing, judge, rules, rules::example::Example};
use proptest::{
    collection::vec,
    prelude::{Strategy, any},
    sample::select,
    test_runner::{TestCaseError, TestError},
};
use world::{Act, World, act};

/// How many histories `cargo test` tries.
const HISTORIES: u32 = 16;
/// How much happens in each of them.
const ACTS: usize = 150;

/// What a verdict says, without the order in which it does, and with `#` for numbers in texts that grow with time.
fn essence(judgement: &Judgement) -> Vec<String> {
    let numbers = |text: &str| {
        let until = text.split("; wrong for").next().unwrap_or(text);
        // A time may have a fraction of a second.
        let masked = until.split(|character: char| character.is_ascii_digit() || character == '.');
        masked
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("#")
    };
    let set = |texts: &[String]| texts.iter().cloned().collect::<BTreeSet<String>>();
    let verdicts = judgement.verdicts.iter().map(|verdict| {
        let reason = verdict.reason.as_deref().unwrap_or_default();
        let reason: BTreeSet<&str> = reason.split("; ").collect();
        let mut findings: Vec<String> = verdict
            .findings
            .iter()
            .map(|finding| {
                format!(
                    "\n  {:?} {} {} {} {} {}",
                    finding.object,
                    finding.path,
                    finding.message,
                    finding.advisory,
                    numbers(&finding.expected),
                    numbers(&finding.observed)
                )
            })
            .collect();
        findings.sort_unstable();
        format!(
            "{}: {:?}, {} examined, {reason:?}, doubts {:?}, notes {:?}{}",
            verdict.rule.id,
            verdict.verdict,
            verdict.examined,
            set(&verdict.doubts),
            set(&verdict.notes),
            findings.concat()
        )
    });
    let head = format!("{:?} {:?}", judgement.decision, judgement.tally);
    std::iter::once(head).chain(verdicts).collect()
}

/// Where the verdicts that stand differ from those of a whole judgement.
fn difference(standing: &Judgement, evidence: &Evidence) -> Option<String> {
    let whole = judge(evidence, &Selection::default());
    let (standing, whole) = (essence(standing), essence(&whole));
    let mut differences = standing.iter().zip(&whole).filter(|(one, other)| one != other);
    let last = differences.next_back()?;
    Some(format!("standing {}\nbut whole {}", last.0, last.1))
}

/// One random history: an edition, the skew of the clocks, the judged manager, and what happens, each with whether the
/// verdicts are asked for then.
type History = (Edition, Option<i64>, Option<&'static str>, Vec<(Act, bool)>);

fn history() -> impl Strategy<Value = History> {
    (
        select(vec![Edition::Standard, Edition::Y2026M07, Edition::Y2026M09]),
        select(vec![None, Some(0), Some(1500)]),
        select(vec![None, None, Some("m")]),
        vec((act(), any::<bool>()), 1..ACTS),
    )
}

/// Plays a history, and adds the rules that found something to `broken`.
fn play(
    (edition, skew, manager, acts): &History,
    broken: &Mutex<BTreeSet<&'static str>>,
) -> Result<(), String> {
    let mut world = World::new(*edition, *skew, *manager);
    for (number, (act, is_asked)) in acts.iter().enumerate() {
        world.act(act);
        if *is_asked {
            let standing = world.standing.judgement(&world.evidence);
            if let Some(difference) = difference(&standing, &world.evidence) {
                return Err(format!("after {} acts: {difference}", number + 1));
            }
            let found = standing.verdicts.iter();
            let found = found.filter(|verdict| !verdict.findings.is_empty());
            let mut broken = broken.lock().expect("no panic");
            broken.extend(found.map(|verdict| verdict.rule.id));
        }
    }
    Ok(())
}

/// Tries that many histories, and tells of the smallest that fails.
fn try_histories(seed: u64, count: u32, broken: &Mutex<BTreeSet<&'static str>>) -> Result<(), String> {
    let outcome = seeds::runner(seed, count).run(&history(), |history| {
        play(&history, broken).map_err(TestCaseError::fail)
    });
    outcome.map_err(|error| match error {
        TestError::Fail(why, history) => format!("STANDING_SEED={seed}: {why}\nin {history:#?}"),
        TestError::Abort(why) => format!("STANDING_SEED={seed}: {why}"),
    })
}

#[test]
fn standing_verdicts_are_those_of_a_whole_judgement() {
    let broken = Mutex::default();
    let complaints = seeds::complaints("STANDING", HISTORIES, |seed, count| {
        try_histories(seed, count, &broken)
    });
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
    // Where nothing is ever found, all verdicts agree.
    let broken = broken.into_inner().expect("no panic");
    assert!(broken.len() >= 40, "{broken:?}");
}

/// Evidence of all kinds: with drivers, members, Secrets, audit logs and slices, and without a window.
#[test]
fn examples_are_judged_alike() {
    let mut tried = 0;
    for rule in rules::all() {
        // Some of each rule's: whole judgements take their time.
        for example in Example::of(rule).expect("examples").iter().step_by(4) {
            let evidence = example.evidence();
            let mut standing = Standing::new(Selection::default());
            let standing = standing.judgement(evidence);
            if let Some(difference) = difference(&standing, evidence) {
                panic!(
                    "suites/{}.yaml, example `{}`: {difference}",
                    rule.id, example.name
                );
            }
            tried += 1;
        }
    }
    assert!(tried > 200, "{tried} examples");
}
