//! Evaluates a function on each action of the driver.
//!
//! An action leaves the implementation some time to react. If the run did not watch long enough, or a gap may hide the
//! reaction, the answer is unknown.

use std::fmt;

use evidence::{
    Asked, Driver, DriverAction, DriverStep, Evidence, History, Kind, ObjectRef, Reason, Scenario,
    StepOutcome, api::ClusterProfile,
};
use jiff::Timestamp;

use super::{
    Answer, Evaluate, Hub,
    attribution::author_of_moment,
    author::{Attribution, Author, NOTHING_RECORDED},
    state::GRACE,
};
use crate::{
    subjects::{Finding, Findings, Length},
    text::redacted,
    time::{Micros, timestamp},
    timeline::{Certainty, Timeline},
};

/// A driver action on a member, and what followed on its profile.
pub(crate) struct Step<'s, 'e> {
    pub(crate) hub: &'s Hub<'e>,
    /// The action.
    pub(crate) taken: &'e DriverStep,
    /// The profile that it concerns.
    pub(crate) profile: &'e ObjectRef,
    /// The profile over time.
    pub(crate) timeline: Timeline<'e, ClusterProfile>,
    lives: Vec<&'e History<ClusterProfile>>,
}

/// The reason for no verdict if another client undid the reaction.
const BY_OTHERS: &str = "another client changed the profile after the implementation had reacted";

/// What is missing after an action.
pub(crate) struct Shortfall {
    /// The finding's message.
    pub(crate) message: &'static str,
    /// The path of the field.
    pub(crate) path: String,
    /// What was expected by the deadline.
    pub(crate) expected: String,
    /// What was observed.
    pub(crate) observed: String,
}

/// A rule on the actions of one kind in one scenario.
pub(crate) struct StepRule {
    scenario: Scenario,
    action: DriverAction,
    check: Check,
}

/// A rule's function on an action.
enum Check {
    /// It needs the profile that the action concerns.
    OfProfile(fn(&Step) -> Answer),
    /// It is about something else.
    OfAction(fn(&DriverStep, &Hub) -> Answer),
}

/// A rule on the profile that an action concerns.
pub(crate) fn step(scenario: Scenario, action: DriverAction, check: fn(&Step) -> Answer) -> StepRule {
    StepRule {
        scenario,
        action,
        check: Check::OfProfile(check),
    }
}

/// A rule on what follows an action, whatever it concerns.
pub(crate) fn action(
    scenario: Scenario,
    action: DriverAction,
    check: fn(&DriverStep, &Hub) -> Answer,
) -> StepRule {
    StepRule {
        scenario,
        action,
        check: Check::OfAction(check),
    }
}

impl<'s, 'e> Step<'s, 'e> {
    /// The action with the profile that it concerns.
    pub(crate) fn of(hub: &'s Hub<'e>, taken: &'e DriverStep) -> Result<Self, Reason> {
        let unknown = || Reason::from(format!("the profile of {} is unknown", redacted(&taken.member)));
        let profile = taken.profile.as_ref().ok_or_else(unknown)?;
        let named = hub.evidence.histories_named(&profile.namespace, &profile.name);
        let lives: Vec<&History<ClusterProfile>> = named.collect();
        if lives.is_empty() {
            return Err(format!("the watch never showed {profile}").into());
        }
        Ok(Self {
            hub,
            taken,
            profile,
            timeline: Timeline::of_name(hub.evidence, &lives),
            lives,
        })
    }

    /// The profile when the action began; none if there was none.
    pub(crate) fn before(&self) -> Option<&'e ClusterProfile> {
        self.last_seen_before(self.taken.from.as_microsecond())
    }

    /// The profile as last seen by the deadline; none if there was none.
    pub(crate) fn at_deadline(&self) -> Option<&'e ClusterProfile> {
        self.last_seen_before(last_observation(self.hub.evidence, self.taken).saturating_add(1))
    }

    /// Kept if the profile was as expected when it was last seen before the deadline.
    pub(crate) fn expect(
        &self,
        expected: impl Fn(Option<&ClusterProfile>) -> bool,
        shortfall: impl FnOnce(Option<&'e ClusterProfile>) -> Shortfall,
    ) -> Answer {
        let evidence = self.hub.evidence;
        match self.timeline.by(last_observation(evidence, self.taken), expected) {
            Certainty::Yes => Answer::Kept,
            Certainty::Unknown(reason) => Answer::Unknown(cut_short(evidence, self.taken).unwrap_or(reason)),
            Certainty::No => match cut_short(evidence, self.taken) {
                Some(reason) => Answer::Unknown(reason),
                None => Answer::broken(self.finding(shortfall(self.at_deadline()))),
            },
        }
    }

    /// The same, but only what was seen after the run's own write counts, which `is_own` recognizes.
    pub(crate) fn expect_after_write(
        &self,
        is_own: impl Fn(&ClusterProfile) -> bool,
        expected: impl Fn(Option<&ClusterProfile>) -> bool,
        shortfall: impl FnOnce(Option<&'e ClusterProfile>) -> Shortfall,
    ) -> Answer {
        match self.written_at(is_own) {
            None => {
                Answer::Unknown(format!("the watch did not show what {} wrote", describe(self.taken)).into())
            }
            Some(at) if at > self.taken.deadline().as_microsecond() => {
                Answer::Unknown(format!("the watch showed late what {} wrote", describe(self.taken)).into())
            }
            Some(_) => self.expect(expected, shortfall),
        }
    }

    /// Whether a condition was True when the action began, so that it can be expected to change. If not, the answer instead.
    pub(crate) fn was_true(&self, kind: &str) -> Result<(), Answer> {
        let condition = self.before().and_then(|profile| profile.condition(kind));
        let (profile, action) = (self.profile.path(), describe(self.taken));
        match condition.map(|condition| &*condition.status) {
            Some("True") => Ok(()),
            Some(status) => Err(Answer::Unknown(
                format!("{kind} of {profile} was {} before {action}", redacted(status)).into(),
            )),
            None if is_reported(self.hub.evidence, kind) => Err(Answer::Unknown(
                format!("{profile} did not report {kind} before {action}").into(),
            )),
            None => Err(Answer::NotApplicable),
        }
    }

    /// Kept if something holds of the profile again, after the deadline, for no longer than the grace period until the
    /// driver's next action on the member.
    pub(crate) fn expect_not_again(
        &self,
        again: impl Fn(&ClusterProfile) -> bool,
        shortfall: impl FnOnce(&str) -> Shortfall,
    ) -> Answer {
        let holds = |place: usize| {
            self.timeline
                .object(place)
                .is_some_and(|version| again(&version.object))
        };
        let deadline = self.taken.deadline().as_microsecond();
        let until = self
            .next_action()
            .map_or(Micros::MAX, |next| next.from.as_microsecond());
        let intervals = self.timeline.intervals(holds).within(deadline, until);
        match intervals.longer_than(GRACE) {
            Certainty::No => return Answer::Kept,
            Certainty::Unknown(reason) => return Answer::Unknown(reason),
            Certainty::Yes => {}
        }
        let moments = self.timeline.moments();
        let is_again = |place: &usize| holds(*place) && moments[*place].seen_at > deadline;
        let Some(place) = (0..moments.len()).find(is_again) else {
            return Answer::Kept;
        };
        let stretch = intervals.stretches(GRACE).last().copied();
        let lasted = stretch.map_or(String::new(), |stretch| {
            format!("for {} from {}", Length(stretch.total), timestamp(stretch.from))
        });
        let shortfall = shortfall(&lasted);
        match author_of_moment(self.hub, &self.timeline, &self.lives, place, &shortfall.path) {
            Some(Attribution {
                author: Author::Unknown(reason),
                ..
            }) if reason != NOTHING_RECORDED => Answer::Unknown(reason),
            Some(by) if by.is_of_others() => Answer::Unknown(BY_OTHERS.into()),
            _ => Answer::broken(self.finding_of(shortfall)),
        }
    }

    /// The driver's next action on the same member or profile.
    fn next_action(&self) -> Option<&'e DriverStep> {
        let steps = self.hub.evidence.driver.iter().flat_map(|driver| &driver.steps);
        let is_same = |step: &&DriverStep| {
            let profile = step.profile.as_ref();
            step.from > self.taken.from
                && (step.member == self.taken.member
                    || profile.is_some_and(|profile| {
                        profile.namespace == self.profile.namespace && profile.name == self.profile.name
                    }))
        };
        steps.filter(is_same).min_by_key(|step| step.from)
    }

    /// When the run's own write was seen.
    pub(crate) fn written_at(&self, is_own: impl Fn(&ClusterProfile) -> bool) -> Option<Micros> {
        let began = self.taken.from.as_microsecond();
        let moments = self.timeline.moments();
        let first = moments.partition_point(|moment| moment.seen_at < began);
        let is_own = |place: &usize| {
            self.timeline
                .object(*place)
                .is_some_and(|version| is_own(&version.object))
        };
        (first..moments.len())
            .find(is_own)
            .map(|place| moments[place].seen_at)
    }

    /// The profile as last seen before a moment; none if there was none.
    fn last_seen_before(&self, at: Micros) -> Option<&'e ClusterProfile> {
        let moments = self.timeline.moments();
        let end = moments.partition_point(|moment| moment.seen_at < at);
        let place = (0..end).rev().find(|place| moments[*place].is_observed())?;
        self.timeline.object(place).map(|version| &version.object)
    }

    fn finding(&self, shortfall: Shortfall) -> Finding {
        self.finding_of(Shortfall {
            expected: within(self.taken, &shortfall.expected),
            observed: in_the_end(self.taken, &shortfall.observed),
            ..shortfall
        })
    }

    /// The finding on the profile as it was last seen before the deadline.
    pub(crate) fn finding_of(&self, shortfall: Shortfall) -> Finding {
        let object = self
            .at_deadline()
            .map_or_else(|| self.profile.clone(), ObjectRef::from);
        Finding::on(object, shortfall.message)
            .at(shortfall.path)
            .expected(shortfall.expected)
            .observed(shortfall.observed)
    }
}

impl StepRule {
    fn judge_all(&self, hub: &Hub, findings: &mut Findings) {
        let Some(driver) = &hub.evidence.driver else {
            return;
        };
        let watched = if self.action.is_on_placements() {
            Kind::PlacementTimeline
        } else {
            Kind::Timeline
        };
        if let Asked::No(reason) = hub.evidence.asked(watched) {
            findings.not_asked(reason.after("the results of the driver's steps were not watched"));
            return;
        }
        let mut is_any = false;
        for taken in driver
            .steps_of(self.action)
            .filter(|step| step.scenario == self.scenario)
        {
            is_any = true;
            match &taken.outcome {
                StepOutcome::Done => self.judge(hub, taken, findings),
                StepOutcome::Failed { reason } => findings.cannot_tell(failed(taken, reason)),
            }
        }
        if !is_any {
            self.say_why_none(driver, findings);
        }
    }

    fn judge<'e>(&self, hub: &Hub<'e>, taken: &'e DriverStep, findings: &mut Findings) {
        let answer = match &self.check {
            Check::OfAction(check) => check(taken, hub),
            Check::OfProfile(check) => match Step::of(hub, taken) {
                Ok(step) => check(&step),
                Err(reason) => Answer::Unknown(reason),
            },
        };
        findings.count(answer);
    }

    /// Says why the scenario has no such action.
    fn say_why_none(&self, driver: &Driver, findings: &mut Findings) {
        if let Some(reason) = driver.lacking.get(&self.action) {
            findings.not_asked(reason.clone());
            return;
        }
        let mut steps = driver
            .steps
            .iter()
            .filter(|step| step.scenario == self.scenario)
            .peekable();
        // It needs many members, so a run may omit it.
        if self.scenario == Scenario::Scale && steps.peek().is_none() {
            findings.not_asked("the run left out the scenario of many members");
            return;
        }
        let cause = steps.find_map(|step| match &step.outcome {
            StepOutcome::Failed { reason } => Some(failed(step, reason)),
            StepOutcome::Done => None,
        });
        let cause = cause.map_or(String::new(), |cause| format!(": {cause}"));
        findings.cannot_tell(format!("the run did not reach `{}`{cause}", self.action));
    }
}

impl fmt::Debug for StepRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StepRule")
            .field("action", &self.action)
            .finish_non_exhaustive()
    }
}

impl Evaluate for StepRule {
    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        self.judge_all(hub, findings);
    }
}

/// When the run stopped watching for the effect of an action.
pub(crate) fn observed_until(evidence: &Evidence, taken: &DriverStep) -> Timestamp {
    let end = evidence.header.window.map(|window| window.until);
    end.map_or(taken.looked_until, |end| end.min(taken.looked_until))
}

/// The last moment that counts as a reaction. What was seen at exactly the end may be a reaction to the next action.
fn last_observation(evidence: &Evidence, taken: &DriverStep) -> Micros {
    let until = observed_until(evidence, taken);
    if until < taken.deadline() {
        until.as_microsecond().saturating_sub(1)
    } else {
        taken.deadline().as_microsecond()
    }
}

/// Explains that the run ended before the deadline, if so.
pub(crate) fn cut_short(evidence: &Evidence, taken: &DriverStep) -> Option<Reason> {
    let until = observed_until(evidence, taken);
    let seconds = until.duration_since(taken.until).as_secs().max(0);
    let (patience, action) = (taken.patience_seconds, describe(taken));
    let is_cut = until < taken.deadline();
    is_cut.then(|| {
        format!("the run was cut short: it looked for {seconds} s of the {patience} s after {action}").into()
    })
}

/// Names an action, such as `leave` of member-1.
pub(crate) fn describe(taken: &DriverStep) -> String {
    let placement = taken.placement.as_ref().map(|placement| placement.name.as_str());
    match placement.unwrap_or(&taken.member) {
        "" => format!("`{}`", taken.action),
        member => format!("`{}` of {}", taken.action, redacted(member)),
    }
}

/// A time as reports show it.
pub(crate) fn to_the_second(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

/// The expected value with its deadline.
pub(crate) fn within(taken: &DriverStep, expected: &str) -> String {
    format!(
        "{expected} within {} s of {} at {}",
        taken.patience_seconds,
        describe(taken),
        to_the_second(taken.until)
    )
}

/// The observed value with the deadline.
pub(crate) fn in_the_end(taken: &DriverStep, observed: &str) -> String {
    format!("{observed} at {}", to_the_second(taken.deadline()))
}

/// Whether any version of any profile has a condition.
fn is_reported(evidence: &Evidence, kind: &str) -> bool {
    let mut versions = evidence.profiles.iter().flat_map(|life| &life.versions);
    versions.any(|version| version.object.condition(kind).is_some())
}

fn failed(taken: &DriverStep, reason: &str) -> String {
    format!("{} failed: {}", describe(taken), redacted(reason))
}
