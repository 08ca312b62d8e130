//! Required conditions (KEP-4322 › Conditions).

use evidence::api::names::{CONDITION_HEALTHY, CONDITION_JOINED};

use crate::{
    shared::presence::each_has,
    subjects::{Finding, Findings, Profiles},
    text::ABSENT,
};

/// `conditions/control-plane-healthy-reported`
///
/// Every profile has the condition ControlPlaneHealthy once the grace period is over.
pub(in crate::rules) fn control_plane_healthy_reported(profiles: &Profiles, findings: &mut Findings) {
    is_reported(CONDITION_HEALTHY, profiles, findings);
}

/// `conditions/joined-reported`
///
/// Every profile has the condition Joined once the grace period is over.
pub(in crate::rules) fn joined_reported(profiles: &Profiles, findings: &mut Findings) {
    is_reported(CONDITION_JOINED, profiles, findings);
}

fn is_reported(kind: &str, profiles: &Profiles, findings: &mut Findings) {
    each_has(
        profiles,
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
