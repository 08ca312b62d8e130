//! Profiles that say what a consumer does not know.

use std::collections::BTreeSet;

use evidence::{
    Evidence,
    api::{ClusterProfile, names},
};

use crate::{
    rules::consumer::support::testbed::{Play, expect_call, inviting, server},
    subjects::{Finding, Findings},
};

/// Few managers tell more than that.
const MANY_PROPERTIES: usize = 100;

/// `consumer-health/unknown-values-tolerated`
///
/// A profile that has a condition of another type than those of the API, no version, or more than a hundred properties has its
/// member called as others.
pub(in crate::rules) fn unknown_values_tolerated(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    findings.nothing_happened("no profile was staged with a value that no control has");
    let claims = &play.testbed.consumer;
    let is_odd = |profile: &ClusterProfile| play.invites(profile) && peculiarities(profile).next().is_some();
    for subject in play.subjects() {
        let Some((_, until)) = play.chance(&subject.timeline.while_(is_odd)) else {
            continue;
        };
        let odd = || play.versions_of(subject).filter(|profile| is_odd(profile));
        let urls: BTreeSet<&str> = odd()
            .flat_map(|profile| inviting(profile, claims).map(server))
            .collect();
        if urls.iter().any(|url| play.is_shared(subject, url)) {
            findings.cannot_tell("another profile has the server of the one with such a value");
            continue;
        }
        // A client goes on with connections from before.
        expect_call(play.set_out_for_profile(subject, &urls, until), findings, || {
            let told: BTreeSet<&str> = odd().flat_map(peculiarities).collect();
            let told: Vec<&str> = told.into_iter().collect();
            let message = "the consumer leaves a member alone whose profile says more or less";
            Finding::on(subject.last, message)
                .at("status")
                .expected("a call of the member, as of others")
                .observed(format!("no call; the profile has {}", told.join(", ")))
        });
    }
}

/// What a profile has that no control has.
fn peculiarities(profile: &ClusterProfile) -> impl Iterator<Item = &'static str> + use<> {
    let status = &profile.status;
    let known = [names::CONDITION_HEALTHY, names::CONDITION_JOINED];
    let is_unknown = status
        .conditions
        .iter()
        .any(|condition| !known.contains(&&*condition.kind));
    let has_none = status.version.kubernetes.as_deref().is_none_or(str::is_empty);
    let has_many = status.properties.len() > MANY_PROPERTIES;
    let all = [
        is_unknown.then_some("a condition of another type"),
        has_none.then_some("no version"),
        has_many.then_some("more than 100 properties"),
    ];
    all.into_iter().flatten()
}
