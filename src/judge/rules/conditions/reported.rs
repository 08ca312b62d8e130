//! Required conditions (KEP-4322 › Conditions).

use evidence::{
    Evidence,
    api::names::{CONDITION_HEALTHY, CONDITION_JOINED},
};

use crate::rules::{
    finding::{Finding, Findings},
    presence::each_has,
    text::ABSENT,
};

/// `conditions/control-plane-healthy-reported`
///
/// Every profile has the condition ControlPlaneHealthy once the grace period is over.
pub(in crate::rules) fn control_plane_healthy_reported(evidence: &Evidence, findings: &mut Findings) {
    is_reported(CONDITION_HEALTHY, evidence, findings);
}

/// `conditions/joined-reported`
///
/// Every profile has the condition Joined once the grace period is over.
pub(in crate::rules) fn joined_reported(evidence: &Evidence, findings: &mut Findings) {
    is_reported(CONDITION_JOINED, evidence, findings);
}

fn is_reported(kind: &str, evidence: &Evidence, findings: &mut Findings) {
    each_has(
        evidence,
        findings,
        |profile| profile.condition(kind).is_some(),
        |profile| {
            Finding::on(profile, format!("condition {kind} is missing"))
                .at(format!("status.conditions[{kind}]"))
                .expected("True, False or Unknown")
                .observed(ABSENT)
        },
    );
}
