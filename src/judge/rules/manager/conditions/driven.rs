//! Conditions after a driver's step.

use evidence::{
    DriverAction, Evidence, Scenario,
    api::names::{CONDITION_HEALTHY, CONDITION_JOINED},
};

use crate::{
    shared::answer::{Shortfall, executed, falls_with_leave, is_true, path, status},
    subjects::{Findings, without_condition},
};

/// `conditions/healthy-follows-outage`
///
/// ControlPlaneHealthy leaves True during an outage, and returns to True after it.
///
/// The return is judged only where the condition was seen to leave True.
pub(in crate::rules) fn healthy_follows_outage(evidence: &Evidence, findings: &mut Findings) {
    if is_never_reported(evidence) {
        let words = format!("no profile of a member that was broken reports {CONDITION_HEALTHY}");
        without_condition(evidence, findings, CONDITION_HEALTHY, words);
        return;
    }
    let mut broken = Vec::new();
    for one in executed(evidence, findings, Scenario::Outage, DriverAction::Break) {
        if !one.was_true(evidence, findings, CONDITION_HEALTHY) {
            continue;
        }
        broken.push(one.step.member.as_str());
        one.judge(
            evidence,
            findings,
            |profile| !is_true(profile, CONDITION_HEALTHY),
            |profile| Shortfall {
                message: "the control plane is down, but still reported as healthy",
                path: path(CONDITION_HEALTHY),
                expected: "False or Unknown".to_owned(),
                observed: status(profile, CONDITION_HEALTHY),
            },
        );
    }
    for one in executed(evidence, findings, Scenario::Outage, DriverAction::Heal) {
        if !broken.contains(&one.step.member.as_str()) || is_true(one.before(), CONDITION_HEALTHY) {
            continue;
        }
        if one.before().is_none() {
            findings.cannot_tell(format!("{} was gone before its member was healed", one.profile));
            continue;
        }
        one.judge(
            evidence,
            findings,
            |profile| is_true(profile, CONDITION_HEALTHY),
            |profile| Shortfall {
                message: "the control plane is up again, but not reported as healthy",
                path: path(CONDITION_HEALTHY),
                expected: "True".to_owned(),
                observed: status(profile, CONDITION_HEALTHY),
            },
        );
    }
}

/// Whether no profile of the affected members ever reports health. Then no member could be broken, and another rule
/// reports the missing condition.
fn is_never_reported(evidence: &Evidence) -> bool {
    let drivers = evidence.driver.iter();
    let steps = drivers.flat_map(|driver| driver.steps_of(DriverAction::Break));
    let mut states = steps
        .filter_map(|step| step.profile.as_ref())
        .flat_map(|profile| evidence.histories_named(&profile.namespace, &profile.name))
        .flat_map(|history| history.versions.iter().map(|version| &version.object))
        .peekable();
    states.peek().is_some() && states.all(|profile| profile.condition(CONDITION_HEALTHY).is_none())
}

/// `conditions/joined-follows-leave`
///
/// After a member left, its profile no longer has Joined=True.
pub(in crate::rules) fn joined_follows_leave(evidence: &Evidence, findings: &mut Findings) {
    falls_with_leave(
        evidence,
        findings,
        CONDITION_JOINED,
        "a member that left is still reported as joined",
    );
}
