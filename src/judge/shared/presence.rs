//! Fields that a manager must fill within a grace period.

use evidence::{Evidence, ProfileHistory, Version, api::ClusterProfile};

use crate::{
    shared::{
        clocks::{Age, GRACE, age, age_of_transitions},
        state::{State, each_state},
    },
    subjects::{Finding, Findings, Profiles},
    time::{Edge, Known, Micros, Timeline, end},
};

/// Reports the profiles that lacked something for longer than the grace. New and terminating profiles may lack it; if
/// there are no others, it is too early to tell.
pub(crate) fn each_has(
    profiles: &Profiles,
    findings: &mut Findings,
    has: impl Fn(&ClusterProfile) -> bool,
    missing: impl Fn(&ClusterProfile) -> Finding,
) {
    let state = State {
        filled_later: true,
        ..State::default()
    };
    each_state(profiles, findings, state, |profile| {
        if has(profile) {
            return Some(Vec::new());
        }
        let is_terminating = profile.metadata.deletion_timestamp.is_some();
        (!is_terminating).then(|| vec![missing(profile).into()])
    });
}

/// Whether something has held for longer than the grace when a profile was last seen. Counts from when the watch saw it
/// begin or, if it was there before, from the profile's creation and the last transition of these conditions. What held
/// before a gap and after it held in it, too, if the transitions are still the same. True if the evidence has no time.
pub(crate) fn lasts(
    evidence: &Evidence,
    history: &ProfileHistory,
    conditions: &[&str],
    holds: impl Fn(&ClusterProfile) -> bool,
) -> bool {
    let Some(end) = end(evidence) else {
        return true;
    };
    let held = history.versions.iter().rev();
    let held = held.take_while(|version| holds(&version.object)).count();
    let found = Timeline::of(evidence, &[history]).while_(&holds);
    let goes_on = |before: &Version, after: &Version| {
        let between = Edge::between(
            before.received().as_microsecond(),
            after.received().as_microsecond(),
        );
        found.at(between) == Known::Yes || have_same_transitions(&before.object, &after.object, conditions)
    };
    let first = history.versions.len() - held;
    let mut begin = history.versions.len() - 1;
    while begin > first && goes_on(&history.versions[begin - 1], &history.versions[begin]) {
        begin -= 1;
    }
    let version = &history.versions[begin];
    let transitions = || age_of_transitions(evidence, &version.object, conditions);
    // Whether it goes on in a gap at the end, nobody knows.
    let last_known = found.surely_until().map_or(Micros::MIN, |until| until.min(end));
    last_known.saturating_sub(version.received().as_microsecond()) > GRACE
        || if begin == 0 {
            age(evidence, history).max(transitions()) == Age::Settled
        } else {
            // It held before the gap, and its last transition may have been before, too.
            begin > first && !conditions.is_empty() && transitions() == Age::Settled
        }
}

/// Whether these conditions have a transition time, and the same one in both versions.
fn have_same_transitions(before: &ClusterProfile, after: &ClusterProfile, conditions: &[&str]) -> bool {
    let time = |profile: &ClusterProfile, kind: &str| profile.condition(kind)?.last_transition_time.clone();
    !conditions.is_empty()
        && conditions.iter().all(|kind| {
            let before = time(before, kind);
            before.is_some() && before == time(after, kind)
        })
}
