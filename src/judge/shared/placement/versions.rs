//! Rules on one slice by itself: every version counts, however short its life.

use std::collections::BTreeSet;

use evidence::{Evidence, api::PlacementDecision};

use crate::subjects::{Finding, Findings};

/// Judges every version of each slice, deleted slices included. A fault that several versions have is reported once, as
/// the last of them has it. `faults` returns none if the rule does not apply to a version.
pub(crate) fn each_version<'e>(
    evidence: &'e Evidence,
    findings: &mut Findings,
    mut faults: impl FnMut(&'e PlacementDecision) -> Option<Vec<Finding>>,
) {
    for history in evidence.slice_histories() {
        let mut applies = false;
        let mut reported = BTreeSet::new();
        for version in history.versions.iter().rev() {
            let Some(found) = faults(&version.object) else {
                continue;
            };
            applies = true;
            for finding in found {
                if reported.insert((finding.path.clone(), finding.message.clone())) {
                    findings.report(finding);
                }
            }
        }
        if applies {
            findings.examine();
        }
    }
}
