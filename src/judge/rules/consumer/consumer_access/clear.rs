//! Credentials without TLS.

use std::collections::BTreeSet;

use evidence::{CallEvent, Evidence, MemberCall, MemberCredential, api::ClusterProfile};

use crate::{
    rules::consumer::support::testbed::{Play, is_plain, known, server},
    subjects::{Finding, Findings},
    text::redacted,
};

/// `consumer-access/no-token-in-the-clear`
///
/// Where a profile names a server without TLS, the consumer sends no credential there. No document refuses such a server, and it
/// has its place in development: what is found is a hint.
pub(in crate::rules) fn no_token_in_the_clear(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    findings.nothing_happened("no profile was staged whose server has no TLS");
    let claims = &play.testbed.consumer;
    let is_served = |url: &str| play.testbed.addresses.iter().any(|address| address.url == url);
    for subject in play.subjects() {
        let entries = play
            .versions_of(subject)
            .flat_map(|profile| known(profile, claims));
        let plain = entries.filter(|entry| is_plain(entry));
        let urls: BTreeSet<&str> = plain.map(server).filter(|url| is_served(url)).collect();
        let calls = play.calls_to_any(&urls);
        // Where a redirect leads, the client follows.
        let sent = calls.filter(|call| {
            let names_it =
                |profile: &ClusterProfile| known(profile, claims).any(|entry| server(entry) == call.url);
            has_credential(call) && play.may_have_said(subject, call.at.as_microsecond(), names_it)
        });
        if let Some(call) = sent.min_by_key(|call| call.at) {
            findings.examine();
            findings.report(
                Finding::on(subject.last, "the consumer sends a credential without TLS")
                    .at("status.accessProviders[].cluster.server")
                    .expected("no credential for a server without TLS")
                    .observed(format!(
                        "a request to {} with a credential at {}",
                        redacted(&call.url),
                        call.at
                    ))
                    .advisory(),
            );
            continue;
        }
        let names_one =
            |profile: &ClusterProfile| known(profile, claims).any(|entry| urls.contains(server(entry)));
        if play.chance(&subject.timeline.while_(names_one)).is_some() {
            findings.examine();
        }
    }
}

fn has_credential(call: &MemberCall) -> bool {
    let CallEvent::Request { credential, .. } = &call.what else {
        return false;
    };
    *credential != MemberCredential::None
}
