//! Evaluates a function on each action of the driver.

use evidence::{Asked, Driver, DriverAction, DriverStep, Kind, Scenario, StepOutcome, api::ClusterProfile};

use super::{Answer, Evaluate, Hub, PlacementStep, Step, driver_steps::describe, judged::is_any};
use crate::{subjects::Findings, text::redacted};

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
