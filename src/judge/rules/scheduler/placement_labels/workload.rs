//! The workloads that decisions are for.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{
    Evidence, Kind, ObjectRef, SliceHistory,
    api::{PlacementDecision, names::LABEL_PLACEMENT_KEY},
};

use super::placement_key::{NONE_SET, path};
use crate::{
    subjects::{Finding, Findings},
    time::{Micros, SECOND, end},
};

/// How long a decision may be there before its workload: the initiator makes both, in any order.
const GRACE: Micros = 60 * SECOND;

/// Why a workload may exist that the run did not see.
const ELSEWHERE: &str =
    "a workload with the placement key may be in a namespace that the run did not observe";

/// `placement-labels/placement-key-matches-workload`
///
/// A workload has the placement key of each decision that has one, when the run ends.
pub(in crate::rules) fn placement_key_matches_workload(evidence: &Evidence, findings: &mut Findings) {
    let carried: BTreeSet<&str> = evidence
        .workloads
        .iter()
        .map(|workload| &*workload.placement_key)
        .collect();
    let mut first_with: BTreeMap<(&str, &str, &str), &PlacementDecision> = BTreeMap::new();
    let mut is_any_new = false;
    let is_listed = evidence.is_whole(Kind::Workloads);
    for history in evidence.slice_histories() {
        let Some((slice, key)) = key_at_end(history) else {
            continue;
        };
        if !carried.contains(key) && is_new(evidence, history, key) {
            is_any_new = true;
            continue;
        }
        let of_key = (&*slice.metadata.namespace, key, slice.scheduler());
        first_with.entry(of_key).or_insert(slice);
    }
    for ((_, key, _), slice) in first_with {
        if carried.contains(key) {
            findings.examine();
        } else if !evidence.header.scope.namespaces.is_empty() {
            findings.cannot_tell(ELSEWHERE);
        } else if is_listed {
            findings.examine();
            findings.report(
                Finding::on(
                    ObjectRef::from(slice),
                    "no workload has the placement key of the decision",
                )
                .at(path())
                .expected("the placement key of a workload")
                .observed(key),
            );
        }
    }
    if findings.examined == 0 && is_any_new {
        findings.cannot_tell("too early to tell: no decision had its placement key for longer than 60 s");
    }
    findings.not_applicable(NONE_SET);
}

/// The placement key of a slice when the run ended. An empty one is for `placement-labels/placement-key-usable`, and a
/// slice that waits for its finalizers may outlive its workload.
fn key_at_end(history: &SliceHistory) -> Option<(&PlacementDecision, &str)> {
    let slice = history.current()?;
    let is_leaving = slice.metadata.deletion_timestamp.is_some();
    let key = slice.label(LABEL_PLACEMENT_KEY)?;
    (!is_leaving && !key.is_empty()).then_some((slice, key))
}

/// Whether the run saw the slice without that key, or without existing, shortly before its end.
fn is_new(evidence: &Evidence, history: &SliceHistory, key: &str) -> bool {
    let with_key = history
        .versions
        .iter()
        .rev()
        .take_while(|version| version.object.label(LABEL_PLACEMENT_KEY) == Some(key));
    let Some(first) = with_key.last() else {
        return false;
    };
    let is_listed = std::ptr::eq(first, &history.versions[0]) && history.origin == evidence::Origin::Listed;
    !is_listed && end(evidence).is_some_and(|end| end - first.received().as_microsecond() <= GRACE)
}
