//! Judges evidence: examines each selected rule, and weighs what it found.

use std::{collections::BTreeSet, sync::Arc};

use evidence::{
    Awaited, Claim, Evidence, History, Kind, ObjectKey, Reason, ReasonId, Requested, Tracked,
    api::{Feature, ObjectKind, Role},
};

use crate::{
    engine::WholeHub,
    judging::{
        examine::{Examined, examine},
        prospect::{Selection, missing, waits_for},
        verdict::{Decision, Judgement, RuleVerdict, Verdict},
    },
    reasons, rules,
    rules::{Applies, Finding, Findings, Rule},
};

/// A rule, with its level and basis in the claimed edition.
type ClaimedRule = (&'static Rule, &'static Applies);

/// Judges evidence by the editions in its header. Uses all cores if there is much to judge.
pub fn judge(evidence: &Evidence, selection: &Selection) -> Judgement {
    let hub = Arc::new(WholeHub::of(evidence));
    judgement(&hub, &evidence.header.claim, selection, &[])
}

/// Judges evidence by the editions of other claims, which say the same of the implementation. Takes over what rules found
/// that never asked for the edition. Without the effect of waivers.
pub fn judge_by(
    claims: &[Claim],
    evidence: &Evidence,
    selection: &Selection,
    earlier: &Judgement,
) -> Vec<Judgement> {
    if claims.is_empty() {
        return Vec::new();
    }
    let hub = Arc::new(WholeHub::of(evidence));
    let judgements = claims
        .iter()
        .map(|claim| judgement(&hub, claim, selection, &earlier.verdicts));
    judgements.collect()
}

/// The objects with a violation that is open at the end of the evidence and would decide a verdict if it lasted for longer than
/// the grace period. Rules with other violations are left out.
pub fn unsettled(evidence: &Evidence, selection: &Selection) -> Awaited {
    let claim = &evidence.header.claim;
    let mut rules = rules_of(claim);
    rules.retain(|(rule, applies)| without_examining(rule, applies, evidence, selection).is_none());
    let hub = Arc::new(WholeHub::of(evidence));
    let mut awaited = Awaited::default();
    let rules: Vec<&Rule> = rules.into_iter().map(|(rule, _)| rule).collect();
    for Examined { findings, .. } in examine(&rules, &hub, claim) {
        if findings.list().iter().all(|finding| finding.advisory) {
            awaited.add(findings.open().clone());
        }
    }
    awaited
}

/// The verdicts on rules, in their order.
fn verdicts<'e>(
    rules: &[ClaimedRule],
    hub: &Arc<WholeHub<'e>>,
    claim: &'e Claim,
    selection: &Selection,
    earlier: &[RuleVerdict],
) -> Vec<RuleVerdict> {
    let evidence = hub.evidence;
    let without_examining = |(rule, applies): &ClaimedRule| {
        if let Some((verdict, reasons)) = without_examining(rule, applies, evidence, selection) {
            return Some(RuleVerdict::of(
                rule,
                applies,
                verdict,
                reasons,
                Findings::default(),
            ));
        }
        let mut verdicts = earlier.iter().filter(|verdict| verdict.is_of_any_edition);
        let verdict = verdicts.find(|verdict| verdict.rule.id == rule.id)?;
        Some(verdict.in_edition(applies, claim.strict))
    };
    let verdicts: Vec<Option<RuleVerdict>> = rules.iter().map(without_examining).collect();
    let open = rules
        .iter()
        .zip(&verdicts)
        .filter(|(_, verdict)| verdict.is_none());
    let open: Vec<&Rule> = open.map(|((rule, _), _)| *rule).collect();
    let mut examined = examine(&open, hub, claim).into_iter();
    let verdicts = rules.iter().zip(verdicts).map(|((rule, applies), verdict)| {
        verdict.unwrap_or_else(|| {
            let examined = examined.next().expect("a result for each examined rule");
            RuleVerdict::weighed(rule, applies, evidence, examined)
        })
    });
    verdicts.collect()
}

impl RuleVerdict {
    /// The verdict on a rule that was examined.
    fn weighed(
        rule: &'static Rule,
        applies: &'static Applies,
        evidence: &Evidence,
        examined: Examined,
    ) -> Self {
        let findings = examined.findings;
        let doubts = [findings.doubts(), missing(rule, evidence)].concat();
        let (verdict, reasons) = weigh(rule, applies, evidence, &findings, &doubts);
        Self {
            doubts,
            is_of_any_edition: examined.is_of_any_edition,
            ..Self::of(rule, applies, verdict, reasons, findings)
        }
    }

    /// The verdict on what a rule found, without doubts.
    fn of(
        rule: &'static Rule,
        applies: &'static Applies,
        verdict: Verdict,
        reasons: Vec<Reason>,
        findings: Findings,
    ) -> Self {
        Self {
            rule,
            applies,
            verdict,
            examined: findings.examined,
            reasons,
            notes: findings.notes(),
            findings: findings.list,
            waived: Vec::new(),
            doubts: Vec::new(),
            is_of_any_edition: false,
        }
    }

    /// The verdict in an edition in which the rule finds the same, without waivers.
    fn in_edition(&self, applies: &'static Applies, strict: bool) -> Self {
        let mut again = self.clone();
        again.applies = applies;
        again
            .findings
            .extend(again.waived.drain(..).map(|(finding, _)| finding));
        if let Some(weighed) = weigh_found(applies, &again.findings, &again.doubts, strict) {
            (again.verdict, again.reasons) = weighed;
        }
        again
    }
}

/// The verdict on one rule; none if the claimed edition does not have it.
#[cfg(test)]
pub(crate) fn judge_rule(rule: &'static Rule, evidence: &Evidence) -> Option<RuleVerdict> {
    let applies = rule.facts.in_claim(&evidence.header.claim)?;
    let (hub, claim) = (Arc::new(WholeHub::of(evidence)), &evidence.header.claim);
    verdicts(&[(rule, applies)], &hub, claim, &Selection::default(), &[]).pop()
}

/// The rules of the editions that a claim names, in the ledger's order.
fn rules_of(claim: &Claim) -> Vec<ClaimedRule> {
    let rules = rules::all().iter();
    rules
        .filter_map(|rule| Some((rule, rule.facts.in_claim(claim)?)))
        .collect()
}

/// The verdicts on all rules of the claim's editions, and the decision.
fn judgement<'e>(
    hub: &Arc<WholeHub<'e>>,
    claim: &'e Claim,
    selection: &Selection,
    earlier: &[RuleVerdict],
) -> Judgement {
    let header = &hub.evidence.header;
    let verdicts = verdicts(&rules_of(claim), hub, claim, selection, earlier);
    let tally = verdicts.iter().map(RuleVerdict::outcome).collect();
    let mut judgement = Judgement {
        edition: claim.edition,
        also: claim.also,
        decision: Decision::Inconclusive,
        partial: header.cut_short.is_some(),
        scope: header.scope.clone(),
        tally,
        verdicts,
        waivers: Vec::new(),
    };
    judgement.decision = judgement.worst();
    judgement
}

/// Whether the run wrote to an object in scope. Only rules on the driver's steps judge such objects.
fn is_any_touched(evidence: &Evidence, kind: ObjectKind) -> bool {
    let scope = &evidence.header.scope;
    evidence.driver.as_ref().is_some_and(|driver| match kind {
        ObjectKind::ClusterProfile => is_any_of(&driver.written_profiles, &evidence.profiles, |profile| {
            scope.holds(profile)
        }),
        ObjectKind::PlacementDecision => is_any_of(&driver.written_slices, &evidence.slices, |slice| {
            scope.holds_slice(slice)
        }),
    })
}

/// Whether any of the named objects has a version for which something holds.
fn is_any_of<T: Tracked>(
    names: &BTreeSet<ObjectKey>,
    histories: &[History<T>],
    holds: impl Fn(&T) -> bool,
) -> bool {
    let mut histories_of_names = histories
        .iter()
        .filter(|history| names.contains(&ObjectKey::of(history.last())));
    histories_of_names.any(|history| history.versions.iter().any(|version| holds(&version.object)))
}

/// The verdict on a rule that is not examined, with the reasons; none if it is examined.
fn without_examining(
    rule: &Rule,
    applies: &Applies,
    evidence: &Evidence,
    selection: &Selection,
) -> Option<(Verdict, Vec<Reason>)> {
    if let Some(reason) = why_skipped(rule, applies, selection, &evidence.header.claim) {
        return Some((Verdict::Skipped, vec![reason]));
    }
    let (kind, reasons) = why_without_evidence(rule, evidence)?;
    let feature = rule.facts.feature;
    if !feature.is_some_and(|feature| claims(evidence, feature, kind)) {
        return Some((Verdict::Skipped, reasons));
    }
    let claimed = |reason: &Reason| reason.in_words(format!("claimed, but {reason}"));
    Some((Verdict::Inconclusive, reasons.iter().map(claimed).collect()))
}

/// Why a rule is skipped whatever the evidence, if so.
pub(crate) fn why_skipped(
    rule: &Rule,
    applies: &Applies,
    selection: &Selection,
    claim: &Claim,
) -> Option<Reason> {
    if !selection.holds(rule.id) {
        return Some(reasons::DESELECTED);
    }
    if !selection.holds_basis(applies.basis) {
        return Some(reasons::of_other_basis(applies.basis));
    }
    if let Some(why) = &rule.facts.unjudged {
        return Some(Reason::of(ReasonId::NotYetJudged, why.clone()));
    }
    if rule.facts.needs_expected_number && claim.expected_profiles.is_none() {
        return Some(reasons::NO_EXPECTED_NUMBER);
    }
    let feature = rule.facts.feature?;
    if claim.no_features.contains(&feature) {
        return Some(reasons::declared_absent(feature));
    }
    let is_required = !applies.only_if_claimed || claim.features.contains(&feature);
    (!is_required).then(|| reasons::not_claimed(applies.edition, feature))
}

/// A kind of evidence that a rule needs and the run did not request, with the reasons of all alternatives.
pub(crate) fn why_without_evidence(rule: &Rule, evidence: &Evidence) -> Option<(Kind, Vec<Reason>)> {
    let kinds = waits_for(rule, evidence);
    let first = *kinds.first()?;
    // One of several alternatives is enough.
    let is_needed = rule.facts.needs.contains(&first) || kinds.len() == rule.facts.needs_one_of.len();
    let reasons = kinds.into_iter().filter_map(|kind| why_not_asked(evidence, kind));
    is_needed.then(|| (first, reasons.collect()))
}

/// Whether the user claims a feature that only that kind of evidence shows.
fn claims(evidence: &Evidence, feature: Feature, kind: Kind) -> bool {
    let claim = &evidence.header.claim;
    match feature {
        Feature::ConsumerSecrets => {
            let is_claimed = claim.features.contains(&feature) || !claim.consumers.is_empty();
            is_claimed && matches!(kind, Kind::Secrets | Kind::Namespaces)
        }
    }
}

fn why_not_asked(evidence: &Evidence, kind: Kind) -> Option<Reason> {
    match evidence.requested(kind) {
        Requested::Yes => None,
        Requested::No(reason) if reason.is_empty() => {
            let words = format!("evidence was not requested: {kind}");
            Some(Reason::of(ReasonId::NotRequested, words))
        }
        Requested::No(reason) => Some(reason.clone()),
    }
}

/// Turns the findings of a rule into its verdict. A violation counts even if other evidence is missing.
fn weigh(
    rule: &Rule,
    applies: &Applies,
    evidence: &Evidence,
    findings: &Findings,
    doubts: &[Reason],
) -> (Verdict, Vec<Reason>) {
    let strict = evidence.header.claim.strict;
    if let Some(weighed) = weigh_found(applies, findings.list(), doubts, strict) {
        return weighed;
    }
    // Without any object, neither an examined object of another client nor "not applicable" says anything about the implementation.
    let kind = rule.role().objects();
    let (was_any, is_any) = match rule.role() {
        // The objects are the run's own.
        Role::Consumer => (true, true),
        Role::Manager => (evidence.has_any(kind), evidence.inventory().next().is_some()),
        Role::Scheduler => (evidence.has_any(kind), evidence.slices().next().is_some()),
    };
    if findings.examined > 0 && (was_any || is_any_touched(evidence, kind)) {
        return (Verdict::Pass, Vec::new());
    }
    if let Some(evidence) = &findings.not_asked {
        return (Verdict::Skipped, vec![evidence.clone()]);
    }
    if !was_any {
        let words = format!("there is no {} to examine", kind.name());
        return (Verdict::Inconclusive, vec![Reason::of(ReasonId::NoObject, words)]);
    }
    let (verdict, reason) = match &findings.not_applicable {
        Some(reason) => (Verdict::NotApplicable, reason.clone()),
        None => (Verdict::Inconclusive, "there was nothing to examine".into()),
    };
    // A rule that compares objects at the end may have had nothing to compare.
    let no_object = match (is_any, kind) {
        (true, _) => "",
        (false, ObjectKind::ClusterProfile) => "; no profile was left when the window ended",
        (false, ObjectKind::PlacementDecision) => "; no decision was left when the window ended",
    };
    (verdict, vec![reason.in_words(format!("{reason}{no_object}"))])
}

/// The verdict that findings or insufficient evidence lead to; none without either.
pub(crate) fn weigh_found(
    applies: &Applies,
    findings: &[Finding],
    doubts: &[Reason],
    strict: bool,
) -> Option<(Verdict, Vec<Reason>)> {
    if findings.iter().any(|finding| !finding.advisory) {
        let verdict = if applies.fails(strict) {
            Verdict::Fail
        } else {
            Verdict::Warn
        };
        return Some((verdict, Vec::new()));
    }
    if !doubts.is_empty() {
        return Some((Verdict::Inconclusive, doubts.to_vec()));
    }
    (!findings.is_empty()).then_some((Verdict::Warn, Vec::new()))
}

#[cfg(test)]
mod tests;
