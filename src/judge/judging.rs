//! Judges evidence: examines each selected rule, and weighs what it found.

use evidence::{Asked, Evidence, Kind};

use crate::{
    decision::decide,
    judgement::{Judgement, RuleVerdict},
    missing::missing,
    reasons,
    rules::{self, Applies, Finding, Findings, Level, Rule},
    selection::Selection,
    verdict::Verdict,
};

/// The reason for skipping a rule that the user did not select.
pub const DESELECTED: &str = "deselected";

/// Judges the evidence by the edition and the claims that its header holds.
pub fn judge(evidence: &Evidence, selection: &Selection) -> Judgement {
    let edition = evidence.header.claim.edition;
    let verdicts: Vec<RuleVerdict> = rules::all()
        .iter()
        .filter_map(|rule| Some((rule, rule.facts.in_edition(edition)?)))
        .map(|(rule, applies)| verdict(rule, applies, evidence, selection))
        .collect();
    let tally = verdicts.iter().map(RuleVerdict::outcome).collect();
    Judgement {
        edition,
        decision: decide(&tally, evidence.header.cut_short.is_some()),
        partial: evidence.header.cut_short.is_some(),
        scope: evidence.header.scope.clone(),
        tally,
        verdicts,
        waivers: Vec::new(),
    }
}

fn verdict(
    rule: &'static Rule,
    applies: &Applies,
    evidence: &Evidence,
    selection: &Selection,
) -> RuleVerdict {
    let without_examining = |verdict, reason: String| RuleVerdict {
        rule,
        verdict,
        examined: 0,
        reason: Some(reason),
        findings: Vec::new(),
        waived: Vec::new(),
        doubts: Vec::new(),
        notes: Vec::new(),
    };
    if let Some(reason) = why_skipped(rule, applies, evidence, selection) {
        return without_examining(Verdict::Skipped, reason);
    }
    let mut findings = Findings::default();
    (rule.examine)(evidence, &mut findings);
    let mut doubts = findings.inconclusive.clone();
    doubts.extend(missing(rule, evidence));
    let (verdict, reason) = weigh(rule, evidence, &findings, &doubts);
    RuleVerdict {
        rule,
        verdict,
        examined: findings.examined,
        reason,
        findings: findings.list,
        waived: Vec::new(),
        doubts,
        notes: findings.notes,
    }
}

/// Returns why a rule is not judged, if so.
fn why_skipped(rule: &Rule, applies: &Applies, evidence: &Evidence, selection: &Selection) -> Option<String> {
    if !selection.holds(rule.id) {
        return Some(DESELECTED.to_owned());
    }
    if let Some(why) = &rule.facts.unjudged {
        return Some(why.clone());
    }
    let claim = &evidence.header.claim;
    if let Some(feature) = rule.facts.feature {
        if claim.no_features.contains(&feature) {
            return Some(format!("{}{feature}", reasons::DECLARED_ABSENT));
        }
        if applies.only_if_claimed() && !claim.features.contains(&feature) {
            return Some(format!(
                "edition {} {}{feature}",
                claim.edition,
                reasons::NOT_CLAIMED
            ));
        }
    }
    if let Some(reason) = rule
        .facts
        .needs
        .iter()
        .find_map(|kind| why_not_asked(evidence, *kind))
    {
        return Some(reason);
    }
    let either = &rule.facts.needs_one_of;
    let reasons: Vec<String> = either
        .iter()
        .filter_map(|kind| why_not_asked(evidence, *kind))
        .collect();
    (!either.is_empty() && reasons.len() == either.len()).then(|| reasons.join("; "))
}

fn why_not_asked(evidence: &Evidence, kind: Kind) -> Option<String> {
    match evidence.asked(kind) {
        Asked::Yes => None,
        Asked::No(reason) if reason.is_empty() => Some(format!("evidence not asked for: {kind}")),
        Asked::No(reason) => Some(reason.clone()),
    }
}

/// Turns the findings of a rule into its verdict. A violation counts even if other evidence is missing.
fn weigh(
    rule: &Rule,
    evidence: &Evidence,
    findings: &Findings,
    doubts: &[String],
) -> (Verdict, Option<String>) {
    if let Some(found) = weigh_found(rule, &findings.list, doubts, evidence.header.claim.strict) {
        return found;
    }
    if findings.examined > 0 {
        return (Verdict::Pass, None);
    }
    if let Some(evidence) = &findings.not_asked {
        return (Verdict::Skipped, Some(evidence.clone()));
    }
    match &findings.not_applicable {
        // Without any profile, "nothing to apply to" says nothing about the implementation.
        Some(reason) if evidence.histories().next().is_some() => {
            (Verdict::NotApplicable, Some(reason.clone()))
        }
        _ if evidence.histories().next().is_none() => (
            Verdict::Inconclusive,
            Some("there is no ClusterProfile to examine".to_owned()),
        ),
        _ => (
            Verdict::Inconclusive,
            Some("there was nothing to examine".to_owned()),
        ),
    }
}

/// Returns the verdict that violations or doubts lead to, if there are any.
pub(crate) fn weigh_found(
    rule: &Rule,
    found: &[Finding],
    doubts: &[String],
    strict: bool,
) -> Option<(Verdict, Option<String>)> {
    if found.iter().any(|finding| !finding.advisory) {
        let counts = match rule.facts.level {
            Level::Must => true,
            Level::Should => strict,
            Level::May => false,
        };
        return Some((if counts { Verdict::Fail } else { Verdict::Warn }, None));
    }
    if !doubts.is_empty() {
        return Some((Verdict::Inconclusive, Some(doubts.join("; "))));
    }
    (!found.is_empty()).then_some((Verdict::Warn, None))
}

#[cfg(test)]
mod tests;
