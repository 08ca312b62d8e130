//! No credential stands in a slice.

use evidence::{Evidence, api::PlacementDecision, leak::leaks_in_text};

use crate::{
    hash::HashSet,
    shared::leak_search::{Clean, LeakSearch, is_known},
    subjects::Findings,
};

/// `placement-labels/reason-is-public`
///
/// No reason, label or annotation of a slice contains a credential, in any version seen: readers may have read one that
/// was removed.
pub(in crate::rules) fn reason_is_public(evidence: &Evidence, findings: &mut Findings) {
    let mut clean = Clean::default();
    for history in evidence.slice_histories() {
        findings.examine();
        let mut told = HashSet::default();
        let mut previous = None;
        for version in &history.versions {
            let slice = &version.object;
            let leaks = LeakSearch {
                object: slice,
                noun: "slice",
                told: &mut told,
                clean: &mut clean,
                findings,
            };
            search(slice, previous, leaks);
            previous = Some(slice);
        }
    }
}

/// Searches what the version before did not have.
fn search<'e>(
    slice: &'e PlacementDecision,
    previous: Option<&PlacementDecision>,
    mut leaks: LeakSearch<'e, '_, PlacementDecision>,
) {
    let metadata = &slice.metadata;
    let maps = [
        (
            "metadata.labels",
            &metadata.labels,
            previous.map(|one| &one.metadata.labels),
        ),
        (
            "metadata.annotations",
            &metadata.annotations,
            previous.map(|one| &one.metadata.annotations),
        ),
    ];
    for (path, map, before) in maps {
        if !is_known(before, map) {
            leaks.map(path, map);
        }
    }
    leaks.common(slice.scheduler(), leaks_in_text, || "schedulerName".to_owned());
    let before = previous.and_then(|previous| previous.decisions.as_ref());
    if slice
        .decisions
        .as_ref()
        .is_some_and(|decisions| is_known(before, decisions))
    {
        return;
    }
    for (place, decision) in slice.clusters().iter().enumerate() {
        let reason = decision.reason.as_deref().unwrap_or_default();
        leaks.common(reason, leaks_in_text, || format!("decisions[{place}].reason"));
    }
}
