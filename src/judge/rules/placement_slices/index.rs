//! The place of a slice among those of its decision.

use std::collections::BTreeMap;

use evidence::{
    Evidence, ObjectRef,
    api::{PlacementDecision, names},
};

use crate::rules::{
    finding::{Finding, Findings},
    placement::{LogicalDecision, each_version, faults_that_last, logical_decisions},
    write_time::{Micros, SECOND},
};

/// How long a reschedule may take: the ledger's grace of 30 s for rules on several slices.
const RESCHEDULE: Micros = 30 * SECOND;

/// The path of the label in findings.
fn path() -> String {
    format!("metadata.labels[{}]", names::LABEL_DECISION_INDEX)
}

/// The index as a number: without sign or leading zeros.
fn number(index: &str) -> Option<u32> {
    let number: u32 = index.parse().ok()?;
    (number.to_string() == index).then_some(number)
}

/// `placement-slices/index-is-number`
///
/// A decision index that is set is a number from 0 on, without sign or leading zeros.
pub(in crate::rules) fn index_is_number(evidence: &Evidence, findings: &mut Findings) {
    each_version(evidence, findings, |slice| {
        let index = slice.label(names::LABEL_DECISION_INDEX)?;
        let finding = number(index).is_none().then(|| {
            Finding::on(ObjectRef::from(slice), "the decision index is not a number")
                .at(path())
                .expected("a decimal number from 0 on")
                .observed(index)
        });
        Some(finding.into_iter().collect())
    });
    if findings.examined == 0 {
        findings.not_applicable("no slice has a decision index");
    }
}

/// `placement-slices/index-complete`
///
/// If one slice of a decision has an index, their indices are 0 to n-1, each once.
pub(in crate::rules) fn index_complete(evidence: &Evidence, findings: &mut Findings) {
    faults_that_last(evidence, findings, RESCHEDULE, |moment| {
        let decisions = logical_decisions(moment.slices.iter().copied());
        decisions.iter().filter_map(incomplete).collect()
    });
    let has_index = |slice: &PlacementDecision| slice.label(names::LABEL_DECISION_INDEX).is_some();
    let mut versions = evidence.slice_histories().flat_map(|history| &history.versions);
    if !versions.any(|version| has_index(&version.object)) {
        findings.examined = 0;
        findings.not_applicable("no slice has a decision index");
    }
}

/// What is wrong with the indices of one decision. Slices without an index are for `placement-slices/index-all-or-none`.
fn incomplete(decision: &LogicalDecision) -> Option<Finding> {
    let mut of_index: BTreeMap<u32, Vec<&PlacementDecision>> = BTreeMap::new();
    for slice in &decision.slices {
        let index = slice.label(names::LABEL_DECISION_INDEX)?;
        of_index.entry(number(index)?).or_default().push(slice);
    }
    let count = decision.slices.len();
    let repeated = of_index.iter().find(|(_, slices)| slices.len() > 1);
    let (slice, message) = match repeated {
        Some((_, slices)) => (slices[1], "two slices of one decision have the same index"),
        None => {
            let beyond = of_index.iter().find(|(index, _)| **index as usize >= count);
            (beyond?.1[0], "the indices of a decision's slices have a gap")
        }
    };
    let indices: Vec<String> = of_index
        .iter()
        .flat_map(|(index, slices)| slices.iter().map(move |_| index.to_string()))
        .collect();
    Some(
        Finding::on(ObjectRef::from(slice), message)
            .at(path())
            .expected(match count {
                1 => "0".to_owned(),
                count => format!("0 to {}, each once, in {}", count - 1, decision.describe()),
            })
            .observed(shortened(&indices)),
    )
}

/// The first entries of a list, and how many more there are.
fn shortened(list: &[String]) -> String {
    const SHOWN: usize = 10;
    let shown = list[..list.len().min(SHOWN)].join(", ");
    match list.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
