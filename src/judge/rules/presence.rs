//! Fields that a manager must fill within a grace period.

use evidence::{Evidence, ProfileHistory, api::ClusterProfile};

use super::{
    clocks::{Age, GRACE, age, age_of_transitions},
    finding::{Finding, Findings},
    state::{State, each_state},
    write_time::end_of,
};
use crate::subjects::Profiles;

/// Reports the profiles that lacked something for longer than the grace. New and terminating profiles may lack it; if
/// there are no others, it is too early to tell.
pub(super) fn each_has(
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

/// Whether something has held for longer than the grace period in a profile's last version. Counts from when the watch
/// saw it begin or, for an earlier beginning, from the profile's creation and the last transition
/// of these conditions. True if the evidence has no time.
pub(super) fn lasts(
    evidence: &Evidence,
    history: &ProfileHistory,
    conditions: &[&str],
    holds: impl Fn(&ClusterProfile) -> bool,
) -> bool {
    let Some(end) = end_of(evidence, history.last()) else {
        return true;
    };
    let held = history.versions.iter().rev();
    let held = held.take_while(|version| holds(&version.object));
    let first = held.last().unwrap_or(&history.versions[0]);
    if std::ptr::eq(first, &history.versions[0]) {
        let seen_for = end - first.at.as_microsecond();
        let transitions = || age_of_transitions(evidence, &first.object, conditions);
        seen_for >= GRACE || age(evidence, history).max(transitions()) == Age::Settled
    } else {
        end - first.at.as_microsecond() >= GRACE
    }
}
