//! What the profile of a member that left tells of it.

use evidence::{
    DriverAction, DriverStep, Evidence, ObjectRef, Scenario, StepOutcome, Version, api::ClusterProfile,
};
use jiff::Timestamp;

use super::{Answer, ExecutedStep, Shortfall, Span, executed, has_left};
use crate::{
    shared::{
        clocks::GRACE,
        held_against::{CONDITIONS, changed_conditions, is_held_against},
        lasted::{STILL_OPEN, describe},
    },
    subjects::{Finding, Findings, has_status, name},
    text::{ABSENT, redacted},
    time::{Known, Micros, Set, While, missed},
    who::{Doing, Hand, Who},
};

/// Judges whether, after a member left, its profile goes away or one of its conditions leaves True, until the driver joins
/// the member again.
pub(crate) fn falls_with_leave(
    evidence: &Evidence,
    findings: &mut Findings,
    kind: &str,
    message: &'static str,
) {
    for left in executed(evidence, findings, Scenario::JoinAndLeave, DriverAction::Leave) {
        let span = Span::of(evidence, left.step);
        let is_gone = matches!(span.answer(left.profile, &left.timeline, is_gone), Answer::Given);
        let profile = left.profile;
        let has_left = has_left(evidence, &profile.namespace, &profile.name, span.deadline);
        if !is_gone && has_left == Known::No {
            findings.nothing_happened("the members that left have joined again");
            continue;
        }
        let has_fallen = |profile: Option<&ClusterProfile>| !stands(profile, kind);
        let may_have_fallen = match span.answer(profile, &left.timeline, has_fallen) {
            Answer::Given => true,
            Answer::Missing if left.may_have_joined(evidence, span.deadline) => {
                findings.cannot_tell(after_failed_join(profile, kind));
                continue;
            }
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
        if !left.was_true(evidence, findings, kind) {
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
    let live = left.timeline.while_(|profile| stands(Some(profile), kind));
    let again_until = |rejoined: Option<Timestamp>| {
        let rejoined = rejoined.map_or(Micros::MAX, Timestamp::as_microsecond);
        live.without(&Set::of([(Micros::MIN, deadline), (rejoined, Micros::MAX)]))
    };
    let lasts = |again: &While| again.lasting_beyond_sight(GRACE);
    let may_last = |again: &While| lasts(again) != Known::No || again.is_hidden(GRACE);
    // Even a join that failed may have had its effect.
    let again = again_until(left.joined_again(evidence, |_| true));
    if !may_last(&again) {
        let may_be_back = may_last(&again_until(left.joined_again(evidence, is_done)));
        if may_be_back {
            findings.cannot_tell(after_failed_join(left.profile, kind));
        }
        return may_be_back;
    }
    let mut versions = left.states.iter().rev().filter_map(|state| state.object);
    let Some(last) = versions.find(|profile| stands(Some(profile), kind)) else {
        return false;
    };
    let finding = |again: &While| {
        let (stretches, ending) = (again.stretches(GRACE), left.timeline.end_in_words());
        let ending = if again.is_open() { ending } else { "" };
        Finding::on(
            last,
            "a member that left is reported as joined, though it did not join again",
        )
        .at(path(kind))
        .expected(format!("{FALLEN} until the driver joins the member again"))
        .observed(format!("True; {}", describe(&stretches, false, ending)))
    };
    let (again, known) = match lasts(&again) {
        Known::Yes => {
            findings.examine();
            let own = left.by_the_producer(evidence, &again, &finding(&again), findings, kind);
            let known = lasts(&own);
            if !may_last(&own) {
                return true;
            }
            (own, known)
        }
        known => (again, known),
    };
    if known == Known::Yes {
        findings.report(finding(&again));
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

impl ExecutedStep<'_> {
    /// Whether the driver tried to join the member again by then and failed, so that it may have joined all the same.
    fn may_have_joined(&self, evidence: &Evidence, by: Timestamp) -> bool {
        let tried = self.joined_again(evidence, |step| !is_done(step));
        tried.is_some_and(|tried| tried <= by)
    }

    /// What of the time in which the condition was True again is held against the producer: somebody else may have set it.
    /// Notes or doubts the rest, as far as it matters.
    fn by_the_producer(
        &self,
        evidence: &Evidence,
        again: &While,
        finding: &Finding,
        findings: &mut Findings,
        kind: &str,
    ) -> While {
        let who = Who::of(evidence);
        let begun = self.begun_again(evidence, kind);
        let turns: Vec<(Option<Doing>, (Micros, Micros))> = begun
            .iter()
            .enumerate()
            .map(|(place, (before, after))| {
                let later = self.states.partition_point(|state| state.at <= after.received());
                let mut fallen = self.states[later..]
                    .iter()
                    .filter(|state| !stands(state.object, kind));
                let next = begun.get(place + 1).map(|(_, next)| next.received());
                let until = next.into_iter().chain(fallen.next().map(|state| state.at)).min();
                let until = until.map_or(Micros::MAX, Timestamp::as_microsecond);
                // What the producer alone owns, it wrote, whatever the watch missed.
                let is_own = who.owners(&after.object, CONDITIONS).is_producer() == Known::Yes;
                let doing = (!is_own).then(|| changed_conditions(&who, before, after));
                (doing, (after.received().as_microsecond(), until))
            })
            .collect();
        let without = |others: &[Hand]| {
            let is_one = |doing: &Doing| others.contains(&doing.hand);
            let theirs = turns
                .iter()
                .filter(|(doing, _)| doing.as_ref().is_some_and(is_one));
            again.without(&Set::of(theirs.map(|(_, span)| *span)))
        };
        let perhaps = without(&[Hand::Other, Hand::Run]);
        let own = without(&[Hand::Other, Hand::Run, Hand::Unknown]);
        let may_matter = own.lasting(GRACE) != Known::Yes && perhaps.lasting(GRACE) != Known::No;
        for doing in turns.iter().filter_map(|(doing, _)| doing.as_ref()) {
            if doing.hand != Hand::Unknown || may_matter {
                is_held_against::<ClusterProfile>(doing, finding, true, findings);
            }
        }
        own
    }

    /// The steps by which the condition became True again, until the driver tried to join the member.
    fn begun_again(&self, evidence: &Evidence, kind: &str) -> Vec<(&Version, &Version)> {
        let until = self.joined_again(evidence, |_| true).unwrap_or(Timestamp::MAX);
        // A gap may hide that it fell.
        let is_turn = |before: &Version, after: &Version| {
            !stands(Some(&before.object), kind)
                || missed::<ClusterProfile>(
                    evidence,
                    Some(name(&after.object)),
                    before.received(),
                    after.received(),
                )
                .is_some()
        };
        let turns = self.timeline.steps().filter(|(before, after, _)| {
            let is_within = self.step.from <= after.received() && after.received() < until;
            is_within && stands(Some(&after.object), kind) && is_turn(before, after)
        });
        turns.map(|(before, after, _)| (before, after)).collect()
    }
}

fn is_done(step: &DriverStep) -> bool {
    step.outcome == StepOutcome::Done
}

fn after_failed_join(profile: &ObjectRef, kind: &str) -> String {
    format!(
        "{kind} of {} was True after a `join` that failed, which may have had its effect",
        profile.path()
    )
}

/// Whether a profile is there and its condition is True.
fn stands(profile: Option<&ClusterProfile>, kind: &str) -> bool {
    !is_gone(profile) && is_true(profile, kind)
}

/// A profile that only waits for its finalizers counts as gone.
fn is_gone(profile: Option<&ClusterProfile>) -> bool {
    profile.is_none_or(|profile| profile.metadata.deletion_timestamp.is_some())
}

pub(crate) fn is_true(profile: Option<&ClusterProfile>, kind: &str) -> bool {
    profile.is_some_and(|profile| has_status(profile, kind, "True"))
}

pub(crate) fn path(kind: &str) -> String {
    format!("status.conditions[{kind}].status")
}

pub(crate) fn status(profile: Option<&ClusterProfile>, kind: &str) -> String {
    match profile {
        None => "no profile".to_owned(),
        Some(profile) => match profile.condition(kind) {
            None => ABSENT.to_owned(),
            Some(condition) => redacted(&condition.status),
        },
    }
}
