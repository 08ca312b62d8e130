//! Evaluates a function on each action of the driver: until when the run watched for its effect, and what the driver did
//! next.

use evidence::{
    Asked, Driver, DriverAction, DriverStep, Evidence, Kind, Reason, Scenario, StepOutcome, Tracked,
    api::ClusterProfile,
};
use jiff::Timestamp;

use super::{Answer, Evaluate, Hub, PlacementStep, Step, judged::is_any};
use crate::{
    subjects::Findings,
    text::redacted,
    time::{Micros, missed, told_by},
};

/// When the run stopped watching for the effect of an action.
pub(crate) fn observed_until(evidence: &Evidence, taken: &DriverStep) -> Timestamp {
    let end = evidence.header.window.map(|window| window.until);
    end.map_or(taken.looked_until, |end| end.min(taken.looked_until))
}

/// Explains that the run ended before the deadline of an action, if so.
pub(crate) fn cut_short(evidence: &Evidence, taken: &DriverStep) -> Option<Reason> {
    cut_short_before(evidence, taken, taken.deadline())
}

/// Explains that the run ended before some moment after an action, if so.
pub(super) fn cut_short_before(
    evidence: &Evidence,
    taken: &DriverStep,
    deadline: Timestamp,
) -> Option<Reason> {
    let until = observed_until(evidence, taken);
    let seconds = until.duration_since(taken.until).as_secs().max(0);
    let patience = deadline.duration_since(taken.until).as_secs();
    let action = describe(taken);
    let is_cut = until < deadline;
    is_cut.then(|| {
        format!("the run was cut short: it looked for {seconds} s of the {patience} s after {action}").into()
    })
}

/// Explains that the watch missed part of a time after an action, if so. `name` is the namespace and name of an object;
/// none for all objects of its kind.
pub(super) fn missed_after<T: Tracked>(
    evidence: &Evidence,
    name: Option<(&str, &str)>,
    taken: &DriverStep,
    (from, until): (Timestamp, Timestamp),
) -> Option<Reason> {
    let from = to_the_second(missed::<T>(evidence, name, from, until)?);
    let action = describe(taken);
    Some(format!("the watch missed part of the time after {action}, from {from} on").into())
}

/// Whether the driver acted on the profile of that namespace and name.
pub(super) fn is_on_profile(taken: &DriverStep, namespace: &str, name: &str) -> bool {
    let profile = taken.profile.as_ref();
    profile.is_some_and(|profile| profile.namespace == namespace && profile.name == name)
}

/// The driver's next action of some sort.
pub(super) fn next_action<'e>(
    evidence: &'e Evidence,
    after: &DriverStep,
    is_wanted: impl Fn(&DriverStep) -> bool,
) -> Option<&'e DriverStep> {
    let later = evidence
        .driver_steps()
        .filter(|step| step.from > after.from && is_wanted(step));
    later.min_by_key(|step| step.from)
}

/// When the driver next acts on the member of a profile.
pub(crate) fn next_action_on(
    evidence: &Evidence,
    profile: &ClusterProfile,
    after: &DriverStep,
) -> Option<Micros> {
    let metadata = &profile.metadata;
    let is_on = |step: &DriverStep| is_on_profile(step, &metadata.namespace, &metadata.name);
    next_action(evidence, after, is_on).map(|next| next.from.as_microsecond())
}

/// Whether the driver had made the member of a profile leave, and had not joined it again, by a moment.
pub(super) fn has_left(evidence: &Evidence, profile: &ClusterProfile, by: Timestamp) -> bool {
    let metadata = &profile.metadata;
    let steps = evidence.driver_steps().filter(|step| {
        step.from < by
            && matches!(step.action, DriverAction::Join | DriverAction::Leave)
            && is_on_profile(step, &metadata.namespace, &metadata.name)
    });
    let last = steps.max_by_key(|step| step.from);
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
    missed_after::<ClusterProfile>(hub.evidence, None, taken, (taken.from, until)).map_or(Ok(()), Err)
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

/// A rule on the actions of one kind in one scenario.
#[derive(Debug)]
pub(crate) struct StepRule {
    scenario: Scenario,
    action: DriverAction,
    check: Check,
    /// Whether the actions of other scenarios are judged, too.
    is_of_all_scenarios: bool,
    /// Whether the rule has nothing to say if the run took no such action.
    is_optional: bool,
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
    StepRule::of(scenario, action, Check::Profile(check))
}

/// A rule on what follows an action, whatever it concerns.
pub(crate) fn action(
    scenario: Scenario,
    action: DriverAction,
    check: fn(&DriverStep, &Hub) -> Answer,
) -> StepRule {
    StepRule::of(scenario, action, Check::Action(check))
}

/// A rule on the slices of the placement that an action concerns.
pub(crate) fn placement_step(
    scenario: Scenario,
    action: DriverAction,
    check: fn(&PlacementStep) -> Answer,
) -> StepRule {
    StepRule::of(scenario, action, Check::Placement(check))
}

impl StepRule {
    fn of(scenario: Scenario, action: DriverAction, check: Check) -> Self {
        Self {
            scenario,
            action,
            check,
            is_of_all_scenarios: false,
            is_optional: false,
            applies_if_any: None,
        }
    }

    /// Applies only if any version of the run has this.
    pub(crate) fn applies_if_any(mut self, has: fn(&ClusterProfile) -> bool) -> Self {
        self.applies_if_any = Some(has);
        self
    }

    /// Judges the action only if the run took it: another one already shows whether the rule is kept.
    pub(crate) fn if_taken(mut self) -> Self {
        self.is_optional = true;
        self
    }

    /// Judges the actions of other scenarios as well, without expecting any.
    pub(crate) fn of_all_scenarios(mut self) -> Self {
        self.is_of_all_scenarios = true;
        self
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
        if !driver.able.contains(&self.action) {
            findings.not_asked(format!("the run was recorded without the step `{}`", self.action));
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
        let mut is_taken = false;
        for taken in driver
            .steps_of(self.action)
            .filter(|step| step.scenario == self.scenario)
        {
            is_taken = true;
            match &taken.outcome {
                StepOutcome::Done => self.judge(hub, taken, findings),
                StepOutcome::Failed { .. } if self.is_optional => {}
                StepOutcome::Failed { reason } => findings.cannot_tell(failed(taken, reason)),
            }
        }
        if !is_taken && !self.is_optional {
            self.say_why_none(driver, findings);
        }
        let is_elsewhere =
            |step: &&DriverStep| step.scenario != self.scenario && step.outcome == StepOutcome::Done;
        let elsewhere = driver.steps_of(self.action).filter(is_elsewhere);
        elsewhere
            .filter(|_| self.is_of_all_scenarios)
            .for_each(|taken| self.judge(hub, taken, findings));
    }
}

fn failed(taken: &DriverStep, reason: &str) -> String {
    format!("{} failed: {}", describe(taken), redacted(reason))
}
