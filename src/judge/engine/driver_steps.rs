//! The driver's actions: until when the run watched for the effect of one, and what the driver did next.

use evidence::{DriverAction, DriverStep, Evidence, Reason, Tracked, api::ClusterProfile};
use jiff::Timestamp;

use super::Hub;
use crate::{
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
