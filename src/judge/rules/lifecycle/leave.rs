//! Profiles of members that leave.

use evidence::{Evidence, api::names::CONDITION_HEALTHY};

use crate::{shared::answer::falls_with_leave, subjects::Findings};

/// `lifecycle/leave-retires-profile`
///
/// After a member left, its profile no longer has ControlPlaneHealthy=True.
pub(in crate::rules) fn leave_retires_profile(evidence: &Evidence, findings: &mut Findings) {
    falls_with_leave(
        evidence,
        findings,
        CONDITION_HEALTHY,
        "the profile of a member that left still reports it as healthy",
    );
}
