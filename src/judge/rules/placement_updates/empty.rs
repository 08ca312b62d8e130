//! Writes of slices that change nothing.

use evidence::{Evidence, Request, api::PlacementDecision};

use crate::rules::{
    finding::Findings,
    placement::{Actor, sender},
    updates::{Written, judge_empty_writes},
};

/// `placement-updates/no-empty-writes`
///
/// No write of a slice leaves it unchanged.
///
/// Writes of people and of the hub's control plane, such as a storage migration, do not count.
pub(in crate::rules) fn no_empty_writes(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("the audit log has no update of a slice");
    let Some(requests) = &evidence.slice_requests else {
        return;
    };
    let counts = |request: &Request| {
        request.is_write()
            && matches!(&*request.verb, "update" | "patch")
            && sender(request) == Actor::Program
    };
    let slice = Written {
        what: "slice",
        path: "metadata.resourceVersion",
        message: "the slice is written without a change",
    };
    judge_empty_writes::<PlacementDecision>(evidence, requests, counts, &slice, findings);
}
