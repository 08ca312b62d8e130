//! What a consumer does where a profile names no way.

use std::collections::BTreeSet;

use evidence::{
    Evidence,
    api::{AccessProvider, ClusterProfile},
};
use jiff::Timestamp;

use crate::{
    rules::consumer::support::testbed::{Play, call_in_words, known, server, unknown},
    subjects::{Finding, Findings},
    text::redacted,
};

/// `consumer-access/no-guess`
///
/// Where a profile has no provider that the consumer has a plugin for, or one without a server, the consumer calls nobody
/// and runs no plugin for it.
pub(in crate::rules) fn no_guess(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    let claims = &play.testbed.consumer;
    if claims.providers.is_empty() {
        findings.not_asked("nobody said which access providers the consumer has a plugin for");
        return;
    }
    if claims.fallback.is_some() {
        findings.not_asked("the consumer has a way of its own to members without a known provider");
        return;
    }
    findings.nothing_happened("no profile was staged without a provider that the consumer knows");
    let has_none = |profile: &ClusterProfile| known(profile, claims).all(|entry| server(entry).is_empty());
    let known_entries = || play.versions().flat_map(|profile| known(profile, claims));
    let proxies = known_entries().filter_map(|entry| entry.cluster.proxy_url.as_deref());
    let named: BTreeSet<&str> = known_entries().map(server).chain(proxies).collect();
    for subject in play.subjects() {
        let held = subject.timeline.while_(has_none);
        if play.chance(&held).is_none() {
            continue;
        }
        findings.examine();
        let finding = |observed: String| {
            Finding::on(subject.last, "the consumer guesses how to reach the member")
                .at("status.accessProviders")
                .expected("no call without a known provider and its server")
                .observed(observed)
        };
        let name = &*subject.last.metadata.name;
        let addresses = play.testbed.addresses.iter();
        let is_whole = subject.is_seen_from_its_creation();
        let own =
            addresses.filter(|address| is_whole && address.member == name && !named.contains(&*address.url));
        let others = play
            .versions_of(subject)
            .flat_map(|profile| unknown(profile, claims).map(server));
        // A provider beside a known one is the subject of `picks-known-provider`.
        let others = others.filter(|url| !named.contains(url));
        let urls: BTreeSet<&str> = own.map(|address| &*address.url).chain(others).collect();
        let is_its = |at: Timestamp| play.may_have_said(subject, at.as_microsecond(), has_none);
        let calls = play.calls_to_any(&urls);
        let calls = calls.filter(|call| is_its(call.at));
        if let Some(call) = calls.min_by_key(|call| call.at) {
            findings.report(finding(call_in_words(call)));
            continue;
        }
        let own_entries = || {
            play.versions_of(subject)
                .flat_map(|profile| known(profile, claims))
        };
        // Without the cluster, a call does not tell for which one it is.
        let mut runs = play
            .plugin_calls()
            .filter_map(|run| Some((run, run.cluster.as_ref()?)));
        let guessed = runs.find(|(run, cluster)| {
            let is_entrys = |entry: &AccessProvider| play.is_call_of(run, entry);
            let is_its_guess = match &*cluster.server {
                "" => own_entries().any(is_entrys) || !known_entries().any(is_entrys),
                url => urls.contains(url),
            };
            is_its_guess && is_its(run.at)
        });
        if let Some((run, cluster)) = guessed {
            let server = match &*cluster.server {
                "" => "without a server".to_owned(),
                server => format!("for {}", redacted(server)),
            };
            findings.report(finding(format!(
                "a call of the plugin of {} {server} at {}",
                redacted(&run.provider),
                run.at
            )));
        }
    }
}
