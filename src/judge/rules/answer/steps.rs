//! The steps whose answer a rule judges.

use evidence::{
    Asked, Driver, DriverAction, DriverStep, Evidence, Kind, ObjectRef, Scenario, StepOutcome,
    api::ClusterProfile,
};

use super::history::{State, did, states};
use crate::rules::{finding::Findings, text::redacted};

/// A step that was done, and all that was seen of the profile that it is about.
#[derive(Debug)]
pub(in crate::rules) struct ExecutedStep<'a> {
    /// The step.
    pub(in crate::rules) step: &'a DriverStep,
    /// The profile that it is about.
    pub(in crate::rules) profile: &'a ObjectRef,
    /// What was seen of it, in the order of time; never empty.
    pub(in crate::rules) states: Vec<State<'a>>,
}

/// The steps of one action that a scenario does to see what comes of them, as far as they were done. Says why where
/// one was not, or where there are none.
pub(in crate::rules) fn steps<'a>(
    evidence: &'a Evidence,
    findings: &mut Findings,
    scenario: Scenario,
    action: DriverAction,
) -> Vec<&'a DriverStep> {
    let Some(driver) = &evidence.driver else {
        return Vec::new();
    };
    if let Asked::No(reason) = evidence.asked(Kind::Timeline) {
        findings.not_asked(format!(
            "the results of the driver's steps were not watched: {reason}"
        ));
        return Vec::new();
    }
    let mut any = false;
    let mut steps = Vec::new();
    for step in driver.steps_of(action).filter(|step| step.scenario == scenario) {
        any = true;
        match &step.outcome {
            StepOutcome::Done => steps.push(step),
            StepOutcome::Failed { reason } => findings.cannot_tell(failed(step, reason)),
        }
    }
    if !any {
        say_why_none(driver, findings, scenario, action);
    }
    steps
}

fn failed(step: &DriverStep, reason: &str) -> String {
    format!("{} failed: {}", did(step), redacted(reason))
}

/// Says why a scenario has no step of an action.
fn say_why_none(driver: &Driver, findings: &mut Findings, scenario: Scenario, action: DriverAction) {
    if let Some(reason) = driver.lacking.get(&action) {
        findings.not_asked(reason);
        return;
    }
    let mut steps = driver
        .steps
        .iter()
        .filter(|step| step.scenario == scenario)
        .peekable();
    // It costs many members, so that a run may well do without.
    if scenario == Scenario::Scale && steps.peek().is_none() {
        findings.not_asked("the run left out the scenario of many members");
        return;
    }
    let cause = steps.find_map(|step| match &step.outcome {
        StepOutcome::Failed { reason } => Some(failed(step, reason)),
        StepOutcome::Done => None,
    });
    findings.cannot_tell(match cause {
        Some(cause) => format!("the run did not reach `{action}`: {cause}"),
        None => format!("the run did not reach `{action}`"),
    });
}

/// The same, each with its profile. Says why where the profile is not known, or was never seen.
pub(in crate::rules) fn executed<'a>(
    evidence: &'a Evidence,
    findings: &mut Findings,
    scenario: Scenario,
    action: DriverAction,
) -> Vec<ExecutedStep<'a>> {
    let mut all = Vec::new();
    for step in steps(evidence, findings, scenario, action) {
        let Some(profile) = &step.profile else {
            findings.cannot_tell(format!("the profile of {} is unknown", redacted(&step.member)));
            continue;
        };
        let states = states(evidence, profile);
        if states.is_empty() {
            findings.cannot_tell(format!("the watch never showed {profile}"));
            continue;
        }
        all.push(ExecutedStep {
            step,
            profile,
            states,
        });
    }
    all
}

impl<'a> ExecutedStep<'a> {
    /// The profile as it was when the step began; none where there was none.
    pub(in crate::rules) fn before(&self) -> Option<&'a ClusterProfile> {
        let known = self.states.iter().take_while(|state| state.at < self.step.from);
        known.last()?.profile
    }

    /// Leaves out what was there before the run's own write showed, which `is_own` tells. Says so where it never did.
    pub(in crate::rules) fn since(
        mut self,
        findings: &mut Findings,
        is_own: impl Fn(&ClusterProfile) -> bool,
    ) -> Option<Self> {
        let own = self
            .states
            .iter()
            .position(|state| state.at >= self.step.from && state.profile.is_some_and(&is_own));
        let Some(own) = own else {
            findings.cannot_tell(format!("the watch did not show what {} wrote", did(self.step)));
            return None;
        };
        self.states.drain(..own);
        Some(self)
    }

    /// Whether a condition was True when the step began, so that it can be told to leave that. Says why not.
    pub(in crate::rules) fn was_true(&self, findings: &mut Findings, kind: &str) -> bool {
        let condition = self.before().and_then(|profile| profile.condition(kind));
        match condition.map(|condition| &*condition.status) {
            Some("True") => return true,
            Some(status) => findings.cannot_tell(format!(
                "{kind} of {} was {} before {}",
                self.profile.path(),
                redacted(status),
                did(self.step)
            )),
            None => findings.not_applicable(format!("no affected profile reports {kind}")),
        }
        false
    }
}
