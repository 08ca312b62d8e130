//! Whether a consumer asks for the server that a profile names.

use std::collections::BTreeSet;

use evidence::{Evidence, MemberCall, api::AccessProvider};

use crate::{
    rules::consumer::support::testbed::{Play, known, may_ask_for, server, tls_name},
    subjects::{Finding, Findings},
    text::{ABSENT, redacted},
};

/// `consumer-access/tls-server-name-honoured`
///
/// Where a profile names a server name for TLS, the consumer's connections ask for it.
pub(in crate::rules) fn tls_server_name_honoured(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    findings.nothing_happened("no profile was staged with a server name for TLS");
    let claims = &play.testbed.consumer;
    let is_named = |entry: &AccessProvider| tls_name(entry).is_some() && !server(entry).is_empty();
    for subject in play.subjects() {
        let has_name = |profile| known(profile, claims).any(is_named);
        if play.chance(&subject.timeline.while_(has_name)).is_none() {
            continue;
        }
        let entries = play
            .versions_of(subject)
            .flat_map(|profile| known(profile, claims));
        let named: Vec<&AccessProvider> = entries.filter(|entry| is_named(entry)).collect();
        let urls: BTreeSet<&str> = named.iter().map(|entry| server(entry)).collect();
        let connections: Vec<_> = urls.iter().flat_map(|url| play.connections_to(url)).collect();
        let asks = |entry: &AccessProvider, call: &MemberCall| {
            server(entry) == call.url && may_ask_for(entry, call.server_name.as_deref())
        };
        let is_asked = connections
            .iter()
            .any(|call| named.iter().any(|entry| asks(entry, call)));
        let wrong = connections.into_iter().find(|call| {
            // A connection may end before it asks for anything.
            let is_told = call.server_name.is_some() || call.was_trusted() || !is_asked;
            let at = call.at.as_microsecond();
            let is_its = play.may_have_said(subject, at, |profile| {
                known(profile, claims).any(|entry| is_named(entry) && server(entry) == call.url)
            });
            is_told
                && is_its
                && play.is_against(at, |entry| server(entry) == call.url, |entry| asks(entry, call))
        });
        if let Some(call) = wrong {
            findings.examine();
            let names = named.iter().filter_map(|entry| tls_name(entry));
            let names: BTreeSet<String> = names.map(redacted).collect();
            findings.report(
                Finding::on(subject.last, "the consumer drops the server name for TLS")
                    .at("status.accessProviders[].cluster.tls-server-name")
                    .expected(Vec::from_iter(names).join(" or "))
                    .observed(format!(
                        "{} in a connection to {} at {}",
                        call.server_name.as_deref().map_or(ABSENT.to_owned(), redacted),
                        redacted(&call.url),
                        call.at
                    )),
            );
        } else if is_asked {
            findings.examine();
        } else {
            findings.cannot_tell("the consumer never tried to reach a member with a server name for TLS");
        }
    }
}
