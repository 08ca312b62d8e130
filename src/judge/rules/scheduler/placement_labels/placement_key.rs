//! The key that ties a decision to its workload.

use evidence::{
    Evidence, ObjectRef,
    api::{PlacementDecision, names::LABEL_PLACEMENT_KEY},
};

use crate::{
    shared::placement::{
        Difference, LogicalDecision, RESCHEDULE, Reads, each_version, faults_that_last, logical_decisions,
    },
    subjects::{Finding, Findings},
    text::ABSENT,
};

/// The reason for no verdict if no decision is for a workload.
pub(super) const NONE_SET: &str = "no slice has a placement key";

/// The path of the label in findings.
pub(super) fn path() -> String {
    format!("metadata.labels[{LABEL_PLACEMENT_KEY}]")
}

/// `placement-labels/placement-key-usable`
///
/// A placement key that is set is not empty, and all slices of the decision have it.
pub(in crate::rules) fn placement_key_usable(evidence: &Evidence, findings: &mut Findings) {
    each_version(evidence, findings, |slice| {
        let key = slice.label(LABEL_PLACEMENT_KEY)?;
        let finding = key.is_empty().then(|| {
            Finding::on(ObjectRef::from(slice), "the placement key is empty")
                .at(path())
                .expected("the key of the workload, or no such label")
                .observed(key)
        });
        Some(finding.into_iter().collect())
    });
    let examined = findings.examined;
    faults_that_last(evidence, findings, RESCHEDULE, Reads::Marks, |moment| {
        let decisions = logical_decisions(moment.slices());
        decisions.iter().flat_map(different).collect()
    });
    findings.examined = examined;
    if examined == 0 {
        findings.not_applicable(NONE_SET);
    }
}

/// The slices of a decision that do not have the placement key of its first slice with one. If the slices are of several
/// decisions, `placement-slices/key-one-decision` is about that.
fn different(decision: &LogicalDecision) -> Vec<Finding> {
    let key = |slice: &PlacementDecision| slice.label(LABEL_PLACEMENT_KEY).map(str::to_owned);
    let slices = &decision.slices;
    let is_several = slices
        .iter()
        .any(|slice| Difference::of(slices[0], slice).is_some());
    let is_any_empty = slices
        .iter()
        .any(|slice| slice.label(LABEL_PLACEMENT_KEY) == Some(""));
    let first = slices.iter().find_map(|slice| Some((slice, key(slice)?)));
    let Some((first, wanted)) = first.filter(|_| !is_several && !is_any_empty) else {
        return Vec::new();
    };
    let others = slices
        .iter()
        .filter(|slice| slice.label(LABEL_PLACEMENT_KEY) != Some(&*wanted));
    others
        .map(|slice| {
            let message = "slices of one decision have different placement keys";
            let finding = Finding::on(ObjectRef::from(*slice), message)
                .at(path())
                .expected(format!("{wanted}, as in slice {}", first.metadata.name));
            // The label is optional: one slice that lacks it does not contradict the other.
            match key(slice) {
                Some(own) => finding.observed(own),
                None => finding.observed(ABSENT).advisory(),
            }
        })
        .collect()
}
