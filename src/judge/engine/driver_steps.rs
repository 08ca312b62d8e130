//! Evaluates a function on each action of the driver: until when the run watched for its effect, what the driver did next,
//! and what the implementation did to an object that it should leave alone.

use evidence::{Driver, Requested, Scenario, StepOutcome};

use super::{
    PlacementStep, ProfileStep,
    judged::{is_any, key},
    prelude::*,
};
use crate::{
    time::{LATE, missed, reported_by},
    timeline::ObservedChange,
};

/// When the run stopped watching for the effect of an action.
pub(crate) fn observed_until(evidence: &Evidence, driver_step: &DriverStep) -> Timestamp {
    let end = evidence.header.window.map(|window| window.until);
    end.map_or(driver_step.observed_until, |end| {
        end.min(driver_step.observed_until)
    })
}

/// Explains that the run ended before the deadline of an action, if so.
pub(crate) fn cut_short(evidence: &Evidence, driver_step: &DriverStep) -> Option<Reason> {
    cut_short_before(evidence, driver_step, driver_step.deadline())
}

/// Explains that the run ended before some moment after an action, if so.
pub(super) fn cut_short_before(
    evidence: &Evidence,
    driver_step: &DriverStep,
    deadline: Timestamp,
) -> Option<Reason> {
    let until = observed_until(evidence, driver_step);
    if until >= deadline {
        return None;
    }
    let seconds = until.duration_since(driver_step.until).as_secs().max(0);
    let patience = deadline.duration_since(driver_step.until).as_secs();
    let action = describe(driver_step);
    Some(format!("the run was cut short: it waited {seconds} s of {patience} s after {action}").into())
}

/// Explains that the watch missed part of a time after an action, if so. `name` is the namespace and name of an object;
/// none for all objects of its kind.
pub(super) fn missed_after<T: Tracked>(
    evidence: &Evidence,
    name: Option<(&str, &str)>,
    driver_step: &DriverStep,
    (from, until): (Micros, Micros),
) -> Option<Reason> {
    let from = to_the_second(timestamp(missed::<T>(evidence, name, from, until)?));
    let action = describe(driver_step);
    Some(format!("the watch missed part of the time after {action}, from {from} on").into())
}

pub(super) fn is_on_profile(driver_step: &DriverStep, namespace: &str, name: &str) -> bool {
    let profile = driver_step.profile.as_ref();
    profile.is_some_and(|profile| profile.namespace == namespace && profile.name == name)
}

pub(super) fn next_action<'e>(
    evidence: &'e Evidence,
    after: &DriverStep,
    is_wanted: impl Fn(&DriverStep) -> bool,
) -> Option<&'e DriverStep> {
    let steps = evidence.driver_steps();
    let later = steps.filter(|step| step.from > after.from && is_wanted(step));
    later.min_by_key(|step| step.from)
}

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
pub(crate) fn nothing_appeared(hub: &Hub, driver_step: &DriverStep) -> Result<(), Reason> {
    // A manager chooses the namespace, and those outside of the scope were not watched.
    if !hub.evidence.header.scope.namespaces.is_empty() {
        return Err("only some namespaces were watched, and the member's profile may be in another".into());
    }
    let observed = observed_until(hub.evidence, driver_step).as_microsecond();
    let span = (
        driver_step.from.as_microsecond(),
        reported_by(driver_step.deadline()).max(observed),
    );
    let missed = || missed_after::<ClusterProfile>(hub.evidence, None, driver_step, span);
    cut_short(hub.evidence, driver_step)
        .or_else(missed)
        .map_or(Ok(()), Err)
}

/// Names an action, for example `leave` of member-1.
pub(crate) fn describe(driver_step: &DriverStep) -> String {
    let placement = driver_step
        .placement
        .as_ref()
        .map(|placement| placement.name.as_str());
    match placement.unwrap_or(&driver_step.member) {
        "" => format!("`{}`", driver_step.action),
        member => format!("`{}` of {}", driver_step.action, redacted(member)),
    }
}

/// A time as reports show it.
pub(crate) fn to_the_second(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

pub(crate) fn within(driver_step: &DriverStep, expected: &str) -> String {
    let (patience, action) = (driver_step.patience_seconds, describe(driver_step));
    let end = to_the_second(driver_step.until);
    format!("{expected} within {patience} s of {action} at {end}")
}

pub(crate) fn in_the_end(driver_step: &DriverStep, observed: &str) -> String {
    format!("{observed} at {}", to_the_second(driver_step.deadline()))
}

/// Judges what follows an action.
type CheckStep = Box<dyn Fn(&DriverStep, &Hub) -> Answer + Send + Sync>;

/// A rule on the actions of one kind in one scenario.
pub(crate) struct StepRule {
    scenario: Scenario,
    action: DriverAction,
    check: CheckStep,
    /// Whether the actions of other scenarios are judged, too.
    is_of_all_scenarios: bool,
    /// Whether the rule has nothing to say if the run took no such action.
    is_optional: bool,
    /// Without a version for which this holds, the rule does not apply to the run.
    applies_if_any: Option<fn(&ClusterProfile) -> bool>,
}

pub(crate) fn step(scenario: Scenario, of: DriverAction, check: fn(&ProfileStep) -> Answer) -> StepRule {
    action(scenario, of, move |driver_step, hub| {
        ProfileStep::of(hub, driver_step).map_or_else(Answer::Unknown, |step| check(&step))
    })
}

/// A rule on what follows an action, whatever it concerns.
pub(crate) fn action(
    scenario: Scenario,
    action: DriverAction,
    check: impl Fn(&DriverStep, &Hub) -> Answer + Send + Sync + 'static,
) -> StepRule {
    StepRule {
        scenario,
        action,
        check: Box::new(check),
        is_of_all_scenarios: false,
        is_optional: false,
        applies_if_any: None,
    }
}

/// A rule on the slices of the placement that an action concerns.
pub(crate) fn placement_step(
    scenario: Scenario,
    of: DriverAction,
    check: fn(&PlacementStep) -> Answer,
) -> StepRule {
    action(scenario, of, move |driver_step, hub| {
        PlacementStep::of(hub, driver_step).map_or_else(Answer::Unknown, |step| check(&step))
    })
}

impl StepRule {
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

    fn say_why_none(&self, driver: &Driver, findings: &mut Findings) {
        if let Some(reason) = driver.unavailable_actions.get(&self.action) {
            findings.not_asked(reason.clone());
            return;
        }
        if !driver.available_actions.contains(&self.action) {
            findings.not_asked(format!("the run was recorded without the step `{}`", self.action));
            return;
        }
        let steps = driver.steps.iter();
        let mut steps = steps.filter(|step| step.scenario == self.scenario).peekable();
        // It needs many members, so a run may omit it.
        if self.scenario == Scenario::Scale && steps.peek().is_none() {
            findings.not_asked("the run left out the scenario of many members");
            return;
        }
        let cause = steps.find_map(|step| match &step.outcome {
            StepOutcome::Failed { reason } => Some(format!(": {}", failed(step, reason))),
            StepOutcome::Done => None,
        });
        let cause = cause.unwrap_or_default();
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
        if let Requested::No(reason) = hub.evidence.requested(watched) {
            findings.not_asked(reason.after("the results of the driver's steps were not watched"));
            return;
        }
        for driver_step in driver.steps_of(self.action) {
            let is_own = driver_step.scenario == self.scenario;
            match &driver_step.outcome {
                StepOutcome::Done if is_own || self.is_of_all_scenarios => {
                    findings.count((self.check)(driver_step, hub));
                }
                StepOutcome::Failed { reason } if is_own && !self.is_optional => {
                    findings.cannot_tell(failed(driver_step, reason));
                }
                _ => {}
            }
        }
        let mut steps = driver.steps_of(self.action);
        if !self.is_optional && !steps.any(|step| step.scenario == self.scenario) {
            self.say_why_none(driver, findings);
        }
    }
}

fn failed(driver_step: &DriverStep, reason: &str) -> String {
    format!("{} failed: {}", describe(driver_step), redacted(reason))
}

/// An object that the implementation should leave alone after a driver's action.
pub(crate) struct Untouched<T> {
    /// The part in which two versions differ, if the implementation must not change it.
    pub(crate) changed: fn(&T, &T) -> Option<&'static str>,
    pub(crate) message_changed: &'static str,
    pub(crate) message_deleted: &'static str,
}

/// The reason for no verdict if a change may have been made before the driver's action.
const REPORTED_LATE: &str = "perhaps before the driver's action: a watch reports a change up to 10 s late";

/// An object with the moments between which it should be left alone.
pub(crate) struct Guarded<'e, T> {
    pub(crate) histories: Vec<&'e History<T>>,
    /// From when on.
    pub(crate) from: Micros,
    /// Until when, at most; the run may stop watching before.
    pub(crate) until: Micros,
    /// Whether the run created the object, so that no change by the implementation is too early to count.
    pub(crate) is_created_by_run: bool,
}

impl<T: Judged> Untouched<T> {
    /// Kept if the implementation neither changed nor deleted any of the objects while the run watched; not applicable
    /// without any object.
    pub(crate) fn judge<'e>(
        &self,
        hub: &Hub<'e>,
        driver_step: &DriverStep,
        guarded: impl IntoIterator<Item = Guarded<'e, T>>,
    ) -> Answer {
        let observed = observed_until(hub.evidence, driver_step).as_microsecond();
        let mut answer = Answer::NotApplicable;
        let mut unobserved = None;
        for mut object in guarded {
            object.until = object.until.min(observed);
            answer = answer.and(self.of_object(hub, &object));
            unobserved = unobserved.or_else(|| why_unobserved(hub, driver_step, &object));
        }
        match (answer, unobserved) {
            (Answer::Kept, Some(reason)) => Answer::Unknown(reason),
            (answer, _) => answer,
        }
    }

    /// Kept if the implementation leaves alone what the run created for another implementation, since the end of the action,
    /// or since the creation if the run replaced the object in the action.
    pub(crate) fn judge_created(
        &self,
        hub: &Hub,
        driver_step: &DriverStep,
        created: Option<&ObjectRef>,
    ) -> Answer {
        let Some(created) = created else {
            return Answer::Unknown("the object that the run created is unknown".into());
        };
        let replaced = driver_step
            .profile
            .as_ref()
            .filter(|before| before.uid != created.uid);
        let is_created = |history: &&History<T>| {
            key(history) == (&*created.namespace, &*created.name)
                && replaced.is_none_or(|before| before.uid != *history.last().metadata().uid)
        };
        let histories: Vec<&History<T>> = T::histories(hub.evidence).iter().filter(is_created).collect();
        if histories.is_empty() {
            return Answer::Unknown(format!("the watch never showed {created}").into());
        }
        let guarded = Guarded {
            histories,
            from: replaced
                .map_or(driver_step.until, |_| driver_step.from)
                .as_microsecond(),
            until: Micros::MAX,
            is_created_by_run: true,
        };
        self.judge(hub, driver_step, [guarded])
    }

    fn of_object<'e>(&self, hub: &Hub<'e>, object: &Guarded<'e, T>) -> Answer {
        let timeline = Timeline::of_name(hub.evidence, &object.histories);
        let changes = timeline.changes().filter(|change| {
            object.from < change.at.latest && change.seen_at < object.until && !change.is_over_gap
        });
        Answer::each(changes, |change| self.of_change(hub, &change, object)).or_kept()
    }

    fn of_change<'e>(
        &self,
        hub: &Hub<'e>,
        change: &ObservedChange<'e, T>,
        guarded: &Guarded<'e, T>,
    ) -> Answer {
        let Some(before) = change.before.map(|version| &version.object) else {
            return Answer::Kept;
        };
        let authors = T::authors(hub);
        let after = change.after.map(|version| &version.object);
        let (object, path, at) = match after.filter(|after| !after.is_terminating()) {
            None if before.is_terminating() => return Answer::Kept,
            None => {
                let at = authors.deleted_at(change.history, change.at);
                (before, "metadata.name", at.unwrap_or(change.at))
            }
            Some(after) => match (self.changed)(before, after) {
                Some(part) => (after, part, change.at),
                None => return Answer::Kept,
            },
        };
        let is_deletion = path == "metadata.name";
        let (message, verb) = if is_deletion {
            (self.message_deleted, "deleted")
        } else {
            (self.message_changed, "changed")
        };
        let attribution = authors.of_change(change, path);
        let [seen_at, from, until] =
            [change.seen_at, guarded.from, guarded.until].map(|at| to_the_second(timestamp(at)));
        let finding = Finding::on(object.object_ref(), message)
            .at(path)
            .expected(format!("untouched from {from} until {until}"))
            .observed(format!("{verb} at {seen_at}"))
            .done_by(&attribution.names);
        // Only an audit log shows who deleted an object.
        let is_hint = is_deletion && T::log(hub.evidence).is_none();
        match attribution.author {
            Author::Run | Author::Other => Answer::Kept,
            _ if at.latest < guarded.from => Answer::Kept,
            Author::Unknown(_) if is_hint => Answer::warning(finding),
            Author::Implementation if guarded.is_created_by_run => Answer::broken(finding),
            _ if at.earliest < guarded.from => Answer::Unknown(format!("{message}, {REPORTED_LATE}").into()),
            Author::Implementation => Answer::broken(finding),
            Author::Unknown(reason) => Answer::Unknown(reason.after(message)),
        }
    }
}

/// The first part of two versions that is not the same.
pub(crate) fn first_different<const N: usize>(parts: [(bool, &'static str); N]) -> Option<&'static str> {
    let mut different = parts.into_iter().filter(|(is_same, _)| !is_same);
    different.next().map(|(_, part)| part)
}

/// Why the run cannot know that nothing happened to the object, if so.
fn why_unobserved<T: Judged>(hub: &Hub, driver_step: &DriverStep, object: &Guarded<T>) -> Option<Reason> {
    cut_short(hub.evidence, driver_step).or_else(|| {
        let name = key(object.histories[0]);
        let span = (object.from, object.until.saturating_add(LATE));
        missed_after::<T>(hub.evidence, Some(name), driver_step, span)
    })
}
