//! Fields that a manager must fill within a grace period.

use evidence::{Evidence, GRACE_SECONDS, ProfileHistory, api::ClusterProfile};

use super::{
    finding::{Finding, Findings},
    write_time::{Micros, SECOND, end, on_our_clock},
};

/// The time that a manager has to fill a field.
pub(super) const GRACE: Micros = GRACE_SECONDS * SECOND;

/// The reason for no verdict if all profiles are new.
pub(super) const TOO_EARLY: &str =
    "too early to tell: no profile has been there for longer than the grace of 2 min";

/// Reports the profiles that lack something. New and terminating profiles may lack it; if there are no others, it is too
/// early to tell.
pub(super) fn each_has(
    evidence: &Evidence,
    findings: &mut Findings,
    has: impl Fn(&ClusterProfile) -> bool,
    missing: impl Fn(&ClusterProfile) -> Finding,
) {
    let mut excused = false;
    for profile in evidence.inventory() {
        if has(profile) {
            findings.examine();
        } else if evidence.is_settled(profile) {
            findings.examine();
            findings.report(missing(profile));
        } else {
            excused = true;
        }
    }
    if excused && findings.examined == 0 {
        findings.cannot_tell(TOO_EARLY);
    }
}

/// Whether something has held for longer than the grace period in a profile's last version. Counts from when the
/// watch saw it begin or, for an earlier beginning, from the last transition of these conditions or the profile's
/// creation. True if the evidence has no time.
pub(super) fn lasts(
    evidence: &Evidence,
    history: &ProfileHistory,
    conditions: &[&str],
    holds: impl Fn(&ClusterProfile) -> bool,
) -> bool {
    let Some(end) = end(evidence) else { return true };
    let held = history.versions.iter().rev();
    let held = held.take_while(|version| holds(&version.profile));
    let first = held.last().unwrap_or(&history.versions[0]);
    let seen = first.at.as_microsecond();
    let since = if std::ptr::eq(first, &history.versions[0]) {
        let transitions = conditions
            .iter()
            .filter_map(|kind| transition(evidence, &first.profile, kind));
        let created = first.profile.metadata.creation_timestamp.as_deref();
        let created = created.and_then(|time| on_our_clock(evidence, time));
        let told = transitions.max().max(created);
        told.map_or(seen, |told| told.min(seen))
    } else {
        seen
    };
    end - since >= GRACE
}

/// The last transition time of a condition.
pub(super) fn transition(evidence: &Evidence, profile: &ClusterProfile, kind: &str) -> Option<Micros> {
    let time = profile.condition(kind)?.last_transition_time.as_deref()?;
    on_our_clock(evidence, time)
}
