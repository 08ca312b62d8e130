//! Judges evidence: examines each selected rule, and weighs what it found.

use std::{
    collections::BTreeSet,
    num::NonZero,
    panic::resume_unwind,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use evidence::{
    Asked, Awaited, Claim, Evidence, Kind, ObjectKey, ObjectRef, Reason, ReasonId, Tracked as _,
    api::{Feature, ObjectKind, Role},
};

use crate::{
    engine::Hub,
    judging::{
        prospect::{Selection, missing, waits_for},
        verdict::{Decision, Judgement, RuleVerdict, Verdict},
    },
    reasons, rules,
    rules::{Applies, Conclusion, Finding, Findings, Rule},
};

/// The fewest versions and requests that several threads examine. Fewer take a few milliseconds.
const MANY: usize = 100;

/// A rule, and how it stands in the edition that a claim names.
type ClaimedRule = (&'static Rule, &'static Applies);

/// Judges the evidence by the editions and the claims that its header holds. Uses all cores if there is much to judge.
pub fn judge(evidence: &Evidence, selection: &Selection) -> Judgement {
    judgement(
        evidence,
        verdicts(&rules_of(&evidence.header.claim), evidence, selection),
    )
}

/// The objects with a violation that was open when the evidence ends, and that decides a verdict: one that lasts for longer
/// than its grace period violates a rule. Rules that are violated anyway wait for nothing.
pub fn unsettled(evidence: &Evidence, selection: &Selection) -> Awaited {
    let mut rules = rules_of(&evidence.header.claim);
    rules.retain(|(rule, applies)| without_examining(rule, applies, evidence, selection).is_none());
    let hub = Hub::of(evidence);
    let mut awaited = Awaited::default();
    for found in each(&rules, evidence, |(rule, _)| rule.findings_on(&hub)) {
        if found.list().iter().all(|finding| finding.advisory) {
            awaited.add(found.open().clone());
        }
    }
    awaited
}

/// The verdicts on rules, in their order.
fn verdicts(rules: &[ClaimedRule], evidence: &Evidence, selection: &Selection) -> Vec<RuleVerdict> {
    let hub = Hub::of(evidence);
    each(rules, evidence, |(rule, applies)| {
        without_examining(rule, applies, evidence, selection)
            .unwrap_or_else(|| conclude(rule, applies, evidence, rule.findings_on(&hub)))
    })
}

/// What a function makes of each rule, in their order. Uses all cores if there is much evidence.
///
/// # Panics
/// With the panic of the function.
fn each<R: Send>(
    rules: &[ClaimedRule],
    evidence: &Evidence,
    examine: impl Fn(&ClaimedRule) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let take_turns = || {
        let mut done = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(rule) = rules.get(place) else {
                return done;
            };
            done.push((place, examine(rule)));
        }
    };
    let mut done = thread::scope(|scope| {
        // This thread takes turns too, so that the work is done even if no other thread can be started.
        let start = |_| thread::Builder::new().spawn_scoped(scope, take_turns).ok();
        let others: Vec<_> = (1..threads(evidence)).filter_map(start).collect();
        let mut done = take_turns();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

/// How many threads examine the evidence.
fn threads(evidence: &Evidence) -> usize {
    let profiles = evidence.profiles.iter().map(|history| history.versions.len());
    let slices = evidence.slices.iter().map(|history| history.versions.len());
    let requests = evidence
        .requests
        .as_ref()
        .map_or(0, |requests| requests.events.len());
    if profiles.chain(slices).sum::<usize>() + requests < MANY {
        return 1;
    }
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// The verdict on one rule; none if the claimed edition does not have it.
#[cfg(test)]
pub(crate) fn judge_rule(rule: &'static Rule, evidence: &Evidence) -> Option<RuleVerdict> {
    let applies = rule.facts.in_claim(&evidence.header.claim)?;
    verdicts(&[(rule, applies)], evidence, &Selection::default()).pop()
}

/// The rules of the editions that a claim names, in the ledger's order.
fn rules_of(claim: &Claim) -> Vec<ClaimedRule> {
    let rules = rules::all().iter();
    rules
        .filter_map(|rule| Some((rule, rule.facts.in_claim(claim)?)))
        .collect()
}

/// Decides by the verdicts on all rules.
fn judgement(evidence: &Evidence, verdicts: Vec<RuleVerdict>) -> Judgement {
    let header = &evidence.header;
    let tally = verdicts.iter().map(RuleVerdict::outcome).collect();
    let mut judgement = Judgement {
        edition: header.claim.edition,
        also: header.claim.also,
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

/// Whether the evidence has judged objects of a kind, and whether any of them still existed in the end.
fn objects(evidence: &Evidence, kind: ObjectKind) -> (bool, bool) {
    let is_any_left = match kind {
        ObjectKind::ClusterProfile => evidence.inventory().next().is_some(),
        ObjectKind::PlacementDecision => evidence.slices().next().is_some(),
    };
    (evidence.has_any(kind), is_any_left)
}

/// Whether the run itself touched an object in scope. Only rules on what became of it judge such objects.
fn is_any_touched(evidence: &Evidence, kind: ObjectKind) -> bool {
    let Some(driver) = &evidence.driver else {
        return false;
    };
    let scope = &evidence.header.scope;
    let is_in = |keys: &BTreeSet<ObjectKey>, object: ObjectRef| keys.contains(&ObjectKey::from(&object));
    match kind {
        ObjectKind::ClusterProfile => evidence.profiles.iter().any(|history| {
            let mut versions = history.versions.iter();
            versions.any(|version| scope.holds(&version.object))
                && is_in(&driver.touched, history.last().object_ref())
        }),
        ObjectKind::PlacementDecision => evidence.slices.iter().any(|history| {
            let mut versions = history.versions.iter();
            versions.any(|version| scope.holds_slice(&version.object))
                && is_in(&driver.touched_slices, history.last().object_ref())
        }),
    }
}

/// Returns the verdict on a rule that is not examined, if so.
fn without_examining(
    rule: &'static Rule,
    applies: &'static Applies,
    evidence: &Evidence,
    selection: &Selection,
) -> Option<RuleVerdict> {
    let unexamined = |verdict, reasons: Vec<Reason>| {
        Some(RuleVerdict {
            rule,
            applies,
            verdict,
            examined: 0,
            reasons,
            findings: Vec::new(),
            waived: Vec::new(),
            doubts: Vec::new(),
            notes: Vec::new(),
        })
    };
    if let Some(reason) = why_skipped(rule, applies, selection, &evidence.header.claim) {
        return unexamined(Verdict::Skipped, vec![reason]);
    }
    if let Some((kind, reasons)) = why_without_evidence(rule, evidence) {
        let is_claimed = rule
            .facts
            .feature
            .is_some_and(|feature| claims(evidence, feature, kind));
        return if is_claimed {
            let claimed = |reason: &Reason| reason.in_words(format!("claimed, but {reason}"));
            unexamined(Verdict::Inconclusive, reasons.iter().map(claimed).collect())
        } else {
            unexamined(Verdict::Skipped, reasons)
        };
    }
    None
}

/// The verdict on a rule by what it found in all of the evidence.
fn conclude(
    rule: &'static Rule,
    applies: &'static Applies,
    evidence: &Evidence,
    findings: Findings,
) -> RuleVerdict {
    let mut found = findings.conclude();
    found.doubts.extend(missing(rule, evidence));
    let (verdict, reasons) = weigh(rule, applies, evidence, &found);
    RuleVerdict {
        rule,
        applies,
        verdict,
        examined: found.examined,
        reasons,
        findings: found.list,
        waived: Vec::new(),
        doubts: found.doubts,
        notes: found.notes,
    }
}

/// Returns why a rule is not judged with any evidence, if so.
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
    if let Some(reason) = rule.not_claimed(claim) {
        return Some(reason);
    }
    let feature = rule.facts.feature?;
    if claim.no_features.contains(&feature) {
        return Some(reasons::declared_absent(feature));
    }
    let is_required = !applies.only_if_claimed || claim.features.contains(&feature);
    (!is_required).then(|| reasons::not_claimed(applies.edition, feature))
}

/// Returns a kind of evidence that a rule needs and that was not asked for, with the reasons of all that would do.
pub(crate) fn why_without_evidence(rule: &Rule, evidence: &Evidence) -> Option<(Kind, Vec<Reason>)> {
    let kinds = waits_for(rule, evidence);
    let first = *kinds.first()?;
    // One of several alternatives is enough.
    let is_needed = rule.facts.needs.contains(&first) || kinds.len() == rule.facts.needs_one_of.len();
    let reasons = kinds.into_iter().filter_map(|kind| why_not_asked(evidence, kind));
    is_needed.then(|| (first, reasons.collect()))
}

/// Whether the user claims what only that kind of evidence can show. What is claimed is asked for.
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
    match evidence.asked(kind) {
        Asked::Yes => None,
        Asked::No(reason) if reason.is_empty() => {
            let told = format!("evidence not asked for: {kind}");
            Some(Reason::of(ReasonId::NotRequested, told))
        }
        Asked::No(reason) => Some(reason.clone()),
    }
}

/// Turns the findings of a rule into its verdict. A violation counts even if other evidence is missing.
fn weigh(rule: &Rule, applies: &Applies, evidence: &Evidence, found: &Conclusion) -> (Verdict, Vec<Reason>) {
    let strict = evidence.header.claim.strict;
    if let Some(weighed) = weigh_found(applies, &found.list, &found.doubts, strict) {
        return weighed;
    }
    // Without any object, neither "nothing to apply to" nor what others did says anything about the implementation.
    let kind = rule.role().objects();
    let (was_any, is_any) = match rule.role() {
        // The objects are the run's own.
        Role::Consumer => (true, true),
        Role::Manager | Role::Scheduler => objects(evidence, kind),
    };
    if found.examined > 0 && (was_any || is_any_touched(evidence, kind)) {
        return (Verdict::Pass, Vec::new());
    }
    if let Some(evidence) = &found.not_asked {
        return (Verdict::Skipped, vec![evidence.clone()]);
    }
    if !was_any {
        let told = format!("there is no {} to examine", kind.name());
        return (Verdict::Inconclusive, vec![Reason::of(ReasonId::NoObject, told)]);
    }
    let (verdict, reason) = match &found.not_applicable {
        Some(reason) => (Verdict::NotApplicable, reason.clone()),
        None => (Verdict::Inconclusive, "there was nothing to examine".into()),
    };
    // A rule that compares what is there at the end may have had nothing to compare.
    let left = match (is_any, kind) {
        (true, _) => "",
        (false, ObjectKind::ClusterProfile) => "; no profile was left when the window ended",
        (false, ObjectKind::PlacementDecision) => "; no decision was left when the window ended",
    };
    (verdict, vec![reason.in_words(format!("{reason}{left}"))])
}

/// Returns the verdict that violations or doubts lead to, if there are any.
pub(crate) fn weigh_found(
    applies: &Applies,
    found: &[Finding],
    doubts: &[Reason],
    strict: bool,
) -> Option<(Verdict, Vec<Reason>)> {
    if found.iter().any(|finding| !finding.advisory) {
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
    (!found.is_empty()).then_some((Verdict::Warn, Vec::new()))
}

#[cfg(test)]
mod tests;
