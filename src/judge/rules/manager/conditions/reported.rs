//! Conditions that a profile reports, and what they require of the rest of the status (KEP-4322 › Status › Conditions).

use evidence::api::{
    ClusterProfile,
    names::{CONDITION_HEALTHY, CONDITION_JOINED},
};

use crate::{
    engine::{Answer, Hub},
    subjects::{Finding, has_status},
    text::ABSENT,
};

/// `conditions/control-plane-healthy-reported`
pub(in crate::rules) fn control_plane_healthy_reported(profile: &ClusterProfile, _: &Hub) -> Answer {
    reported(profile, CONDITION_HEALTHY)
}

/// `conditions/joined-reported`
pub(in crate::rules) fn joined_reported(profile: &ClusterProfile, _: &Hub) -> Answer {
    reported(profile, CONDITION_JOINED)
}

fn reported(profile: &ClusterProfile, kind: &str) -> Answer {
    Answer::broken_if(profile.condition(kind).is_none(), || {
        Finding::at_path(
            format!("status.conditions[{kind}]"),
            format!("condition {kind} is missing"),
        )
        .expected("True, False or Unknown")
        .observed(ABSENT)
    })
}

/// `conditions/healthy-needs-joined`
pub(in crate::rules) fn healthy_needs_joined(profile: &ClusterProfile, _: &Hub) -> Answer {
    if profile.condition(CONDITION_HEALTHY).is_none() || profile.condition(CONDITION_JOINED).is_none() {
        return Answer::NotApplicable;
    }
    let is_healthy = has_status(profile, CONDITION_HEALTHY, "True");
    let has_left = has_status(profile, CONDITION_JOINED, "False");
    Answer::broken_if(is_healthy && has_left, || {
        Finding::at_path(
            format!("status.conditions[{CONDITION_HEALTHY}].status"),
            "the control plane is reported as healthy though the member is not joined",
        )
        .expected("Unknown or False, as Joined is False")
        .observed("True")
    })
}

/// `conditions/status-follows-joined`
pub(in crate::rules) fn status_follows_joined(profile: &ClusterProfile, _: &Hub) -> Answer {
    if !has_status(profile, CONDITION_JOINED, "True") {
        return Answer::NotApplicable;
    }
    let version = profile.status.version.kubernetes.as_deref();
    let has_version = version.is_some_and(|version| !version.is_empty());
    let has_health = profile.condition(CONDITION_HEALTHY).is_some();
    let lacking = match (has_version, has_health) {
        (true, true) => return Answer::Kept,
        (false, true) => "version.kubernetes",
        (true, false) => "conditions[ControlPlaneHealthy]",
        (false, false) => "version.kubernetes and conditions[ControlPlaneHealthy]",
    };
    // One path for both fields: one may be filled when the other is emptied.
    Answer::broken(
        Finding::at_path("status", "the status of a joined member is incomplete")
            .expected("filled within 120 s of Joined being True")
            .observed(format!("{ABSENT}: {lacking}")),
    )
}
