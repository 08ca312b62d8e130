//! Conditions after a driver's step.

use evidence::{
    DriverAction, Evidence, Scenario,
    api::{
        ClusterProfile,
        names::{CONDITION_HEALTHY, CONDITION_JOINED},
    },
};
use jiff::Timestamp;

use super::has_status;
use crate::{
    shared::{
        answer::{Answer, ExecutedStep, Shortfall, Span, executed, has_left},
        clocks::GRACE,
        lasted::{STILL_OPEN, describe},
    },
    subjects::finding::{Finding, Findings},
    text::{ABSENT, redacted},
    time::{Known, Micros, Set},
};

/// `conditions/healthy-follows-outage`
///
/// ControlPlaneHealthy leaves True during an outage, and returns to True after it.
///
/// The return is judged only where the condition was seen to leave True.
pub(in crate::rules) fn healthy_follows_outage(evidence: &Evidence, findings: &mut Findings) {
    if is_never_reported(evidence) {
        findings.not_applicable(format!(
            "no profile of a member that was broken reports {CONDITION_HEALTHY}"
        ));
        return;
    }
    let mut broken = Vec::new();
    for one in executed(evidence, findings, Scenario::Outage, DriverAction::Break) {
        if !one.was_true(findings, CONDITION_HEALTHY) {
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

/// Judges whether, after a member left, its profile goes away or one of its conditions leaves True, until the driver joins
/// the member again.
pub(in crate::rules) fn falls_with_leave(
    evidence: &Evidence,
    findings: &mut Findings,
    kind: &str,
    message: &'static str,
) {
    for left in executed(evidence, findings, Scenario::JoinAndLeave, DriverAction::Leave) {
        let span = Span::of(evidence, left.step);
        let is_gone = matches!(span.answer(left.profile, &left.timeline, is_gone), Answer::Given);
        let profile = left.profile;
        if !is_gone && !has_left(evidence, &profile.namespace, &profile.name, span.deadline) {
            findings.not_applicable("the members that left have joined again");
            continue;
        }
        let has_fallen = |profile: Option<&ClusterProfile>| !stands(profile, kind);
        let may_have_fallen = match span.answer(profile, &left.timeline, has_fallen) {
            Answer::Given => true,
            Answer::Missing => false,
            Answer::Unknown(_) => span.cut_short().is_none(),
        };
        if may_have_fallen && came_back(evidence, findings, &left, kind) {
            continue;
        }
        if is_gone {
            findings.examine();
            continue;
        }
        if !left.was_true(findings, kind) {
            continue;
        }
        left.judge(evidence, findings, has_fallen, |profile| Shortfall {
            message,
            path: path(kind),
            expected: FALLEN.to_owned(),
            observed: status(profile, kind),
        });
    }
}

/// What is expected of a member that left.
const FALLEN: &str = "no profile, or False or Unknown";

/// Judges whether a condition is True again after the time for an answer, though the driver did not join the member again.
/// Returns whether it may be.
fn came_back(evidence: &Evidence, findings: &mut Findings, left: &ExecutedStep, kind: &str) -> bool {
    let deadline = left.step.deadline().as_microsecond();
    let rejoined = left
        .joined_again(evidence)
        .map_or(Micros::MAX, Timestamp::as_microsecond);
    let again = left.timeline.while_(|profile| stands(Some(profile), kind));
    let again = again.without(&Set::of([(Micros::MIN, deadline), (rejoined, Micros::MAX)]));
    let known = again.lasting_beyond_sight(GRACE);
    if known == Known::No && !again.is_hidden(GRACE) {
        return false;
    }
    let mut versions = left.states.iter().rev().filter_map(|state| state.object);
    let Some(last) = versions.find(|profile| stands(Some(profile), kind)) else {
        return false;
    };
    if known == Known::Yes {
        findings.examine();
        let (stretches, ending) = (again.stretches(GRACE), left.timeline.end_in_words());
        let ending = if again.is_open() { ending } else { "" };
        findings.report(
            Finding::on(
                last,
                "a member that left is taken back though nobody joined it again",
            )
            .at(path(kind))
            .expected(format!("{FALLEN} until the driver joins the member again"))
            .observed(format!("True; {}", describe(&stretches, false, ending))),
        );
    } else if again.is_open() {
        findings.wait_for(last, STILL_OPEN);
    } else {
        findings.cannot_tell(format!(
            "{kind} of {} was True again for about the grace of 2 min, as far as the watch shows",
            left.profile.path()
        ));
    }
    true
}

/// Whether a profile is there and its condition is True.
fn stands(profile: Option<&ClusterProfile>, kind: &str) -> bool {
    !is_gone(profile) && is_true(profile, kind)
}

/// A profile that only waits for its finalizers counts as gone.
fn is_gone(profile: Option<&ClusterProfile>) -> bool {
    profile.is_none_or(|profile| profile.metadata.deletion_timestamp.is_some())
}

fn is_true(profile: Option<&ClusterProfile>, kind: &str) -> bool {
    profile.is_some_and(|profile| has_status(profile, kind, "True"))
}

fn path(kind: &str) -> String {
    format!("status.conditions[{kind}].status")
}

fn status(profile: Option<&ClusterProfile>, kind: &str) -> String {
    match profile {
        None => "no profile".to_owned(),
        Some(profile) => match profile.condition(kind) {
            None => ABSENT.to_owned(),
            Some(condition) => redacted(&condition.status),
        },
    }
}
