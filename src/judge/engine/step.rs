//! Evaluates a function on each action of the driver.
//!
//! An action leaves the implementation some time to react. If the run did not watch long enough, or a gap may hide the
//! reaction, the answer is unknown.

use evidence::{
    Asked, Driver, DriverAction, DriverStep, Evidence, History, Kind, ObjectRef, Reason, Scenario,
    StepOutcome, api::ClusterProfile,
};
use jiff::Timestamp;

use super::{
    Answer, Evaluate, Hub, PlacementStep,
    attribution::author_of_moment,
    author::{Attribution, Author, NOTHING_RECORDED},
    judged::is_any,
    state::GRACE,
    violation::describe as lasting,
};
use crate::{
    subjects::{Finding, Findings},
    text::{by, redacted},
    time::{Micros, missed, timestamp, told_by},
    timeline::{Certainty, Timeline},
};

/// A driver action on a member, and what followed on its profile.
pub(crate) struct Step<'s, 'e> {
    pub(crate) hub: &'s Hub<'e>,
    /// The action.
    pub(crate) taken: &'s DriverStep,
    /// The profile that it concerns.
    pub(crate) profile: &'s ObjectRef,
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
#[derive(Debug)]
pub(crate) struct StepRule {
    scenario: Scenario,
    action: DriverAction,
    check: Check,
    /// Whether the actions of other scenarios are judged, too.
    is_of_all_scenarios: bool,
    /// Without a version for which this holds, the rule does not apply to the run.
    applies_if_any: Option<fn(&ClusterProfile) -> bool>,
}

/// A rule's function on an action.
#[derive(Debug)]
enum Check {
    /// It needs the profile that the action concerns.
    Profile(fn(&Step) -> Answer),
    /// It needs the slices of the placement that the action concerns.
    Placement(fn(&PlacementStep) -> Answer),
    /// It is about something else.
    Action(fn(&DriverStep, &Hub) -> Answer),
}

/// A rule on the profile that an action concerns.
pub(crate) fn step(scenario: Scenario, action: DriverAction, check: fn(&Step) -> Answer) -> StepRule {
    StepRule {
        scenario,
        action,
        check: Check::Profile(check),
        is_of_all_scenarios: false,
        applies_if_any: None,
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
        check: Check::Action(check),
        is_of_all_scenarios: false,
        applies_if_any: None,
    }
}

/// A rule on the slices of the placement that an action concerns.
pub(crate) fn placement_step(
    scenario: Scenario,
    action: DriverAction,
    check: fn(&PlacementStep) -> Answer,
) -> StepRule {
    StepRule {
        scenario,
        action,
        check: Check::Placement(check),
        is_of_all_scenarios: false,
        applies_if_any: None,
    }
}

impl<'s, 'e> Step<'s, 'e> {
    /// The action with the profile that it concerns.
    pub(crate) fn of(hub: &'s Hub<'e>, taken: &'s DriverStep) -> Result<Self, Reason> {
        let unknown = || Reason::from(format!("the profile of {} is unknown", redacted(&taken.member)));
        Self::on(hub, taken, taken.profile.as_ref().ok_or_else(unknown)?)
    }

    fn on(hub: &'s Hub<'e>, taken: &'s DriverStep, profile: &'s ObjectRef) -> Result<Self, Reason> {
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

    /// The same, if it was watched at that time.
    ///
    /// # Errors
    /// The reason why it is not known.
    pub(crate) fn before_surely(&self) -> Result<Option<&'e ClusterProfile>, Reason> {
        let began = self.taken.from.as_microsecond();
        let moments = self.timeline.moments();
        let seen = moments.partition_point(|moment| moment.seen_at < began);
        let is_observed = seen > 0 && moments[seen - 1].is_observed();
        let unobserved =
            || format!("{} was not watched before {}", self.profile, describe(self.taken)).into();
        if is_observed {
            Ok(self.before())
        } else {
            Err(unobserved())
        }
    }

    /// The profile as last seen by the deadline; none if there was none.
    pub(crate) fn at_deadline(&self) -> Option<&'e ClusterProfile> {
        self.last_seen_before(self.last_observation().saturating_add(1))
    }

    /// Kept if the profile was as expected when it was last seen before the deadline.
    pub(crate) fn expect(
        &self,
        expected: impl Fn(Option<&ClusterProfile>) -> bool,
        shortfall: impl FnOnce(Option<&'e ClusterProfile>) -> Shortfall,
    ) -> Answer {
        let ended_early = cut_short(self.hub.evidence, self.taken).or_else(|| self.interrupted());
        match self.timeline.by(self.last_observation(), &expected) {
            Certainty::Yes => return Answer::Kept,
            Certainty::Unknown(reason) => return Answer::Unknown(ended_early.unwrap_or(reason)),
            Certainty::No => {}
        }
        if let Some(reason) = ended_early {
            return Answer::Unknown(reason);
        }
        let shortfall = shortfall(self.at_deadline());
        if self.was_undone_by_other(expected, &shortfall.path) {
            return Answer::Unknown(BY_OTHERS.into());
        }
        Answer::broken(self.finding(shortfall))
    }

    /// Whether the profile was as expected after the action, and another client is known to have undone that.
    fn was_undone_by_other(&self, expected: impl Fn(Option<&ClusterProfile>) -> bool, field: &str) -> bool {
        let (moments, began) = (self.timeline.moments(), self.taken.from.as_microsecond());
        let is_expected = |place: usize| {
            let version = self.timeline.object(place);
            moments[place].is_observed() && expected(version.map(|version| &version.object))
        };
        let end = moments.partition_point(|moment| moment.seen_at <= self.last_observation());
        let first = moments.partition_point(|moment| moment.seen_at <= began);
        let is_undone = |place: &usize| is_expected(*place) && !is_expected(*place + 1);
        let Some(place) = (first..end.saturating_sub(1)).rfind(is_undone) else {
            return false;
        };
        let by = match self.timeline.object(place + 1) {
            Some(_) => author_of_moment(self.hub, &self.timeline, &self.lives, place + 1, field),
            None => self.author_of_deletion(place + 1),
        };
        by.is_some_and(|by| by.author == Author::Other)
    }

    /// Who deleted the profile, if a moment began with that.
    fn author_of_deletion(&self, place: usize) -> Option<Attribution<'e>> {
        let deletion = self.timeline.changes().find(|change| change.place == place)?;
        Some(self.hub.profile_authors().of_deletion(deletion.life, deletion.at))
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
            None if is_any(self.hub.evidence, |profile: &ClusterProfile| {
                profile.condition(kind).is_some()
            }) =>
            {
                Err(Answer::Unknown(
                    format!("{profile} did not report {kind} before {action}").into(),
                ))
            }
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
        let all = self.timeline.intervals(holds);
        let intervals = match self.next_action() {
            Some(next) => all.within(deadline, next.from.as_microsecond()),
            None => all.since(deadline),
        };
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
        let ending = if intervals.is_open() {
            self.timeline.end_in_words()
        } else {
            ""
        };
        let shortfall = shortfall(&lasting(&intervals.stretches(GRACE), false, GRACE, ending));
        match author_of_moment(self.hub, &self.timeline, &self.lives, place, &shortfall.path) {
            Some(Attribution {
                author: Author::Unknown(reason),
                ..
            }) if reason != NOTHING_RECORDED => Answer::Unknown(reason),
            Some(by) if by.is_of_others() => Answer::Unknown(BY_OTHERS.into()),
            _ => Answer::broken(self.finding_of(shortfall)),
        }
    }

    /// The last moment that counts as a reaction. What was seen at exactly the end may be a reaction to the next action.
    fn last_observation(&self) -> Micros {
        let last = last_observation(self.hub.evidence, self.taken);
        let next = self
            .next_action()
            .map_or(Micros::MAX, |next| next.from.as_microsecond());
        last.min(next.saturating_sub(1))
    }

    /// Explains that the driver acted on the member again before the deadline, if so.
    fn interrupted(&self) -> Option<Reason> {
        let next = self
            .next_action()
            .filter(|next| next.from <= self.taken.deadline())?;
        Some(
            format!(
                "{} came before the deadline of {}",
                describe(next),
                describe(self.taken)
            )
            .into(),
        )
    }

    /// The driver's last action of a kind on the same member before this one.
    pub(crate) fn earlier(&self, action: DriverAction) -> Option<Step<'s, 'e>> {
        let driver = self.hub.evidence.driver.as_ref()?;
        let same = driver
            .steps_of(action)
            .filter(|step| step.member == self.taken.member);
        let earlier = same
            .filter(|step| step.from < self.taken.from)
            .max_by_key(|step| step.from)?;
        Step::of(self.hub, earlier).ok()
    }

    /// Kept if no change by the implementation ends something that holds since the run's own write.
    pub(crate) fn expect_kept(
        &self,
        holds: impl Fn(&ClusterProfile) -> bool,
        field: &str,
        finding: impl FnOnce(&'e ClusterProfile) -> Finding,
    ) -> Answer {
        let Some(written) = self.written_at(&holds) else {
            return Answer::Unknown(
                format!("the watch did not show what {} wrote", describe(self.taken)).into(),
            );
        };
        let until = observed_until(self.hub.evidence, self.taken).as_microsecond();
        let moments = self.timeline.moments();
        let is_lost = |place: &usize| {
            let seen_at = moments[*place].seen_at;
            let version = self.timeline.object(*place);
            (written..until).contains(&seen_at) && version.is_some_and(|version| !holds(&version.object))
        };
        if let Some(place) = (0..moments.len()).find(is_lost) {
            let version = self.timeline.object(place).map(|version| &version.object);
            let attribution = author_of_moment(self.hub, &self.timeline, &self.lives, place, field);
            let seen_at = to_the_second(timestamp(moments[place].seen_at));
            return of_author(attribution, version.map(finding), seen_at);
        }
        let is_gone = self.last_seen_before(until).is_none();
        let action = describe(self.taken);
        let gone = || is_gone.then(|| format!("{} was deleted after {action}", self.profile).into());
        match gone()
            .or_else(|| cut_short(self.hub.evidence, self.taken))
            .or_else(|| self.missed(until))
        {
            Some(reason) => Answer::Unknown(reason),
            None => Answer::Kept,
        }
    }

    /// Explains that the watch missed part of the time until a moment, if so.
    fn missed(&self, until: Micros) -> Option<Reason> {
        let moments = self.timeline.moments().iter();
        let began = self.taken.from.as_microsecond();
        let mut within = moments.filter(|moment| (began..until).contains(&moment.seen_at));
        let is_missed = within.any(|moment| !moment.is_observed());
        is_missed.then(|| format!("the watch missed part of the time after {}", describe(self.taken)).into())
    }

    /// The member's profile as the driver recognized it afterwards, if it has another name.
    pub(crate) fn renamed(&self) -> Option<Step<'s, 'e>> {
        let after = self.taken.profile_after.as_ref()?;
        let is_renamed = (&after.namespace, &after.name) != (&self.profile.namespace, &self.profile.name);
        is_renamed
            .then(|| Self::on(self.hub, self.taken, after).ok())
            .flatten()
    }

    /// The driver's next attempt to join the member again.
    pub(crate) fn joins_again(&self) -> Option<&'s DriverStep>
    where
        'e: 's,
    {
        self.next_action()
            .filter(|next| next.action == DriverAction::Join)
    }

    /// Whether the driver recorded which profile a member had after an action.
    pub(crate) fn records_profiles(&self) -> bool {
        let steps = self.hub.evidence.driver.iter().flat_map(|driver| &driver.steps);
        steps.into_iter().any(|step| step.profile_after.is_some())
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
    /// Applies only if any version of the run has this.
    pub(crate) fn applies_if_any(self, has: fn(&ClusterProfile) -> bool) -> Self {
        Self {
            applies_if_any: Some(has),
            ..self
        }
    }

    /// Judges the actions of other scenarios as well, without expecting any.
    pub(crate) fn of_all_scenarios(self) -> Self {
        Self {
            is_of_all_scenarios: true,
            ..self
        }
    }

    fn judge_all(&self, hub: &Hub, findings: &mut Findings) {
        let Some(driver) = &hub.evidence.driver else {
            return;
        };
        if self.applies_if_any.is_some_and(|has| !is_any(hub.evidence, has)) {
            return;
        }
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
        let is_elsewhere =
            |step: &&DriverStep| step.scenario != self.scenario && step.outcome == StepOutcome::Done;
        let elsewhere = driver.steps_of(self.action).filter(is_elsewhere);
        elsewhere
            .filter(|_| self.is_of_all_scenarios)
            .for_each(|taken| self.judge(hub, taken, findings));
    }

    fn judge(&self, hub: &Hub, taken: &DriverStep, findings: &mut Findings) {
        let answer = match &self.check {
            Check::Action(check) => check(taken, hub),
            Check::Profile(check) => match Step::of(hub, taken) {
                Ok(step) => check(&step),
                Err(reason) => Answer::Unknown(reason),
            },
            Check::Placement(check) => match PlacementStep::of(hub, taken) {
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

/// A violation if the implementation is the author of a change, or if nothing records authors.
fn of_author(attribution: Option<Attribution>, finding: Option<Finding>, seen_at: Timestamp) -> Answer {
    let Some(finding) = finding else {
        return Answer::Kept;
    };
    match attribution {
        Some(by) if by.is_of_others() => Answer::Unknown(BY_OTHERS.into()),
        Some(Attribution {
            author: Author::Unknown(reason),
            ..
        }) if reason != NOTHING_RECORDED => Answer::Unknown(reason),
        attribution => {
            let by_whom = attribution.map_or(String::new(), |attribution| by(&attribution.names));
            let observed = format!("{} from {seen_at} on{by_whom}", finding.observed);
            Answer::broken(finding.observed(observed))
        }
    }
}

/// When the driver next acts on the member of a profile.
pub(crate) fn next_action_on(
    evidence: &Evidence,
    profile: &ClusterProfile,
    after: &DriverStep,
) -> Option<Micros> {
    let steps = evidence.driver.iter().flat_map(|driver| &driver.steps);
    let is_about = |step: &&DriverStep| {
        let object = step.profile.as_ref();
        step.from > after.from
            && object.is_some_and(|object| {
                *object.namespace == *profile.metadata.namespace && *object.name == *profile.metadata.name
            })
    };
    steps
        .filter(is_about)
        .map(|step| step.from.as_microsecond())
        .min()
}

/// Whether the driver had made the member of a profile leave, and had not joined it again, by a moment.
pub(super) fn has_left(evidence: &Evidence, profile: &ClusterProfile, by: Timestamp) -> bool {
    let steps = evidence.driver.iter().flat_map(|driver| &driver.steps);
    let is_about = |step: &&DriverStep| {
        let object = step.profile.as_ref();
        step.from < by
            && matches!(step.action, DriverAction::Join | DriverAction::Leave)
            && object.is_some_and(|object| {
                *object.namespace == *profile.metadata.namespace && *object.name == *profile.metadata.name
            })
    };
    let last = steps.filter(is_about).max_by_key(|step| step.from);
    last.is_some_and(|step| step.action == DriverAction::Leave)
}

/// Ok if the run would have seen a profile that appeared after an action.
///
/// # Errors
/// The reason why it might not have seen one.
pub(crate) fn nothing_appeared(hub: &Hub, taken: &DriverStep) -> Result<(), Reason> {
    // A manager chooses the namespace, and those outside of the scope were not watched.
    if !hub.evidence.header.scope.namespaces.is_empty() {
        return Err(ELSEWHERE.into());
    }
    if let Some(reason) = cut_short(hub.evidence, taken) {
        return Err(reason);
    }
    let until = told_by(taken.deadline()).max(observed_until(hub.evidence, taken));
    match missed::<ClusterProfile>(hub.evidence, None, taken.from, until) {
        Some(from) => Err(format!(
            "the watch missed part of the time after {}, from {} on",
            describe(taken),
            to_the_second(from)
        )
        .into()),
        None => Ok(()),
    }
}

/// The reason for no verdict on a profile that was not seen.
const ELSEWHERE: &str = "only some namespaces were watched, and the member's profile may be in another";

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

fn failed(taken: &DriverStep, reason: &str) -> String {
    format!("{} failed: {}", describe(taken), redacted(reason))
}
