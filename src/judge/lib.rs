//! Rules × evidence → verdicts, and the decision.
//!
//! Judging uses no clock and no network: the same evidence always gives the same verdicts.

pub mod reasons;
pub mod rules;
mod selection;
mod tally;
mod waivers;

use std::collections::BTreeSet;

use evidence::{
    Asked, Evidence, Gap, Kind, Scope,
    api::{Edition, names},
};
use schemars::JsonSchema;
pub use selection::Selection;
use serde::{Deserialize, Serialize};
pub use tally::{Count, Tally};
pub use waivers::{Waiver, WaiverFlaw, WaiverOutcome, Waivers, WaiversError, decide_with};

use crate::rules::{Applies, Finding, Findings, Level, Rule};

/// The reason for skipping a rule that the user did not select.
pub const DESELECTED: &str = "deselected";

/// The verdict on one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Examined, and kept everywhere.
    Pass,
    /// Broken, and that counts: a MUST, or a SHOULD under `--strict`.
    Fail,
    /// Broken or in doubt, and that does not count.
    Warn,
    /// Broken, and every violation that counts is waived.
    Waived,
    /// The evidence was asked for and could not be had, or there was no profile to examine.
    Inconclusive,
    /// There is nothing on the hub that the rule applies to.
    NotApplicable,
    /// The user deselected the rule, or did not ask for the evidence that it needs; or the rule cannot be judged yet.
    Skipped,
}

/// The verdict on the implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// No MUST rule fails, none is inconclusive, and at least one was judged.
    Conformant,
    /// A rule fails.
    NotConformant,
    /// No rule fails, but a MUST rule is inconclusive or none was judged.
    Inconclusive,
}

/// The verdict on one rule, with its grounds.
#[derive(Clone, Debug)]
pub struct RuleVerdict {
    /// The rule.
    pub rule: &'static Rule,
    /// The verdict.
    pub verdict: Verdict,
    /// How many things were examined.
    pub examined: usize,
    /// Why it did not pass, fail or warn; for a waived rule, the reasons of its waivers.
    pub reason: Option<String>,
    /// The violations, those that are waived aside.
    pub findings: Vec<Finding>,
    /// The violations that are waived, each with the place of its waiver in [`Judgement::waivers`].
    pub waived: Vec<(Finding, usize)>,
    /// Unavailable evidence, which keeps the rule from passing even if all its violations are waived.
    pub doubts: Vec<String>,
    /// Remarks, such as which evidence was used.
    pub notes: Vec<String>,
}

/// All verdicts, and the decision.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The edition that was judged by.
    pub edition: Edition,
    /// The decision.
    pub decision: Decision,
    /// Whether the run was cut short: then nothing is conformant, as not all was seen.
    pub partial: bool,
    /// Which profiles were judged.
    pub scope: Scope,
    /// The verdicts, counted.
    pub tally: Tally,
    /// A verdict for every rule of the edition, in the ledger's order.
    pub verdicts: Vec<RuleVerdict>,
    /// The outcome of each waiver, in their order; empty if none were given.
    pub waivers: Vec<WaiverOutcome>,
}

/// Judges the evidence by the edition and the claims that its header holds.
pub fn judge(evidence: &Evidence, selection: &Selection) -> Judgement {
    let edition = evidence.header.claim.edition;
    let verdicts: Vec<RuleVerdict> = rules::all()
        .iter()
        .filter_map(|rule| Some((rule, rule.facts.in_edition(edition)?)))
        .map(|(rule, applies)| verdict(rule, applies, evidence, selection))
        .collect();
    let tally = Tally::of(&verdicts);
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

/// Decides: failures first, then doubts. A run that judged nothing, or was cut short, is never conformant. MAY rules
/// cannot fail, SHOULD rules only in strict runs.
fn decide(tally: &Tally, partial: bool) -> Decision {
    if tally.must.failed + tally.should.failed > 0 {
        Decision::NotConformant
    } else if partial || tally.must.inconclusive > 0 || tally.must.judged() == 0 {
        Decision::Inconclusive
    } else {
        Decision::Conformant
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
    doubts.extend(missed(rule, evidence));
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

/// Returns why a rule is not judged at all, if so.
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
fn weigh_found(
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

/// Returns the gaps that keep a rule from passing: those in every kind that it needs, and, if all alternatives have
/// gaps, those in the alternatives.
fn missed(rule: &Rule, evidence: &Evidence) -> Vec<String> {
    let of = |kind: &Kind| {
        let mut missed = gaps(evidence, *kind);
        missed.extend(unreadable(evidence, *kind));
        missed
    };
    let mut missed: Vec<String> = rule.facts.needs.iter().flat_map(of).collect();
    let is_had = |kind: &Kind| evidence.is_whole(*kind) && unreadable(evidence, *kind).is_none();
    let either = &rule.facts.needs_one_of;
    if !either.iter().any(is_had) {
        missed.extend(either.iter().flat_map(of));
    }
    let mut told = BTreeSet::new();
    missed.retain(|reason| told.insert(reason.clone()));
    missed
}

/// Returns the objects of one kind of evidence that could not be read, and so were not examined. Profiles that are
/// known to be outside of the scope do not count.
fn unreadable(evidence: &Evidence, kind: Kind) -> Option<String> {
    let object_kind = match kind {
        Kind::Inventory | Kind::Timeline => names::KIND,
        Kind::Namespaces => "Namespace",
        Kind::Secrets => "Secret",
        _ => return None,
    };
    let scope = &evidence.header.scope.namespaces;
    let is_outside = |namespace: &str| !namespace.is_empty() && !scope.iter().any(|name| name == namespace);
    let mut objects = evidence.unreadable.iter().filter(|unreadable| {
        let object = &unreadable.object;
        let counts = object.kind.is_empty() || object.kind == object_kind;
        counts && (object_kind != names::KIND || scope.is_empty() || !is_outside(&object.namespace))
    });
    let first = objects.next()?;
    let more = match objects.count() {
        0 => String::new(),
        more => format!(" (and {more} more like it)"),
    };
    Some(format!("{first}{more}"))
}

/// Returns the gaps of one kind, each cause once. Rules report the gaps of single members themselves: a member that its
/// manager reports as down is no gap.
fn gaps(evidence: &Evidence, kind: Kind) -> Vec<String> {
    let mut reasons: Vec<String> = Vec::new();
    let of_one_member = |gap: &&Gap| gap.kind == Kind::Members && gap.object.is_some();
    for gap in evidence.gaps(kind).filter(|gap| !of_one_member(gap)) {
        let reason = match &gap.object {
            Some(object) => format!("{object}: {}", gap.reason),
            None => gap.reason.clone(),
        };
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    reasons
}

impl Judgement {
    /// How many of the edition's rules cannot be judged yet, whatever the evidence.
    pub fn unjudged(&self) -> usize {
        let facts = self.verdicts.iter().map(|verdict| &verdict.rule.facts);
        facts.filter(|facts| facts.unjudged.is_some()).count()
    }

    /// How many rules are broken, and waived.
    pub fn waived(&self) -> usize {
        let Tally { must, should, may } = &self.tally;
        must.waived + should.waived + may.waived
    }

    /// What is wrong with the waivers themselves.
    pub fn complaints(&self) -> impl Iterator<Item = String> {
        self.waivers.iter().filter_map(WaiverOutcome::complaint)
    }
}

impl Verdict {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::Warn => "warn",
            Verdict::Waived => "waived",
            Verdict::Inconclusive => "inconclusive",
            Verdict::NotApplicable => "not-applicable",
            Verdict::Skipped => "skipped",
        }
    }

    /// The name in sentences.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::NotApplicable => "not applicable",
            other => other.name(),
        }
    }
}

impl Decision {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Decision::Conformant => "conformant",
            Decision::NotConformant => "not-conformant",
            Decision::Inconclusive => "inconclusive",
        }
    }
}

#[cfg(test)]
mod tests;
