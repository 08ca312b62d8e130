//! Slices that a decision does not need.

use evidence::{
    Evidence, ObjectRef,
    api::{PlacementDecision, names::LARGEST_SLICE},
};

use crate::{
    shared::placement::{LogicalDecision, RESCHEDULE, Reads, faults_that_last, logical_decisions},
    subjects::{Finding, Findings},
    text::counted,
};

/// `placement-slices/no-needless-slices`
///
/// A decision has no more slices than its clusters fill.
///
/// An empty slice beside others is a fault. Slices that are filled in part are only worth a warning: EndpointSlices, whose
/// convention the KEP follows, may be so too.
pub(in crate::rules) fn no_needless_slices(evidence: &Evidence, findings: &mut Findings) {
    faults_that_last(evidence, findings, RESCHEDULE, Reads::Numbers, |moment| {
        let decisions = logical_decisions(moment.slices());
        decisions.iter().flat_map(needless).collect()
    });
}

fn needless(decision: &LogicalDecision) -> Vec<Finding> {
    let clusters: usize = decision.slices.iter().map(|slice| slice.clusters().len()).sum();
    let needed = clusters.div_ceil(LARGEST_SLICE).max(1);
    let count = decision.slices.len();
    let surplus = count.saturating_sub(needed);
    if surplus == 0 {
        return Vec::new();
    }
    let finding = |slice: &PlacementDecision, message: &str| {
        Finding::on(ObjectRef::from(slice), message)
            .at("decisions")
            .expected(format!("{} in {}", counted(needed, "slice"), decision.describe()))
            .observed(format!("{count} slices for {}", counted(clusters, "cluster")))
    };
    let empty = decision
        .slices
        .iter()
        .rev()
        .filter(|slice| slice.clusters().is_empty());
    let found: Vec<Finding> = empty
        .take(surplus)
        .map(|slice| finding(slice, "a decision of several slices has an empty one"))
        .collect();
    match decision.slices.last() {
        Some(last) if found.is_empty() => {
            vec![finding(last, "the decision has more slices than its clusters fill").advisory()]
        }
        _ => found,
    }
}
