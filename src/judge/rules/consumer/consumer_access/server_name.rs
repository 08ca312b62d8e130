//! Whether a consumer asks for the server that a profile names.

use std::collections::BTreeSet;

use evidence::{
    Evidence, MemberCall,
    api::{AccessProvider, ClusterProfile},
};

use crate::{
    shared::consumer::{Play, known, server},
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
    let claims = &play.stage.consumer;
    let name_of = |entry: &AccessProvider| entry.cluster.tls_server_name.clone();
    let has_name = |profile: &ClusterProfile| {
        known(profile, claims).any(|entry| name_of(entry).is_some() && !server(entry).is_empty())
    };
    for subject in play.subjects() {
        if play.chance(&subject.timeline.while_(has_name)).is_none() {
            continue;
        }
        let entries = play
            .versions_of(subject)
            .flat_map(|profile| known(profile, claims));
        let named = entries.filter(|entry| name_of(entry).is_some());
        let urls: BTreeSet<&str> = named.map(server).collect();
        let calls = urls.iter().flat_map(|url| play.calls_to(url));
        let asks_rightly = |call: &MemberCall| {
            let name = call.server_name.as_deref();
            play.may_permit(call.at.as_microsecond(), |profile| {
                known(profile, claims).any(|entry| {
                    server(entry) == call.url
                        && match name_of(entry) {
                            Some(wanted) => Some(&*wanted) == name,
                            // The host of the URL, or nothing for an address.
                            None => true,
                        }
                })
            })
        };
        let mut was_called = false;
        let mut wrong = None;
        for call in calls {
            was_called = true;
            if wrong.is_none() && !asks_rightly(call) {
                wrong = Some(*call);
            }
        }
        match wrong {
            Some(call) => {
                findings.examine();
                let names = play
                    .versions_of(subject)
                    .flat_map(|profile| known(profile, claims));
                let names: BTreeSet<String> = names.filter_map(name_of).map(|name| redacted(&name)).collect();
                let names: Vec<String> = names.into_iter().collect();
                findings.report(
                    Finding::on(subject.last, "the consumer drops the server name for TLS")
                        .at("status.accessProviders[].cluster.tls-server-name")
                        .expected(names.join(" or "))
                        .observed(format!(
                            "{} in a connection to {} at {}",
                            call.server_name.as_deref().map_or(ABSENT.to_owned(), redacted),
                            redacted(&call.url),
                            call.at
                        )),
                );
            }
            None if was_called => findings.examine(),
            None => {
                findings.cannot_tell("the consumer never tried to reach a member with a server name for TLS")
            }
        }
    }
}
