//! The steps whose answer a rule judges.

use evidence::{
    Asked, Driver, DriverAction, DriverStep, Evidence, Kind, ObjectRef, Scenario, StepOutcome,
    api::ClusterProfile,
};
use jiff::Timestamp;

use super::history::{State, did, states, timeline};
use crate::{
    subjects::Findings,
    text::redacted,
    time::{Known, Timeline, Why},
};

/// An executed step, and what was seen of the profile that it concerns.
pub(crate) struct ExecutedStep<'a> {
    /// The step.
    pub(crate) step: &'a DriverStep,
    /// The profile that it concerns.
    pub(crate) profile: &'a ObjectRef,
    /// What that profile was over time.
    pub(crate) timeline: Timeline<'a, ClusterProfile>,
    /// Its observed states, in order of time; never empty.
    pub(crate) states: Vec<State<'a>>,
    /// When the run's own write appeared, for a rule that asks since when.
    pub(super) own: Option<Timestamp>,
}

/// Returns the executed steps of one action whose effect a scenario observes. Records why a step was not executed, or
/// why there is none.
pub(crate) fn steps<'a>(
    evidence: &'a Evidence,
    findings: &mut Findings,
    scenario: Scenario,
    action: DriverAction,
) -> Vec<&'a DriverStep> {
    let Some(driver) = &evidence.driver else {
        return Vec::new();
    };
    let watched = if action.is_on_placements() {
        Kind::PlacementTimeline
    } else {
        Kind::Timeline
    };
    if let Asked::No(reason) = evidence.asked(watched) {
        findings.not_asked(reason.after("the results of the driver's steps were not watched"));
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

/// Records why a scenario has no step of an action.
fn say_why_none(driver: &Driver, findings: &mut Findings, scenario: Scenario, action: DriverAction) {
    if let Some(reason) = driver.lacking.get(&action) {
        findings.not_asked(reason.clone());
        return;
    }
    let mut steps = driver
        .steps
        .iter()
        .filter(|step| step.scenario == scenario)
        .peekable();
    // It needs many members, so a run may omit it.
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

/// Returns the same steps, each with its profile. Records why if the profile is unknown or was never seen.
pub(crate) fn executed<'a>(
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
        let Some(timeline) = timeline(evidence, profile) else {
            findings.cannot_tell(format!("the watch never showed {profile}"));
            continue;
        };
        all.push(ExecutedStep {
            step,
            profile,
            states: states(evidence, &timeline),
            timeline,
            own: None,
        });
    }
    all
}

/// Whether the driver made the member of a profile leave by a time, and has not joined it again by then. A failed step may
/// have had its effect: a failed `leave` counts as one, and after a failed `join` the answer is unknown, also where no step
/// came before: the member was out until then.
pub(crate) fn has_left(evidence: &Evidence, namespace: &str, name: &str, by: Timestamp) -> Known {
    let is_about = |step: &&DriverStep| {
        let profile = step.profile.as_ref();
        step.from <= by
            && profile.is_some_and(|profile| profile.namespace == namespace && profile.name == name)
    };
    let steps = evidence.driver.iter().flat_map(|driver| &driver.steps);
    let mut about: Vec<&DriverStep> = steps.filter(is_about).collect();
    about.sort_by_key(|step| step.from);
    let is_first_to_join = about
        .first()
        .is_some_and(|step| step.action == DriverAction::Join);
    let first = if is_first_to_join { Known::Yes } else { Known::No };
    about.iter().fold(first, |left, step| match step.action {
        DriverAction::Leave => Known::Yes,
        DriverAction::Join if step.outcome == StepOutcome::Done => Known::No,
        DriverAction::Join => left.and(Known::unknown(Why::Failed)),
        _ => left,
    })
}

impl<'a> ExecutedStep<'a> {
    /// The profile when the step began; none if there was none.
    pub(crate) fn before(&self) -> Option<&'a ClusterProfile> {
        let known = self.states.iter().take_while(|state| state.at < self.step.from);
        known.last()?.object
    }

    /// Drops the states before the run's own write appeared, which `is_own` recognizes. Records if it never appeared.
    pub(crate) fn since(
        mut self,
        findings: &mut Findings,
        is_own: impl Fn(&ClusterProfile) -> bool,
    ) -> Option<Self> {
        let own = self
            .states
            .iter()
            .position(|state| state.at >= self.step.from && state.object.is_some_and(&is_own));
        let Some(own) = own else {
            findings.cannot_tell(format!("the watch did not show what {} wrote", did(self.step)));
            return None;
        };
        self.own = Some(self.states[own].at);
        self.states.drain(..own);
        Some(self)
    }
}
