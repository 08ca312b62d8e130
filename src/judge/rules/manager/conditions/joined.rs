//! What Joined=True and Joined=False require of the rest of the status (KEP-4322 › Conditions).

use evidence::api::{
    ClusterProfile,
    names::{CONDITION_HEALTHY, CONDITION_JOINED},
};

use crate::{
    shared::{
        answer::falls_with_leave,
        state::{State, each_state, same_conditions},
    },
    subjects::{Finding, Findings, Profiles, has_status},
    time::GRACE_SECONDS,
};

/// `conditions/healthy-needs-joined`
///
/// A member with Joined=False does not have ControlPlaneHealthy=True, and neither has one that the driver let leave.
pub(in crate::rules) fn healthy_needs_joined(profiles: &Profiles, findings: &mut Findings) {
    findings.not_applicable("no profile has both conditions");
    // A manager may write the two one after the other.
    let state = State {
        same: Some(same_conditions),
        called_by: &[CONDITION_HEALTHY, CONDITION_JOINED],
        filled_later: false,
    };
    each_state(profiles, findings, state, |profile| {
        profile.condition(CONDITION_HEALTHY)?;
        profile.condition(CONDITION_JOINED)?;
        let contradiction = is_contradiction(profile).then(|| {
            Finding::on(
                profile,
                "the control plane is reported as healthy though the member is not joined",
            )
            .at(format!("status.conditions[{CONDITION_HEALTHY}].status"))
            .expected("Unknown or False, as Joined is False")
            .observed("True")
            .into()
        });
        Some(contradiction.into_iter().collect())
    });
    hint_at_members_that_left(profiles, findings);
}

/// Reports profiles that stay healthy after their members left, as hints: `conditions/joined-follows-leave` judges what the
/// profile says of a member that left. What the driver's evidence lacks is its matter, too.
fn hint_at_members_that_left(profiles: &Profiles, findings: &mut Findings) {
    let mut after_leave = Findings::default();
    falls_with_leave(
        profiles.evidence(),
        &mut after_leave,
        CONDITION_HEALTHY,
        "the profile of a member that left still reports it as healthy",
    );
    for hint in after_leave.list() {
        // Cores divide the profiles, not the driver's steps.
        let is_asked = profiles.histories().any(|history| {
            let metadata = &history.last().metadata;
            *metadata.namespace == *hint.object.namespace && *metadata.name == *hint.object.name
        });
        let is_reported = findings.list().iter().any(|known| {
            (&known.object.namespace, &known.object.name) == (&hint.object.namespace, &hint.object.name)
        });
        if is_asked && !is_reported {
            findings.examine();
            findings.report(hint.clone().advisory());
        }
    }
}

fn is_contradiction(profile: &ClusterProfile) -> bool {
    has_status(profile, CONDITION_HEALTHY, "True") && has_status(profile, CONDITION_JOINED, "False")
}

/// `conditions/status-follows-joined`
///
/// The profile of a joined member has a version and ControlPlaneHealthy once the grace period is over.
pub(in crate::rules) fn status_follows_joined(profiles: &Profiles, findings: &mut Findings) {
    findings.not_applicable("no profile was joined for longer than the grace of 2 min");
    let state = State {
        called_by: &[CONDITION_JOINED],
        filled_later: true,
        ..State::default()
    };
    each_state(profiles, findings, state, |profile| {
        if !is_joined(profile) {
            return None;
        }
        let lacking = lacking(profile);
        let incomplete = (!lacking.is_empty()).then(|| {
            // One field may be filled when another is emptied: the status is incomplete all the time.
            Finding::on(profile, "the status of a joined member is incomplete")
                .at("status")
                .expected(format!("filled within {GRACE_SECONDS} s of Joined being True"))
                .observed(format!("{} absent", lacking.join(" and ")))
                .into()
        });
        Some(incomplete.into_iter().collect())
    });
}

/// A terminating profile need not be filled any more.
fn is_joined(profile: &ClusterProfile) -> bool {
    has_status(profile, CONDITION_JOINED, "True") && profile.metadata.deletion_timestamp.is_none()
}

/// The parts of the status that are not filled.
fn lacking(profile: &ClusterProfile) -> Vec<&'static str> {
    let mut lacking = Vec::new();
    let version = profile.status.version.kubernetes.as_deref();
    if version.unwrap_or_default().is_empty() {
        lacking.push("version.kubernetes");
    }
    if profile.condition(CONDITION_HEALTHY).is_none() {
        lacking.push("conditions[ControlPlaneHealthy]");
    }
    lacking
}
