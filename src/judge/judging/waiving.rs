//! Takes waived violations out of a judgement.

use std::collections::BTreeSet;

use evidence::{Reason, ReasonId};
use jiff::civil::Date;

use crate::judging::{
    decision::{Decision, Extent, decide},
    judge::weigh_found,
    judgement::{Judgement, RuleVerdict},
    tally::Tally,
    verdict::Verdict,
    waivers::{Waiver, WaiverOutcome, Waivers},
};

impl Judgement {
    /// Takes out the violations that are waived on that day. Warnings are waived too, so that they do not count in
    /// strict runs. A rule with incomplete evidence is inconclusive then, as it would be without the violation. With
    /// `strict`, nothing is conformant while a waiver has expired or waives nothing.
    pub fn waive(&mut self, waivers: &Waivers, on: Date, strict: bool) {
        let mut outcomes: Vec<WaiverOutcome> = waivers
            .waivers
            .iter()
            .map(|waiver| WaiverOutcome {
                waiver: waiver.clone(),
                waived: 0,
                expired: waiver.expires < on,
                judged: self.has_judged(waiver),
            })
            .collect();
        for verdict in &mut self.verdicts {
            waive(verdict, &mut outcomes, strict);
        }
        self.tally = self.verdicts.iter().map(RuleVerdict::outcome).collect();
        self.decision = with_waivers(self.worst(), &outcomes, strict);
        self.waivers = outcomes;
    }

    /// Whether everything that a waiver covers was judged.
    fn has_judged(&self, waiver: &Waiver) -> bool {
        let verdict = self
            .verdicts
            .iter()
            .find(|verdict| verdict.rule.id == waiver.rule);
        let is_judged = |verdict: &RuleVerdict| {
            matches!(verdict.verdict, Verdict::Pass | Verdict::Fail | Verdict::Warn)
                && waiver.is_within(&self.scope, verdict.rule.role())
        };
        !self.partial && verdict.is_some_and(is_judged)
    }
}

/// The decision by one edition, given the outcomes of waivers.
pub fn decide_with(tally: &Tally, extent: Extent, outcomes: &[WaiverOutcome], strict: bool) -> Decision {
    with_waivers(decide(tally, extent), outcomes, strict)
}

fn with_waivers(decision: Decision, outcomes: &[WaiverOutcome], strict: bool) -> Decision {
    match decision {
        Decision::Conformant | Decision::NoViolation
            if strict && outcomes.iter().any(|o| o.complaint().is_some()) =>
        {
            Decision::NotConformant
        }
        decision => decision,
    }
}

/// Moves waived findings out of a verdict's findings.
fn waive(verdict: &mut RuleVerdict, outcomes: &mut [WaiverOutcome], strict: bool) {
    let rule = verdict.rule;
    for finding in std::mem::take(&mut verdict.findings) {
        let place = outcomes
            .iter()
            .position(|outcome| !outcome.expired && outcome.waiver.covers(rule.id, &finding));
        match place {
            Some(place) => {
                outcomes[place].waived += 1;
                verdict.waived.push((finding, place));
            }
            None => verdict.findings.push(finding),
        }
    }
    let of_all = outcomes
        .iter_mut()
        .find(|outcome| !outcome.expired && outcome.waiver.covers_all(rule.id));
    if let Some(outcome) = of_all {
        outcome.waived += std::mem::take(&mut verdict.unlisted).all();
    }
    if verdict.waived.is_empty() {
        return;
    }
    (verdict.verdict, verdict.reasons) = weigh_found(
        verdict.applies,
        (&verdict.findings, verdict.unlisted),
        &verdict.doubts,
        strict,
    )
    .unwrap_or_else(|| (Verdict::Waived, grounds(verdict, outcomes)));
}

/// Returns why a rule counts as waived: the reasons of the waivers that cover it.
fn grounds(verdict: &RuleVerdict, outcomes: &[WaiverOutcome]) -> Vec<Reason> {
    let places: BTreeSet<usize> = verdict.waived.iter().map(|(_, place)| *place).collect();
    let told = places.into_iter().map(|place| {
        let waiver = &outcomes[place].waiver;
        let told = format!(
            "waived until {}: {} ({})",
            waiver.expires, waiver.reason, waiver.link
        );
        Reason::of(ReasonId::Waived, told)
    });
    told.collect()
}

#[cfg(test)]
mod tests;
