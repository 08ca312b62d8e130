//! Evaluates a function on all calls to one profile's member: endpoint calls, or runs of a credential plugin.

use std::collections::HashMap;

use evidence::{EndpointCall, Evidence, Login, LoginOutcome, LoginWith, ObjectRef, api::ClusterProfile};
use jiff::Timestamp;

use super::{
    Answer, Evaluate, Hub, at_end::MISSED, is_joined, is_reachable, judged::JudgedObject, state::GRACE,
};
use crate::{
    subjects::{Findings, Unknowns},
    time::stamped,
    timeline::Timeline,
};

/// A call that the run made with what a profile reports.
pub(crate) trait MemberCall: Sized + 'static {
    /// Whether a failure counts only once the profile is older than the grace period.
    const IS_SETTLED_FIRST: bool;

    fn all(evidence: &Evidence) -> Vec<ProfileCall<'_, Self>>;
}

/// A call, with the profile that it concerns.
#[derive(Clone, Copy)]
pub(crate) struct ProfileCall<'e, C> {
    call: &'e C,
    profile: &'e ObjectRef,
    at: Timestamp,
    /// What must hold of the profile, or the member owes no answer.
    precondition: fn(&ClusterProfile) -> bool,
}

impl MemberCall for EndpointCall {
    const IS_SETTLED_FIRST: bool = false;

    fn all(evidence: &Evidence) -> Vec<ProfileCall<'_, Self>> {
        let calls = evidence.endpoint_calls.iter().map(|call| ProfileCall {
            call,
            profile: &call.profile,
            at: call.at,
            precondition: is_reachable,
        });
        calls.collect()
    }
}

/// A run of a credential plugin. The issuer of credentials may not know a new member yet.
impl MemberCall for Login {
    const IS_SETTLED_FIRST: bool = true;

    fn all(evidence: &Evidence) -> Vec<ProfileCall<'_, Self>> {
        let logins = evidence.logins.iter();
        let by_plugins = logins.filter(|login| matches!(login.with, LoginWith::Plugin(_)));
        let calls = by_plugins.map(|login| ProfileCall {
            call: login,
            profile: &login.profile,
            at: login.at,
            precondition: match login.outcome {
                LoginOutcome::Accepted { .. } | LoginOutcome::Refused { .. } => is_joined,
                LoginOutcome::NoCredential { .. } | LoginOutcome::Unanswered { .. } => is_reachable,
            },
        });
        calls.collect()
    }
}

/// A rule on all calls of one profile, with its version at the last call. Without any call in the run, it is called for each
/// profile without calls.
pub(crate) fn calls<C: MemberCall>(check: fn(&ClusterProfile, &[&C]) -> Answer) -> impl Evaluate {
    move |hub: &Hub, findings: &mut Findings| {
        let mut calls: HashMap<(&str, &str), Vec<ProfileCall<C>>> = HashMap::new();
        for call in C::all(hub.evidence) {
            let name = (&*call.profile.namespace, &*call.profile.name);
            calls.entry(name).or_default().push(call);
        }
        if calls.is_empty() {
            for profile in hub.profiles().iter().filter_map(|object| object.current()) {
                findings.count(check(profile, &[]));
            }
        }
        let mut unknowns = Unknowns::default();
        for object in hub.profiles() {
            let Some(calls) = calls.get(&object.name()) else {
                continue;
            };
            match judge(check, hub, object, calls) {
                Answer::Unknown(reason) => unknowns.add(calls[0].profile, reason.to_string()),
                answer => findings.count(answer),
            }
        }
        unknowns.report(findings);
    }
}

const NEW: &str = "too early to tell: the profile was younger than 2 min when the member was called";

fn judge<'e, C: MemberCall>(
    check: fn(&ClusterProfile, &[&C]) -> Answer,
    hub: &Hub<'e>,
    object: &JudgedObject<'e, ClusterProfile>,
    calls: &[ProfileCall<'e, C>],
) -> Answer {
    let timeline = Timeline::of_name(hub.evidence, &object.lives);
    let mut last = None;
    let mut counted = Vec::new();
    let mut is_any_missed = false;
    for call in calls {
        // Members are called when the watch has ended, too.
        match timeline.at(call.at) {
            Err(_) => is_any_missed = true,
            Ok(profiles) if profiles.iter().all(|profile| (call.precondition)(profile)) => {
                if let Some(profile) = profiles.last() {
                    last = Some((*profile, call.at));
                    counted.push(call.call);
                }
            }
            Ok(_) => {}
        }
    }
    let answer = last.map_or(Answer::NotApplicable, |(profile, _)| check(profile, &counted));
    match (answer, last) {
        (Answer::NotApplicable, None) if is_any_missed => Answer::Unknown(MISSED.into()),
        (Answer::Broken(_) | Answer::Warning(_), _) if is_any_missed => Answer::Unknown(MISSED.into()),
        (Answer::Broken(_), Some((profile, at)))
            if C::IS_SETTLED_FIRST && is_new(hub.evidence, object, profile, at) =>
        {
            Answer::Unknown(NEW.into())
        }
        (answer, Some((profile, _))) => answer.on(|| ObjectRef::from(profile)),
        (answer, None) => answer,
    }
}

/// Whether the profile was not yet older than the grace period.
fn is_new(
    evidence: &Evidence,
    object: &JudgedObject<'_, ClusterProfile>,
    profile: &ClusterProfile,
    at: Timestamp,
) -> bool {
    let created = profile.metadata.creation_timestamp.as_deref();
    let created = created.and_then(|created| Some(stamped(evidence, created)?.latest));
    let mut lives = object.lives.iter();
    let life = lives.find(|life| life.last().metadata.uid == profile.metadata.uid);
    let seen = life.map(|life| life.versions[0].received().as_microsecond());
    let since = created.into_iter().chain(seen).min();
    since.is_some_and(|since| at.as_microsecond() - since < GRACE)
}
