//! The states of an object's name over time, and the driver's steps that concern it.

use evidence::{
    DriverStep, Evidence, History, ObjectRef, Origin, ProfileHistory, Tracked,
    api::{ClusterProfile, names},
};
use jiff::Timestamp;

use crate::{
    text::redacted,
    time::{Seen, Timeline, timestamp},
};

/// The state of an object's name from a time on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State<'a, T = ClusterProfile> {
    /// When it was seen.
    pub(crate) at: Timestamp,
    /// The object; none after its deletion.
    pub(crate) object: Option<&'a T>,
}

/// The timeline of the objects with one name, if any was seen: a name may be reused.
pub(crate) fn timeline<'a, T: Tracked>(
    evidence: &'a Evidence,
    object: &ObjectRef,
) -> Option<Timeline<'a, T>> {
    let is_named = |history: &&History<T>| {
        let metadata = history.last().metadata();
        *metadata.namespace == *object.namespace && *metadata.name == *object.name
    };
    let lives: Vec<&History<T>> = T::histories(evidence).iter().filter(is_named).collect();
    (!lives.is_empty()).then(|| Timeline::of(evidence, &lives))
}

/// All states of a timeline that the window showed, in order of time.
pub(crate) fn states<'a, T: Tracked>(evidence: &Evidence, timeline: &Timeline<'a, T>) -> Vec<State<'a, T>> {
    let end = evidence
        .header
        .window
        .map_or(Timestamp::MAX, |window| window.until);
    let mut states = Vec::new();
    // A list shows the next object of a name before it shows that the previous one is gone.
    let mut next = Timestamp::MAX;
    for run in timeline.runs().iter().rev() {
        let (at, object) = match &run.seen {
            Seen::Nothing => continue,
            // A timeline drops what is less than a microsecond, which must not make it earlier than what called for it.
            Seen::Absence => (timestamp(run.seen_at + 1), None),
            Seen::Version(version) => (version.received(), Some(&version.object)),
        };
        next = next.min(at);
        states.push(State { at: next, object });
    }
    states.retain(|state| state.at <= end);
    states.reverse();
    states
}

/// Profiles that appeared in a span, without the run's own and those known to be another member's.
pub(super) fn newborns<'a>(
    evidence: &'a Evidence,
    member: &str,
    from: Timestamp,
    until: Timestamp,
) -> impl Iterator<Item = &'a ProfileHistory> {
    evidence.profiles.iter().filter(move |history| {
        let first = history.versions[0].received();
        let metadata = &history.last().metadata;
        history.origin != Origin::Listed
            && from <= first
            && first < until
            && !evidence.is_touched(&metadata.namespace, &metadata.name)
            && !steps_about(evidence, history.last()).any(|step| step.member != member)
    })
}

/// The driver's steps that concern this profile.
pub(crate) fn steps_about<'a>(
    evidence: &'a Evidence,
    profile: &'a ClusterProfile,
) -> impl Iterator<Item = &'a DriverStep> {
    let metadata = &profile.metadata;
    let steps = evidence.driver.iter().flat_map(|driver| &driver.steps);
    steps.filter(move |step| {
        step.profile
            .as_ref()
            .is_some_and(|known| match known.uid.as_str() {
                "" => known.name == *metadata.name && known.namespace == *metadata.namespace,
                uid => uid == &*metadata.uid,
            })
    })
}

/// The object just before a time; none if it was absent or terminating.
pub(crate) fn alive<T: Tracked>(history: &History<T>, at: Timestamp) -> Option<&T> {
    if history.deleted.is_some_and(|deleted| deleted < at) {
        return None;
    }
    let seen = history
        .versions
        .iter()
        .take_while(|version| version.received() < at);
    let object = &seen.last()?.object;
    object.metadata().deletion_timestamp.is_none().then_some(object)
}

/// Describes a step.
pub(crate) fn did(step: &DriverStep) -> String {
    let placement = step.placement.as_ref().map(|placement| placement.name.as_str());
    match placement.unwrap_or(&step.member) {
        "" => format!("`{}`", step.action),
        member => format!("`{}` of {}", step.action, redacted(member)),
    }
}

/// The object of a finding on a member without a known profile.
pub(crate) fn member(step: &DriverStep) -> ObjectRef {
    ObjectRef {
        kind: names::KIND.to_owned(),
        name: step.member.clone(),
        ..ObjectRef::default()
    }
}

/// A time as reports show it.
pub(crate) fn to_the_second(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use evidence::api::Edition;
    use serde_json::json;

    use super::*;
    use crate::rules::example::Example;

    #[test]
    fn what_a_list_shows_to_be_gone_went_before_what_has_taken_its_name() {
        let world = json!({"steps": [
            {"at": "1m", "delete": "a"},
            {"at": "2m", "relist": {"metadata": {"name": "a"}}},
        ]});
        let example = json!({"name": "tried", "passes": world});
        let example = Example::parse(&example, Edition::Standard).expect("a world");
        let mut evidence = example.evidence().clone();
        let relisted = evidence.profiles[1].versions[0].received();
        evidence.profiles[0].deleted = Some(relisted + jiff::SignedDuration::from_secs(1));
        let profile = ObjectRef::from(evidence.profiles[1].last());
        let timeline = timeline::<ClusterProfile>(&evidence, &profile).expect("it was seen");
        let states = states(&evidence, &timeline);
        let uids: Vec<_> = states
            .iter()
            .map(|state| state.object.map(|profile| &*profile.metadata.uid))
            .collect();
        assert_eq!(uids, [Some("uid-default-a"), None, Some("uid-default-a-2")]);
        assert!(states.is_sorted_by_key(|state| state.at));
    }
}
