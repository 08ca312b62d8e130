//! What all formats say about a judgement, in words: here what a run can say besides its verdicts, its cost, the reactions
//! that it observed, the objects that it could not read, and the decisions by other editions.

pub(crate) mod decision;
pub(crate) mod findings;
pub(crate) mod sources;

use std::collections::BTreeMap;

use evidence::{
    Claim, DriverAction, Evidence, ReasonId,
    api::{Edition, Role},
};
use jiff::civil::Date;
use judge::{
    Decision, Judgement, RuleVerdict, Selection, Verdict, WaiverOutcome, Waivers, decide_with, judge_by,
    rules::{Basis, Level},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Report,
    text::{bytes, count, escape, listed},
};

/// What the run cost the hub; `None` if the evidence does not say.
pub(crate) fn cost(report: &Report) -> Option<String> {
    let traffic = report.evidence.header.traffic?;
    let requests = count(traffic.requests as usize, "request");
    Some(format!("{requests}, {} of answers", bytes(traffic.bytes)))
}

const WORST_FIRST: [Verdict; 7] = [
    Verdict::Fail,
    Verdict::Inconclusive,
    Verdict::Warn,
    Verdict::Waived,
    Verdict::Pass,
    Verdict::NotApplicable,
    Verdict::Skipped,
];

/// The place of a verdict in an order that begins with the worst one.
pub(crate) fn rank(verdict: Verdict) -> usize {
    let place = WORST_FIRST.iter().position(|one| *one == verdict);
    place.unwrap_or(WORST_FIRST.len())
}

/// The verdict as people see it: a rule about a feature that the implementation does not claim does not apply to it, nor
/// does one about a number of profiles that the user does not expect.
pub(crate) fn shown_verdict(verdict: &RuleVerdict) -> Verdict {
    let is_unclaimed = verdict.reason_id() == Some(ReasonId::FeatureNotClaimed);
    match verdict.verdict {
        Verdict::Skipped if is_unclaimed => Verdict::NotApplicable,
        verdict => verdict,
    }
}

/// The verdicts of each suite.
pub(crate) fn suites<'a>(report: &Report<'a>) -> impl Iterator<Item = &'a [RuleVerdict]> + use<'a> {
    let verdicts = &report.judgement.verdicts;
    verdicts.chunk_by(|one, next| one.rule.suite() == next.rule.suite())
}

/// How many rules of each level have which verdict.
pub(crate) struct VerdictTable {
    /// The verdicts that some rule has, the worst first.
    pub(crate) verdicts: Vec<Verdict>,
    /// Each level with its number of rules, and how many of them have each of the verdicts.
    pub(crate) levels: Vec<(Level, usize, Vec<usize>)>,
}

impl VerdictTable {
    pub(crate) fn of(verdicts: &[RuleVerdict]) -> Self {
        let cells = Vec::from_iter(verdicts.iter().map(|one| (one.level(), shown_verdict(one))));
        let number = |cell: (Level, Verdict)| cells.iter().filter(|one| **one == cell).count();
        let occurs = |verdict: &Verdict| cells.iter().any(|(_, cell_verdict)| cell_verdict == verdict);
        let occurring = Vec::from_iter(WORST_FIRST.into_iter().filter(occurs));
        let levels = [Level::Must, Level::Should, Level::May].map(|level| {
            let numbers = Vec::from_iter(occurring.iter().map(|verdict| number((level, *verdict))));
            (level, numbers.iter().sum(), numbers)
        });
        Self {
            levels: levels.into_iter().filter(|(_, rules, _)| *rules > 0).collect(),
            verdicts: occurring,
        }
    }
}

/// The objects that could not be read, one a line: at most `most`, then the number of the others.
pub(crate) fn unreadable(report: &Report, most: usize) -> Vec<String> {
    let unreadable = &report.evidence.unreadable;
    let lines = unreadable
        .iter()
        .take(most)
        .map(|one| escape::line(&one.to_string()).into_owned());
    let more = (unreadable.len() > most).then(|| {
        let more = count(unreadable.len() - most, "more object");
        format!("… and {more}: a JSON report has them all")
    });
    lines.chain(more).collect()
}

/// The decision on one of two roles.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OfEdition")]
pub(crate) struct RoleDecision {
    pub(crate) role: Role,
    pub(crate) edition: Edition,
    pub(crate) decision: Decision,
}

/// The decision on each role; empty if there is only one.
pub(crate) fn decisions(judgement: &Judgement) -> Vec<RoleDecision> {
    let parts = judgement.parts().into_iter().filter(|_| judgement.also.is_some());
    parts
        .map(|part| RoleDecision {
            role: part.edition.role(),
            edition: part.edition,
            decision: part.decision,
        })
        .collect()
}

/// The decision by one edition of the role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EditionDecision {
    /// The edition.
    pub edition: Edition,
    /// The decision by all of its rules. Absent if the evidence shows nothing about the edition: a testbed plays only
    /// one edition for a consumer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// The decision by its explicit rules alone; absent likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision_explicit: Option<Decision>,
}

impl EditionDecision {
    /// Waivers without effect count only in the decision of the run, which has them for its own edition.
    pub(crate) fn of(
        judgement: &Judgement,
        unused_waivers: &[WaiverOutcome],
        strict: bool,
        rules_as_of: Option<Date>,
    ) -> Self {
        let decide = |is_counted: &dyn Fn(&RuleVerdict) -> bool, waivers: &[WaiverOutcome]| {
            let verdicts = judgement.verdicts.iter();
            let outcomes = verdicts
                .filter(|verdict| verdict.rule.facts.added <= rules_as_of && is_counted(verdict))
                .map(RuleVerdict::outcome);
            decide_with(&outcomes.collect(), judgement.extent(), waivers, strict)
        };
        Self {
            edition: judgement.edition,
            decision: Some(decide(&|_| true, unused_waivers)),
            decision_explicit: Some(decide(&|verdict| verdict.basis() == Basis::Explicit, &[])),
        }
    }
}

/// Each edition with its decision by all rules and by explicit rules alone, in words; empty if the role has only one.
pub(crate) fn editions(report: &Report) -> Vec<[String; 3]> {
    let words = |decision: Option<Decision>| match decision {
        Some(decision) => decision.name().replace('-', " "),
        None => "not judged".to_owned(),
    };
    let row = |of: &EditionDecision| {
        [
            of.edition.to_string(),
            words(of.decision),
            words(of.decision_explicit),
        ]
    };
    let rows = report.editions.iter().filter(|_| report.editions.len() > 1);
    rows.map(row).collect()
}

/// Judges evidence by every edition of its roles, with the rules until that day. `judgement` is that by its own
/// edition, with waivers.
pub fn by_edition(
    evidence: &Evidence,
    judgement: &Judgement,
    selection: &Selection,
    waivers: Option<(&Waivers, Date)>,
    rules_as_of: Option<Date>,
) -> Vec<EditionDecision> {
    let claim = &evidence.header.claim;
    let is_known = |edition: Edition| claim.also.is_none() && edition == claim.edition;
    let was_played =
        |edition: Edition| edition.role() != Role::Consumer || claim.editions().any(|one| one == edition);
    let editions = || claim.roles().flat_map(Role::editions);
    let other_editions = editions().filter(|edition| !is_known(*edition) && was_played(*edition));
    let claims = other_editions.map(|edition| Claim {
        edition,
        also: None,
        ..claim.clone()
    });
    let mut judgements = judge_by(&claims.collect::<Vec<_>>(), evidence, selection, judgement);
    if let Some((waivers, day)) = waivers {
        judgements
            .iter_mut()
            .for_each(|judgement| judgement.waive(waivers, day, claim.strict));
    }
    let decision = |edition: Edition| {
        if is_known(edition) {
            return EditionDecision::of(judgement, &judgement.waivers, claim.strict, rules_as_of);
        }
        match judgements.iter().find(|one| one.edition == edition) {
            Some(one) => EditionDecision::of(one, &[], claim.strict, rules_as_of),
            None => EditionDecision {
                edition,
                decision: None,
                decision_explicit: None,
            },
        }
    };
    editions().map(decision).collect()
}

/// How fast the implementation reacted to one action of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reaction {
    /// The action.
    pub action: DriverAction,
    /// The number of steps with an observed reaction.
    pub steps: usize,
    /// The time until the slowest of them, in seconds.
    pub slowest_seconds: i64,
    /// The patience of the steps, in seconds.
    pub patience_seconds: i64,
}

/// The observed reactions, by action.
pub(crate) fn reactions(report: &Report) -> Vec<Reaction> {
    let steps = report.evidence.driver_steps();
    let mut by_action: BTreeMap<&str, Reaction> = BTreeMap::new();
    for step in steps {
        let Some(reacted) = step.reacted_at else {
            continue;
        };
        let seconds = reacted.duration_since(step.until).as_secs();
        let of_action = by_action.entry(step.action.name()).or_insert(Reaction {
            action: step.action,
            steps: 0,
            slowest_seconds: seconds,
            patience_seconds: step.patience_seconds,
        });
        of_action.steps += 1;
        of_action.slowest_seconds = of_action.slowest_seconds.max(seconds);
    }
    by_action.into_values().collect()
}

/// The reactions in one line: the slowest of each action, and the patience.
pub(crate) fn slowest_reactions(report: &Report) -> Option<String> {
    let reactions = reactions(report);
    let longest = reactions.iter().map(|reaction| reaction.patience_seconds).max()?;
    let each = reactions
        .iter()
        .map(|reaction| format!("{} {} s", reaction.action, reaction.slowest_seconds));
    let each: Vec<String> = each.collect();
    Some(format!("{}, within a patience of {longest} s", listed(&each)?))
}

#[cfg(test)]
mod tests {
    use evidence::{Driver, DriverStep, Evidence, Scenario};
    use jiff::{SignedDuration, Timestamp};
    use judge::{Selection, judge};

    use super::*;
    use crate::tests::report_of;

    fn step(action: DriverAction, reacted_after: Option<i64>) -> DriverStep {
        let after = |seconds| Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds);
        DriverStep {
            member: "lisbon".to_owned(),
            patience_seconds: 120,
            observed_until: after(130),
            reacted_at: reacted_after.map(after),
            ..DriverStep::new(Scenario::Outage, action, Timestamp::UNIX_EPOCH)
        }
    }

    #[test]
    fn only_observed_reactions_count() {
        let steps = vec![
            step(DriverAction::Join, Some(3)),
            step(DriverAction::Join, Some(12)),
            step(DriverAction::Leave, None),
            step(DriverAction::Break, Some(40)),
        ];
        let evidence = Evidence {
            driver: Some(Driver {
                steps,
                ..Driver::default()
            }),
            ..Evidence::default()
        };
        let judgement = judge(&evidence, &Selection::default());
        let report = report_of(&evidence, &judgement);
        let expected = Some("break 40 s and join 12 s, within a patience of 120 s");
        assert_eq!(slowest_reactions(&report).as_deref(), expected);
        assert_eq!(reactions(&report)[1].steps, 2);
    }
}
