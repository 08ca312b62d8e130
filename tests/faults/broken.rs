//! That a fault breaks its rules, and no other.

use std::collections::BTreeSet;

use evidence::Evidence;
use judge::{Selection, Verdict, judge};
use libtest_mimic::Failed;

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
