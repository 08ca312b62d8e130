//! Conditions after a driver's action.

use evidence::{
    DriverAction,
    api::{
        ClusterProfile,
        names::{CONDITION_HEALTHY, CONDITION_JOINED},
    },
};

use crate::{
    engine::{Answer, Shortfall, Step},
    subjects::{Finding, has_status},
    text::{ABSENT, redacted},
};

/// `conditions/healthy-follows-outage`
///
/// After a member's control plane broke, ControlPlaneHealthy is not True.
pub(in crate::rules) fn unhealthy_after_break(step: &Step) -> Answer {
    if let Err(answer) = step.was_true(CONDITION_HEALTHY) {
        return answer;
    }
    step.expect(
        |profile| !profile.is_some_and(is_healthy),
        |profile| Shortfall {
            message: "the control plane is down, but still reported as healthy",
            path: path(CONDITION_HEALTHY),
            expected: "False or Unknown".to_owned(),
            observed: status(profile, CONDITION_HEALTHY),
        },
    )
}

/// Whether a profile has the condition.
pub(in crate::rules) fn reports_health(profile: &ClusterProfile) -> bool {
    profile.condition(CONDITION_HEALTHY).is_some()
}

/// `conditions/healthy-follows-outage`
///
/// After the control plane was healed, ControlPlaneHealthy is True again, if it was not True before.
pub(in crate::rules) fn healthy_after_heal(step: &Step) -> Answer {
    let Some(before) = step.before() else {
        return Answer::Unknown(format!("{} was gone before its member was healed", step.profile).into());
    };
    let broken = step.earlier(DriverAction::Break);
    let was_healthy = broken.is_some_and(|broken| broken.before().is_some_and(is_healthy));
    if !was_healthy || is_healthy(before) {
        return Answer::NotApplicable;
    }
    step.expect(
        |profile| profile.is_some_and(is_healthy),
        |profile| Shortfall {
            message: "the control plane is up again, but not reported as healthy",
            path: path(CONDITION_HEALTHY),
            expected: "True".to_owned(),
            observed: status(profile, CONDITION_HEALTHY),
        },
    )
}

/// `conditions/joined-follows-leave`
///
/// After a member left, its profile is gone, terminating, or not joined, until the driver acts on the member again.
pub(in crate::rules) fn joined_follows_leave(step: &Step) -> Answer {
    let shortfall = |message, expected: &str, observed| Shortfall {
        message,
        path: path(CONDITION_JOINED),
        expected: expected.to_owned(),
        observed,
    };
    let answer = step.expect(
        |profile| !profile.is_some_and(is_joined),
        |profile| {
            let observed = status(profile, CONDITION_JOINED);
            shortfall(
                "a member that left is still reported as joined",
                NOT_JOINED,
                observed,
            )
        },
    );
    match answer {
        Answer::Kept if step.at_deadline().is_none_or(is_terminating) => {}
        Answer::Kept => {
            if let Err(answer) = step.was_true(CONDITION_JOINED) {
                return answer;
            }
        }
        Answer::Broken(_) => return step.was_true(CONDITION_JOINED).err().unwrap_or(answer),
        other => return other,
    }
    let again = step.expect_not_again(is_joined, |lasted| {
        shortfall(
            "a member that left is reported as joined, though it did not join again",
            "no profile, or False or Unknown until the driver joins the member again",
            format!("True; {lasted}"),
        )
    });
    again.and(still_healthy(step))
}

/// What is expected of a member that left.
const NOT_JOINED: &str = "no profile, or False or Unknown";

/// A profile that stays after its member left does not report it as healthy.
fn still_healthy(step: &Step) -> Answer {
    let Some(profile) = step
        .at_deadline()
        .filter(|profile| !is_terminating(profile) && is_healthy(profile))
    else {
        return Answer::Kept;
    };
    let message = "the profile of a member that left still reports it as healthy";
    let finding = Finding::on(profile, message).at(path(CONDITION_HEALTHY));
    Answer::warning(finding.expected(NOT_JOINED).observed("True"))
}

fn is_joined(profile: &ClusterProfile) -> bool {
    !is_terminating(profile) && has_status(profile, CONDITION_JOINED, "True")
}

fn is_healthy(profile: &ClusterProfile) -> bool {
    has_status(profile, CONDITION_HEALTHY, "True")
}

fn is_terminating(profile: &ClusterProfile) -> bool {
    profile.metadata.deletion_timestamp.is_some()
}

fn path(kind: &str) -> String {
    format!("status.conditions[{kind}].status")
}

fn status(profile: Option<&ClusterProfile>, kind: &str) -> String {
    match profile.map(|profile| profile.condition(kind)) {
        None => "no profile".to_owned(),
        Some(None) => ABSENT.to_owned(),
        Some(Some(condition)) => redacted(&condition.status),
    }
}
