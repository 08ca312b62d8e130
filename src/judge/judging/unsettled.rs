//! Faults that are open when the window ends, and that the run waits for.

use evidence::{Awaited, Evidence};

use crate::{
    judging::{
        chunks::findings,
        judge::{rules_of, without_examining},
        selection::Selection,
    },
    rules::Rule,
};

/// The objects with a fault that was open when the evidence ends, and that decides a verdict: one that lasts for longer
/// than its grace breaks a rule. Rules that are broken anyway wait for nothing.
pub fn unsettled(evidence: &Evidence, selection: &Selection) -> Awaited {
    let rules = rules_of(&evidence.header.claim).into_iter();
    let examined =
        rules.filter(|(rule, applies)| without_examining(rule, applies, evidence, selection).is_none());
    let examined: Vec<&'static Rule> = examined.map(|(rule, _)| rule).collect();
    let mut awaited = Awaited::default();
    for found in findings(&examined, evidence) {
        if found.list().iter().all(|finding| finding.advisory) {
            awaited.add(found.open().clone());
        }
    }
    awaited
}
