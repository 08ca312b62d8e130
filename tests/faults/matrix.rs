//! A matrix of faults: which are tried, and which verdicts each gets.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{Evidence, Kind, Requested, api::Role};
use judge::{
    Selection, Verdict, judge,
    rules::{self, Level},
};
use lab::fault::{FaultInfo, faults};
use libtest_mimic::{Arguments, Failed, Trial};

use super::fail;

/// A trial for each fault of a role. By default, one fault of each MUST rule is tried, since all take long; a filter or
/// `--ignored` tries the others.
pub fn trials(role: Role, args: &Arguments, try_fault: fn(&FaultInfo) -> Result<(), Failed>) -> Vec<Trial> {
    let mut tried = BTreeSet::new();
    let trials = faults(role).map(|fault| {
        let is_first = tried.insert(fault.rule());
        let is_tried = args.filter.is_some() || (is_first && is_must(fault.rule()));
        Trial::test(format!("faults::{role}s::{}", fault.id), move || try_fault(fault))
            .with_ignored_flag(!is_tried)
    });
    let name = format!("faults::{role}s::every rule has a fault");
    let complete = Trial::test(name, move || every_rule_has_a_fault(role));
    trials.chain([complete]).collect()
}

fn every_rule_has_a_fault(role: Role) -> Result<(), Failed> {
    let broken: BTreeSet<&str> = faults(role).map(FaultInfo::rule).collect();
    let of_role = rules::all().iter().filter(|rule| {
        let mut editions = rule.facts.editions.iter();
        editions.any(|applies| applies.edition.role() == role)
    });
    let mut ids = of_role.map(|rule| rule.id);
    ids.find(|id| !broken.contains(id))
        .map_or(Ok(()), |id| fail(format!("no fault breaks {id}")))
}

pub fn is_must(rule: &str) -> bool {
    let rule = rules::find(rule).expect("a known rule");
    rule.facts
        .editions
        .iter()
        .any(|applies| applies.level == Level::Must)
}

pub fn needs(rule: &str, kind: Kind) -> bool {
    rules::find(rule).is_some_and(|rule| rule.facts.needs.contains(&kind))
}

/// Each rule's verdict, with its findings or its reason.
pub type Verdicts = BTreeMap<&'static str, (Verdict, String)>;

pub fn verdicts(evidence: &Evidence) -> Verdicts {
    let judgement = judge(evidence, &Selection::default());
    let verdicts = judgement.verdicts.iter().map(|verdict| {
        let findings = verdict.findings.iter().take(3);
        let findings =
            findings.map(|finding| format!("{}: {}: {}", finding.object, finding.message, finding.observed));
        let reasons: Vec<String> = findings.chain(verdict.reason()).collect();
        (verdict.rule.id, (verdict.verdict, reasons.join("; ")))
    });
    verdicts.collect()
}

/// The same evidence without the audit log, which most hubs do not give.
pub fn without_audit_log(mut evidence: Evidence) -> Evidence {
    (evidence.requests, evidence.slice_requests) = (None, None);
    let reason = Requested::No("no audit log was given".into());
    evidence.header.requested.insert(Kind::Requests, reason);
    evidence
}

pub fn expect_verdicts(
    evidence_name: &str,
    mut others: Verdicts,
    expected: impl Fn(&str) -> Verdict,
) -> Result<(), Failed> {
    others.retain(|id, (verdict, _)| *verdict != expected(id));
    if others.is_empty() {
        return Ok(());
    }
    fail(format!("{evidence_name}: unexpected verdicts {others:#?}"))
}

/// The rules that a fault breaks fail or warn, those that it hides are inconclusive, and no others; also without the audit
/// log.
pub fn check_fault(fault: &FaultInfo, with_log: &Verdicts, evidence: Evidence) -> Result<(), Failed> {
    let broken: BTreeSet<&str> = fault.also.iter().copied().chain([fault.rule()]).collect();
    let in_log = fault.also_in_audit_log.iter().copied();
    let broken_in_log = broken.iter().copied().chain(in_log).collect();
    expect_broken("with the audit log", &broken_in_log, fault, with_log)?;
    let without_log = verdicts(&without_audit_log(evidence));
    let broken = if fault.needs_audit_log {
        BTreeSet::new()
    } else {
        broken
    };
    expect_broken("without it", &broken, fault, &without_log)
}

fn expect_broken(
    evidence_name: &str,
    broken: &BTreeSet<&str>,
    fault: &FaultInfo,
    verdicts: &Verdicts,
) -> Result<(), Failed> {
    let rules_with = |expected: &[Verdict]| -> BTreeSet<&str> {
        let rules = verdicts
            .iter()
            .filter(|(_, (verdict, _))| expected.contains(verdict));
        rules.map(|(id, _)| *id).collect()
    };
    let complaints = rules_with(&[Verdict::Fail, Verdict::Warn]);
    let mut inconclusive = rules_with(&[Verdict::Inconclusive]);
    // Without the log that shows who did it, what happened may still need an explanation.
    inconclusive.retain(|id| *id != fault.rule() || broken.contains(id));
    let hidden: BTreeSet<&str> = fault.hides.iter().copied().collect();
    if complaints == *broken && inconclusive == hidden {
        return Ok(());
    }
    fail(format!(
        "{evidence_name}: expected complaints of {broken:?}, got {complaints:?}; expected {hidden:?} to be \
         inconclusive, got {inconclusive:?}: {verdicts:#?}"
    ))
}
