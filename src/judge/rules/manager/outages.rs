//! Profiles after a member broke, was healed, was upgraded, or left.

use evidence::api::{is_build_of, lost_values};

use crate::{rules::prelude::*, text::first_of};

/// What is expected of the profile of a member that left.
const NOT_JOINED: &str = "no profile, or False or Unknown";

/// `conditions/healthy-follows-outage`: after a member's control plane broke, ControlPlaneHealthy is not True.
pub(crate) fn unhealthy_after_break(step: &ProfileStep) -> Answer {
    if let Err(answer) = step.was_true(CONDITION_HEALTHY) {
        return answer;
    }
    step.expect(
        |profile| !profile.is_some_and(is_healthy),
        |profile| {
            let message = "the control plane is down, but still reported as healthy";
            wrong_status(profile, CONDITION_HEALTHY, message).expected("False or Unknown")
        },
    )
}

/// `conditions/healthy-follows-outage`: after the control plane was healed, ControlPlaneHealthy is True again, if it
/// was not True before.
pub(crate) fn healthy_after_heal(step: &ProfileStep) -> Answer {
    let Some(before) = step.before() else {
        return Answer::unknown(format!(
            "{} was deleted before its member was healed",
            step.profile
        ));
    };
    let outage = step.earlier(DriverAction::Break);
    let was_healthy = outage.is_some_and(|outage| outage.before().is_some_and(is_healthy));
    if !was_healthy || is_healthy(before) {
        return Answer::NotApplicable;
    }
    step.expect(
        |profile| profile.is_some_and(is_healthy),
        |profile| {
            let message = "the control plane is up again, but not reported as healthy";
            wrong_status(profile, CONDITION_HEALTHY, message).expected("True")
        },
    )
}

/// `conditions/joined-follows-leave`: after a member left, its profile is gone, terminating, or not joined, until the
/// driver acts on the member again.
pub(crate) fn joined_follows_leave(step: &ProfileStep) -> Answer {
    let answer = step.expect(
        |profile| !profile.is_some_and(is_joined),
        |profile| {
            let message = "a member that left is still reported as joined";
            wrong_status(profile, CONDITION_JOINED, message).expected(NOT_JOINED)
        },
    );
    match answer {
        Answer::Kept if step.at_deadline().is_none_or(Judged::is_terminating) => {}
        Answer::Kept => {
            if let Err(answer) = step.was_true(CONDITION_JOINED) {
                return answer;
            }
        }
        Answer::Broken(_) => return step.was_true(CONDITION_JOINED).err().unwrap_or(answer),
        other => return other,
    }
    let again = step.expect_not_again(is_joined, |lasted| {
        let message = "a member that left is reported as joined, but did not join again";
        Finding::at_path(condition_path(CONDITION_JOINED, "status"), message)
            .expected("no profile, or False or Unknown until the driver joins the member again")
            .observed(format!("True; {lasted}"))
    });
    again.and(still_healthy(step))
}

/// A profile that stays after its member left does not report it as healthy.
fn still_healthy(step: &ProfileStep) -> Answer {
    let profile = step.at_deadline().filter(|profile| !profile.is_terminating());
    let Some(profile) = profile.filter(|profile| is_healthy(profile)) else {
        return Answer::Kept;
    };
    let message = "ControlPlaneHealthy is True after the member left";
    let finding = Finding::on(profile, message).at(condition_path(CONDITION_HEALTHY, "status"));
    Answer::warning(finding.expected(NOT_JOINED).observed("True"))
}

fn is_joined(profile: &ClusterProfile) -> bool {
    !profile.is_terminating() && has_status(profile, CONDITION_JOINED, "True")
}

fn is_healthy(profile: &ClusterProfile) -> bool {
    has_status(profile, CONDITION_HEALTHY, "True")
}

fn wrong_status(profile: Option<&ClusterProfile>, kind: &str, message: &str) -> Finding {
    let status = match profile.map(|profile| profile.condition(kind)) {
        None => "no profile".to_owned(),
        Some(None) => ABSENT.to_owned(),
        Some(Some(condition)) => redacted(&condition.status),
    };
    Finding::at_path(condition_path(kind, "status"), message).observed(status)
}

/// `lifecycle/heal-restores-status`: once the member is back, the profile reports again all that it reported before the
/// outage.
pub(crate) fn heal_restores_status(step: &ProfileStep) -> Answer {
    let outage = match step.driver_step.action {
        DriverAction::Reconnect => DriverAction::Disconnect,
        _ => DriverAction::Break,
    };
    let Some(cutoff) = step.earlier(outage) else {
        return Answer::NotApplicable;
    };
    let before = match cutoff.before_surely() {
        Ok(Some(before)) => before,
        Ok(None) => return Answer::unknown(format!("{} was not there before the outage", cutoff.profile)),
        Err(reason) => return Answer::Unknown(reason),
    };
    step.expect(
        |profile| profile.is_some_and(|profile| lost_values(before, profile).is_empty()),
        |profile| {
            let fields = profile.map_or_else(Vec::new, |profile| lost_values(before, profile));
            let path = redacted(fields.first().map_or("status", String::as_str));
            let finding = Finding::at_field(path, describe_lost(&fields));
            finding.expected("what the profile reported before the outage")
        },
    )
}

/// Lists at most 5 lost fields.
fn describe_lost(fields: &[String]) -> String {
    match fields {
        [] => "no profile".to_owned(),
        fields => redacted(&format!("no {}", first_of(fields.iter().cloned(), 5))),
    }
}

/// `version/follows-upgrade`: after an upgrade, the profile reports the version of the action, a vendor's build or a
/// patch of it. If the driver names none, another version than before.
pub(crate) fn follows_upgrade(step: &ProfileStep) -> Answer {
    let change = step.driver_step.change.as_ref();
    let release = change.and_then(|change| change.after.as_deref());
    let release = release.filter(|release| !release.is_empty());
    let version = |profile: Option<&'_ ClusterProfile>| {
        profile.and_then(|profile| profile.status.version.kubernetes.as_deref().map(str::to_owned))
    };
    let before = version(step.before());
    let is_followed = |version: Option<&str>| match (release, version) {
        (_, None) => false,
        (Some(release), Some(version)) => is_build_of(release, version),
        (None, version) => version != before.as_deref(),
    };
    if is_followed(before.as_deref()) {
        let action = describe(step.driver_step);
        return Answer::unknown(format!("{} had that version before {action}", step.profile));
    }
    step.expect(
        |profile| is_followed(version(profile).as_deref()),
        |profile| {
            let observed = redacted_or_absent(version(profile).as_deref());
            let finding = Finding::at_field("status.version.kubernetes", observed);
            finding.expected(release.map_or("another version".to_owned(), redacted))
        },
    )
}
