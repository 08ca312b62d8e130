//! Compares ControlPlaneHealthy with the member (KEP-4322 › Conditions).

use evidence::{
    Lease, MemberPart, Readyz,
    api::{ClusterProfile, Condition, names::CONDITION_HEALTHY},
};

use crate::{
    engine::{Answer, Hub, Sample},
    subjects::Finding,
    text::redacted,
};

/// Checks that only `/readyz` has. A server that fails these alone starts, stops, or waits for its caches.
const READYZ_ONLY: [&str; 4] = ["etcd-readiness", "informer-sync", "shutdown", "storage-readiness"];

/// `conditions/healthy-agrees-with-member`
///
/// ControlPlaneHealthy agrees with the member's `/readyz` and control plane leases.
pub(in crate::rules) fn healthy_agrees_with_member(
    profile: &ClusterProfile,
    sample: &Sample,
    _: &Hub,
) -> Answer {
    let Some(condition) = profile.condition(CONDITION_HEALTHY) else {
        return Answer::NotApplicable;
    };
    let is_reported_healthy = &*condition.status == "True";
    match &sample.answers.readyz {
        Some(readyz) if is_reported_healthy => reported_as_healthy(condition, readyz, sample),
        Some(readyz) => reported_as_unhealthy(condition, readyz, sample),
        None if is_reported_healthy => sample.lacks(MemberPart::Readyz),
        // The member may answer neither the runner nor the manager.
        None => Answer::NotApplicable,
    }
}

/// Only a control plane that is down proves a violation: the documents list `/healthz`, and an API server may be healthy
/// and not ready.
fn reported_as_healthy(condition: &Condition, readyz: &Readyz, sample: &Sample) -> Answer {
    let stale = sample.stale_leases().map(stale_lease);
    let ailments: Vec<String> = failed_checks(readyz).into_iter().chain(stale).collect();
    if is_down(readyz) || sample.stale_leases().next().is_some() {
        let message = "the control plane is reported as healthy, but is not";
        Answer::broken(finding(condition, message, &ailments))
    } else if sample.answers.leases.is_none() {
        sample.lacks(MemberPart::Leases)
    } else if !readyz.ready {
        let message = "the control plane is reported as healthy, but a part of it may not be";
        Answer::warning(finding(condition, message, &ailments))
    } else {
        Answer::Kept
    }
}

/// A manager may see more than `/readyz` and leases show, or be cut off from the member.
fn reported_as_unhealthy(condition: &Condition, readyz: &Readyz, sample: &Sample) -> Answer {
    let Some(leases) = sample.answers.leases.as_deref().filter(|_| readyz.ready) else {
        return if readyz.ready {
            Answer::NotApplicable
        } else {
            Answer::Kept
        };
    };
    if leases
        .iter()
        .any(|lease| lease.age_seconds > lease.duration_seconds)
    {
        return Answer::Kept;
    }
    let message = "the control plane is healthy, but not reported as healthy";
    Answer::warning(finding(condition, message, &[]))
}

/// Whether a check of the API server fails that `/healthz` has, too.
fn is_down(readyz: &Readyz) -> bool {
    let mut failed = readyz.failed.iter();
    !readyz.ready && failed.any(|check| !READYZ_ONLY.contains(&check.as_str()))
}

fn failed_checks(readyz: &Readyz) -> Option<String> {
    match readyz.failed.as_slice() {
        _ if readyz.ready => None,
        [] => Some("/readyz fails".to_owned()),
        failed => Some(redacted(&format!("/readyz fails: {}", failed.join(", ")))),
    }
}

fn stale_lease(lease: &Lease) -> String {
    let (name, age) = (&lease.name, lease.age_seconds);
    redacted(&format!("{name} has not renewed its lease for {age} s"))
}

fn finding(condition: &Condition, message: &str, ailments: &[String]) -> Finding {
    let expected = match ailments {
        [] => "True: /readyz passes and the leases of the control plane are fresh".to_owned(),
        ailments => format!("False or Unknown: {}", ailments.join("; ")),
    };
    let path = format!("status.conditions[{CONDITION_HEALTHY}].status");
    Finding::at_path(path, message)
        .expected(expected)
        .observed(redacted(&condition.status))
}
