//! Several runs of the same claim as one judgement.

use std::{cmp::Reverse, collections::BTreeMap};

use super::{Judgement, RuleVerdict, Verdict};

/// Puts together the judgements of several runs of one claim: of each rule the worst verdict stands, with what that run found. A
/// rule whose verdict is not the same in all of them has a note of that. None if there is no run.
///
/// The place of the run that decides comes with it: the first one with the worst decision and the most verdicts that make it so.
pub fn repeated(runs: &[Judgement]) -> Option<(Judgement, usize)> {
    let deciding = (0..runs.len()).max_by_key(|place| {
        let run = &runs[*place];
        let severity: Vec<usize> = (0..=WORST).rev().map(|rank| with_rank(run, rank)).collect();
        (run.decision, severity, Reverse(*place))
    })?;
    let mut whole = runs[deciding].clone();
    for (place, verdict) in whole.verdicts.iter_mut().enumerate() {
        let all: Vec<&RuleVerdict> = runs.iter().filter_map(|run| run.verdicts.get(place)).collect();
        let own = rank(verdict.verdict);
        let worst = all.iter().max_by_key(|other| rank(other.verdict));
        if let Some(worst) = worst.filter(|worst| rank(worst.verdict) > own) {
            *verdict = (*worst).clone();
        }
        if let Some(note) = changed(&all) {
            verdict.notes.push(note.into());
        }
    }
    whole.partial = runs.iter().any(|run| run.partial);
    whole.tally = whole.verdicts.iter().map(RuleVerdict::outcome).collect();
    whole.decision = whole.worst().max(whole.decision);
    Some((whole, deciding))
}

/// The rules whose verdict changed between runs, with how often each has which.
pub fn unsteady(runs: &[Judgement]) -> Vec<(&'static str, String)> {
    let Some(first) = runs.first() else {
        return Vec::new();
    };
    let verdicts = first.verdicts.iter().enumerate();
    verdicts
        .filter_map(|(place, verdict)| {
            let all: Vec<&RuleVerdict> = runs.iter().filter_map(|run| run.verdicts.get(place)).collect();
            Some((verdict.rule.id, changed(&all)?))
        })
        .collect()
}

/// How many rules have a verdict of that rank.
fn with_rank(run: &Judgement, wanted: usize) -> usize {
    run.verdicts
        .iter()
        .filter(|verdict| rank(verdict.verdict) == wanted)
        .count()
}

/// How often a rule has which verdict, the worst first: `fail in 1 of 3 runs (2), pass in 2 (1, 3)`. None if it is always the same.
fn changed(runs: &[&RuleVerdict]) -> Option<String> {
    let mut by_rank: BTreeMap<Reverse<usize>, (Verdict, Vec<String>)> = BTreeMap::new();
    for (place, run) in runs.iter().enumerate() {
        let entry = by_rank.entry(Reverse(rank(run.verdict)));
        let (_, places) = entry.or_insert_with(|| (run.verdict, Vec::new()));
        places.push((place + 1).to_string());
    }
    if by_rank.len() < 2 {
        return None;
    }
    let told = by_rank.values().enumerate().map(|(index, (verdict, places))| {
        let of = if index == 0 {
            format!(" of {} runs", runs.len())
        } else {
            String::new()
        };
        format!(
            "{} in {}{of} ({})",
            verdict.words(),
            places.len(),
            places.join(", ")
        )
    });
    Some(told.collect::<Vec<_>>().join(", "))
}

/// The rank of the worst verdict.
const WORST: usize = 6;

/// How bad a verdict is.
fn rank(verdict: Verdict) -> usize {
    match verdict {
        Verdict::Skipped => 0,
        Verdict::NotApplicable => 1,
        Verdict::Pass => 2,
        Verdict::Warn => 3,
        Verdict::Waived => 4,
        Verdict::Inconclusive => 5,
        Verdict::Fail => WORST,
    }
}

#[cfg(test)]
mod tests {
    use evidence::Evidence;

    use super::*;
    use crate::{Decision, Selection, judge};

    /// A judgement in which rules have these verdicts, and all others have none.
    fn run(verdicts: &[Verdict]) -> Judgement {
        let mut judged = judge(&Evidence::default(), &Selection::default());
        for verdict in &mut judged.verdicts {
            verdict.verdict = Verdict::Skipped;
        }
        for (own, verdict) in judged.verdicts.iter_mut().zip(verdicts) {
            own.verdict = *verdict;
            own.examined = 1;
        }
        judged.tally = judged.verdicts.iter().map(RuleVerdict::outcome).collect();
        judged.decision = judged.worst();
        judged
    }

    #[test]
    fn the_worst_verdict_of_each_rule_stands() {
        use Verdict::{Fail, Inconclusive, Pass, Warn};
        let runs = [
            run(&[Pass, Pass, Inconclusive, Warn]),
            run(&[Fail, Pass, Pass, Warn]),
            run(&[Pass, Pass, Pass, Pass]),
        ];
        let (whole, deciding) = repeated(&runs).expect("runs");
        assert_eq!(deciding, 1);
        assert_eq!(whole.decision, Decision::NotConformant);
        let stands: Vec<Verdict> = whole.verdicts[..4].iter().map(|each| each.verdict).collect();
        assert_eq!(stands, [Fail, Pass, Inconclusive, Warn]);
        let notes = |place: usize| -> Vec<String> {
            let notes = whole.verdicts[place].notes.iter();
            notes.map(|note| note.to_string()).collect()
        };
        assert_eq!(notes(0), ["fail in 1 of 3 runs (2), pass in 2 (1, 3)"]);
        assert_eq!(notes(1), Vec::<String>::new());
        assert_eq!(notes(2), ["inconclusive in 1 of 3 runs (1), pass in 2 (2, 3)"]);
        assert_eq!(notes(3), ["warn in 2 of 3 runs (1, 2), pass in 1 (3)"]);
        let changed: Vec<&str> = unsteady(&runs).iter().map(|(rule, _)| *rule).collect();
        let expected: Vec<&str> = [0, 2, 3].map(|place: usize| whole.verdicts[place].rule.id).into();
        assert_eq!(changed, expected);
    }

    #[test]
    fn runs_that_agree_have_no_notes() {
        let runs = [run(&[Verdict::Pass]), run(&[Verdict::Pass])];
        let (whole, deciding) = repeated(&runs).expect("runs");
        assert_eq!(deciding, 0);
        assert!(whole.verdicts.iter().all(|verdict| verdict.notes.is_empty()));
        assert!(unsteady(&runs).is_empty());
        assert!(repeated(&[]).is_none());
    }

    #[test]
    fn a_run_that_was_cut_short_leaves_nothing_conformant() {
        let mut cut = run(&[Verdict::Pass]);
        cut.partial = true;
        let (whole, _) = repeated(&[run(&[Verdict::Pass]), cut]).expect("runs");
        assert!(whole.partial);
    }
}
