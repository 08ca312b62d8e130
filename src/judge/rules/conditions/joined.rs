//! What Joined=True and Joined=False require of the rest of the status (KEP-4322 › Conditions).

use std::fmt;

use evidence::{
    Evidence, GRACE_SECONDS, Origin, ProfileHistory, Version,
    api::{
        ClusterProfile,
        names::{CONDITION_HEALTHY, CONDITION_JOINED},
    },
};

use crate::{
    rules::{
        clocks::{Age, CLOCKS_UNKNOWN, GRACE, age, age_of_transitions, transition},
        finding::{Finding, Findings},
        state::{State, each_state, same_conditions},
        write_time::{Micros, SECOND, end_of, missed_within, on_our_clock, timestamp},
    },
    subjects::Profiles,
    time::{Known, Timeline},
};

/// `conditions/healthy-needs-joined`
///
/// A member with Joined=False does not have ControlPlaneHealthy=True.
pub(in crate::rules) fn healthy_needs_joined(profiles: &Profiles, findings: &mut Findings) {
    findings.not_applicable("no profile has both conditions");
    // A manager may write the two one after the other.
    let state = State {
        same: Some(same_conditions),
        called_by: &[CONDITION_HEALTHY, CONDITION_JOINED],
        filled_later: false,
    };
    each_state(profiles, findings, state, |profile| {
        profile.condition(CONDITION_HEALTHY)?;
        profile.condition(CONDITION_JOINED)?;
        let contradiction = is_contradiction(profile).then(|| {
            Finding::on(
                profile,
                "the control plane is reported as healthy though the member is not joined",
            )
            .at(format!("status.conditions[{CONDITION_HEALTHY}].status"))
            .expected("Unknown or False, as Joined is False")
            .observed("True")
            .into()
        });
        Some(contradiction.into_iter().collect())
    });
}

/// Whether a condition exists with that status.
pub(in crate::rules) fn has_status(profile: &ClusterProfile, kind: &str, status: &str) -> bool {
    profile
        .condition(kind)
        .is_some_and(|condition| &*condition.status == status)
}

fn is_contradiction(profile: &ClusterProfile) -> bool {
    has_status(profile, CONDITION_HEALTHY, "True") && has_status(profile, CONDITION_JOINED, "False")
}

/// `conditions/status-follows-joined`
///
/// The profile of a joined member has a version and ControlPlaneHealthy once the grace period is over.
pub(in crate::rules) fn status_follows_joined(profiles: &Profiles, findings: &mut Findings) {
    let evidence = profiles.evidence();
    findings.not_applicable("no profile was joined for longer than the grace of 2 min");
    for history in profiles.histories() {
        let Some(end) = end_of(evidence, history.last()) else {
            return;
        };
        if let Some(finding) = lacks_for_long(evidence, history) {
            findings.examine();
            findings.report(finding);
            continue;
        }
        let mut joined_since: Option<Micros> = None;
        let mut lacks_at_last = false;
        let mut lacks_from_the_list = false;
        let mut examined = false;
        for (index, version) in history.versions.iter().enumerate() {
            let joined = is_joined(&version.object);
            joined_since = joined.then(|| joined_since.unwrap_or(begins(evidence, history, index)));
            let lacks = joined && !lacking(&version.object).is_empty();
            lacks_from_the_list = lacks && (index == 0 || lacks_from_the_list);
            lacks_at_last = lacks;

            let next = history.versions.get(index + 1);
            let stop = next
                .map(|next| next.at)
                .or(history.deleted)
                .unwrap_or(timestamp(end));
            let missed = missed_within(evidence, &version.object, version.at, stop);
            let until = missed.unwrap_or(stop).as_microsecond();
            // What was lacking from the beginning is judged when it is filled, or in the end.
            examined |= !lacks_from_the_list && joined_since.is_some_and(|since| until - since > GRACE);
            let is_end = next.is_none() && history.deleted.is_none();
            // Nobody saw since when, but a run must not pass what it saw lacking from its beginning to its end.
            let joined_for = joined_since.map_or(0, |since| until - since);
            if lacks_from_the_list && is_end && missed.is_none() && joined_for > GRACE {
                let seconds = joined_for / SECOND;
                findings.report(lacks_status(
                    &version.object,
                    format_args!("{seconds} s after the member joined"),
                ));
                examined = true;
                break;
            }
            if missed.is_some() {
                // The watch missed part of the time: start counting again.
                (joined_since, lacks_at_last) = (None, false);
            }
        }
        if examined {
            findings.examine();
        } else if lacks_from_the_list && history.deleted.is_some() {
            findings.cannot_tell_unless_examined(WENT_UNFILLED);
        } else if lacks_at_last && age_of_joining(evidence, history) == Age::Unsure {
            findings.cannot_tell(CLOCKS_UNKNOWN);
        }
    }
}

/// The finding if a profile's status was incomplete for longer than the grace while somebody watched.
fn lacks_for_long(evidence: &Evidence, history: &ProfileHistory) -> Option<Finding> {
    let lacks = |profile: &ClusterProfile| is_joined(profile) && !lacking(profile).is_empty();
    let lacking_versions = || {
        let versions = history.versions.iter();
        versions.filter(|version| lacks(&version.object))
    };
    // Nearly all profiles are filled, so no timeline is made.
    lacking_versions().next()?;
    let found = Timeline::of(evidence, &[history]).while_(lacks);
    if found.lasting(GRACE) != Known::Yes {
        return None;
    }
    let stretch = found.stretches(GRACE).pop()?;
    let before_its_end = |version: &&Version| version.at.as_microsecond() < stretch.until;
    let last = lacking_versions().take_while(before_its_end).last()?;
    let times = match stretch.times {
        1 => String::new(),
        times => format!(" in all, {times} times"),
    };
    let seconds = stretch.total / SECOND;
    Some(lacks_status(&last.object, format_args!("for {seconds} s{times}")))
}

/// The reason for no verdict if a profile lacked its status from the first list on, and went soon.
const WENT_UNFILLED: &str =
    "too early to tell: a profile whose status was empty went within the grace of 2 min";

/// Whether a member had joined for longer than the grace when the profile was listed.
fn age_of_joining(evidence: &Evidence, history: &ProfileHistory) -> Age {
    age(evidence, history).max(age_of_transitions(evidence, history.first(), &[CONDITION_JOINED]))
}

/// A terminating profile need not be filled any more.
fn is_joined(profile: &ClusterProfile) -> bool {
    has_status(profile, CONDITION_JOINED, "True") && profile.metadata.deletion_timestamp.is_none()
}

/// When a version began: when it was seen or, if it existed before the watch and the clocks tell, when the member joined.
fn begins(evidence: &Evidence, history: &ProfileHistory, index: usize) -> Micros {
    let version = &history.versions[index];
    let seen = version.at.as_microsecond();
    if index > 0 || history.origin != Origin::Listed || age_of_joining(evidence, history) != Age::Settled {
        return seen;
    }
    let created = version.object.metadata.creation_timestamp.as_deref();
    let created = created.and_then(|text| on_our_clock(evidence, text));
    let told = transition(evidence, &version.object, CONDITION_JOINED).max(created);
    told.map_or(seen, |told| told.min(seen))
}

/// The parts of the status that are not filled.
fn lacking(profile: &ClusterProfile) -> Vec<&'static str> {
    let mut lacking = Vec::new();
    let version = profile.status.version.kubernetes.as_deref();
    if version.unwrap_or_default().is_empty() {
        lacking.push("status.version.kubernetes");
    }
    if profile.condition(CONDITION_HEALTHY).is_none() {
        lacking.push("status.conditions[ControlPlaneHealthy]");
    }
    lacking
}

fn lacks_status(profile: &ClusterProfile, when: fmt::Arguments) -> Finding {
    let lacking = lacking(profile);
    Finding::on(profile, "the status of a joined member is incomplete")
        .at(lacking[0])
        .expected(format!("filled within {GRACE_SECONDS} s of Joined being True"))
        .observed(format!("{} absent {when}", lacking.join(" and ")))
}
