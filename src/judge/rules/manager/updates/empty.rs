//! Writes of a status that change nothing (KEP-4322 › Scalability implication).

use evidence::{Evidence, Request, api::ClusterProfile};

use crate::{
    shared::empty_writes::{Written, judge_empty_writes},
    subjects::Findings,
};

/// `updates/no-empty-writes`
///
/// No status write leaves the object unchanged.
pub(in crate::rules) fn no_empty_writes(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("the audit log has no write of a profile's status");
    let Some(requests) = &evidence.requests else {
        return;
    };
    let status = Written {
        what: "status",
        path: "status",
        message: "the status is written without a change",
    };
    let counts = |request: &Request| request.is_status_write().then_some(true);
    judge_empty_writes::<ClusterProfile>(evidence, requests, counts, &status, findings);
}
