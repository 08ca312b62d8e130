//! What a consumer does where a profile names no way.

use std::collections::BTreeSet;

use evidence::{Evidence, api::ClusterProfile};

use crate::{
    shared::consumer::{Play, known, server, unknown},
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
    let claims = &play.stage.consumer;
    if claims.fallback.is_some() {
        findings.not_asked("the consumer has a way of its own to members without a known provider");
        return;
    }
    findings.nothing_happened("no profile was staged without a provider that the consumer knows");
    let has_none = |profile: &ClusterProfile| known(profile, claims).all(|entry| server(entry).is_empty());
    let named: BTreeSet<&str> = play
        .versions()
        .flat_map(|profile| known(profile, claims).map(server))
        .collect();
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
        let addresses = play.stage.addresses.iter();
        let own = addresses.filter(|address| address.member == name && !named.contains(&*address.url));
        let others = play
            .versions_of(subject)
            .flat_map(|profile| unknown(profile, claims).map(server));
        // A provider beside a known one is the subject of `picks-known-provider`.
        let others = others.filter(|url| !named.contains(url));
        let urls: BTreeSet<&str> = own.map(|address| &*address.url).chain(others).collect();
        let call = urls
            .iter()
            .filter_map(|url| play.calls_to(url).first())
            .min_by_key(|call| call.at);
        if let Some(call) = call {
            findings.report(finding(format!(
                "a call of {} at {}",
                redacted(&call.url),
                call.at
            )));
            continue;
        }
        let mut runs = play.plugin_calls().filter(|call| {
            let url = call.cluster.as_ref().map_or("", |cluster| &*cluster.server);
            url.is_empty() || urls.contains(url)
        });
        let is_its = |at| play.may_have_said(subject, at, has_none);
        if let Some(run) = runs.find(|run| is_its(run.at.as_microsecond())) {
            findings.report(finding(format!(
                "a call of the plugin of {} without a server at {}",
                redacted(&run.provider),
                run.at
            )));
        }
    }
}
