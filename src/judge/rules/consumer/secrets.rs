//! What a consumer does with the credentials of members.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{
    CallEvent, MemberCall, MemberCredential, MentionLocation, ObjectRef, PluginAnswer, api::names,
};

use crate::{
    engine::{Answer, consumer::ConsumerRun},
    subjects::Finding,
    text::redacted,
};

/// The most places of one credential that a finding lists.
const LISTED: usize = 3;

/// `consumer-secrets/credential-to-its-member-only`
///
/// With fewer than two members, no credential can go to another one.
pub(in crate::rules) fn credential_to_its_member_only(run: &ConsumerRun) -> Vec<Answer> {
    let mut members = BTreeSet::new();
    let mut misused: BTreeMap<(&str, &str), &MemberCall> = BTreeMap::new();
    for call in run.member_calls() {
        let CallEvent::Request {
            credential: MemberCredential::Of { member, .. },
            ..
        } = &call.what
        else {
            continue;
        };
        if *member == call.member {
            members.insert(member);
        } else if !is_own_address(run, call, member) {
            misused.entry((member, &call.member)).or_insert(call);
        }
    }
    if misused.is_empty() && members.len() < 2 {
        let reason = "the consumer called fewer than two members with their credentials";
        return vec![Answer::Unknown(reason.into())];
    }
    let misused = misused.into_iter();
    let findings = misused.map(|((member, _), call)| sent_elsewhere(run, member, call));
    vec![Answer::all(findings)]
}

/// Whether the call reached no member, at an address of the credential's own.
fn is_own_address(run: &ConsumerRun, call: &MemberCall, member: &str) -> bool {
    let mut addresses = run.testbed.addresses.iter();
    call.member.is_empty() && addresses.any(|address| address.url == call.url && address.member == *member)
}

fn sent_elsewhere(run: &ConsumerRun, member: &str, call: &MemberCall) -> Finding {
    let message = "a member's credential goes to another one";
    let expected = format!("the credential of {} for its member only", redacted(member));
    Finding::on(profile_of(run, member), message)
        .at("status.accessProviders")
        .expected(expected)
        .observed(format!(
            "a request to {} with it at {}",
            redacted(&call.url),
            call.at
        ))
}

/// `consumer-secrets/nothing-secret-in-the-open`
pub(in crate::rules) fn nothing_secret_in_the_open(run: &ConsumerRun) -> Vec<Answer> {
    let issued = run.plugin_runs().filter_map(|call| match &call.answer {
        PluginAnswer::Credential { member, .. } => Some(&**member),
        _ => None,
    });
    let mut places: BTreeMap<&str, Vec<String>> = issued.map(|member| (member, Vec::new())).collect();
    for mention in run.evidence.mentions.iter().flat_map(|mentions| &mentions.found) {
        for member in &mention.credentials {
            places.entry(member).or_default().push(describe(&mention.place));
        }
    }
    let answer = |(member, mut places): (&str, Vec<String>)| {
        Answer::broken_if(!places.is_empty(), || {
            places.truncate(LISTED);
            Finding::on(profile_of(run, member), "a member's credential is in the open")
                .at("status.accessProviders")
                .expected("credentials in Secrets alone")
                .observed(places.join(", "))
        })
    };
    places.into_iter().map(answer).collect()
}

/// The published profile of a member.
fn profile_of(run: &ConsumerRun, member: &str) -> ObjectRef {
    let mut expectations = run.testbed.expectations.iter();
    match expectations.find(|expectation| expectation.member == *member) {
        Some(expectation) => run.profile_ref(&expectation.profile),
        None => ObjectRef {
            kind: names::KIND.to_owned(),
            name: member.to_owned(),
            ..ObjectRef::default()
        },
    }
}

fn describe(place: &MentionLocation) -> String {
    match place {
        MentionLocation::Line { number } => format!("line {number} of the consumer's log"),
        MentionLocation::Event {
            namespace, reason, ..
        } => format!("an Event {} of {}", redacted(reason), redacted(namespace)),
        MentionLocation::Object {
            kind,
            namespace,
            name,
        } => format!("{} {}/{}", redacted(kind), redacted(namespace), redacted(name)),
    }
}
