//! What the fault matrices share: which rules a fault breaks, and that it breaks no other.

use std::collections::BTreeSet;

use evidence::{Evidence, api::Role};
use judge::{
    Selection, Verdict, judge,
    rules::{self, Level},
};
use lab::fault::FaultInfo;
use libtest_mimic::Failed;

/// The rules of a role that the suite has.
pub fn known_rules(role: Role) -> BTreeSet<&'static str> {
    let its = rules::all().iter().filter(|rule| {
        let mut editions = rule.facts.editions.iter();
        editions.any(|applies| applies.edition.role() == role)
    });
    its.map(|rule| rule.id).collect()
}

/// Each rule of a role is broken by a fault.
pub fn every_rule_has_a_fault<Edit>(role: Role, faults: &[FaultInfo<Edit>]) -> Result<(), Failed> {
    let broken: BTreeSet<&str> = faults.iter().map(FaultInfo::rule).collect();
    let kept: Vec<&str> = known_rules(role).difference(&broken).copied().collect();
    match kept.as_slice() {
        [] => Ok(()),
        kept => Err(format!("no fault breaks {kept:?}").into()),
    }
}

/// Whether an edition has the rule as a MUST.
pub fn is_must(rule: &str) -> bool {
    let of_rule = rules::find(rule)
        .into_iter()
        .flat_map(|rule| &rule.facts.editions);
    of_rule.into_iter().any(|applies| applies.level == Level::Must)
}

/// The rules that are broken have failed or warned, and all others can tell.
pub fn expect_broken(judged: &str, broken: &BTreeSet<&str>, evidence: &Evidence) -> Result<(), Failed> {
    let verdicts = verdicts(evidence);
    let of = |wanted: &[Verdict]| -> BTreeSet<&str> {
        let found = verdicts.iter().filter(|(_, verdict, _)| wanted.contains(verdict));
        found.map(|(id, ..)| id.as_str()).collect()
    };
    let complained = of(&[Verdict::Fail, Verdict::Warn]);
    if complained != *broken {
        return Err(format!(
            "{judged}: expected complaints of {broken:?}, got {complained:?}: {verdicts:#?}"
        )
        .into());
    }
    let in_doubt = of(&[Verdict::Inconclusive]);
    if in_doubt.is_empty() {
        Ok(())
    } else {
        Err(format!("{judged}: {in_doubt:?} cannot tell: {verdicts:#?}").into())
    }
}

/// Each rule's verdict, with what it says.
pub fn verdicts(evidence: &Evidence) -> Vec<(String, Verdict, String)> {
    let judgement = judge(evidence, &Selection::default());
    let told = judgement.verdicts.iter().map(|each| {
        let findings = each
            .findings
            .iter()
            .map(|finding| format!("{}: {}: {}", finding.object, finding.message, finding.observed));
        let reasons: Vec<String> = findings.take(3).chain(each.reason()).collect();
        (each.rule.id.to_owned(), each.verdict, reasons.join("; "))
    });
    told.collect()
}
