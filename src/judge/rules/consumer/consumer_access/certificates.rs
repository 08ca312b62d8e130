//! Whether a consumer checks whom it talks to.

use evidence::{
    Evidence, MemberAddress,
    api::{AccessProvider, ClusterProfile},
};

use crate::{
    rules::consumer::support::testbed::{Play, is_malformed, known, may_ask_for, server, trusts},
    subjects::{Finding, Findings},
    text::redacted,
};

/// `consumer-access/ca-honoured`
///
/// The consumer makes no connection to a server whose certificate is not of the authority that the profile names.
pub(in crate::rules) fn ca_honoured(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    findings.nothing_happened("no profile was staged that names another authority than the member's");
    let claims = &play.testbed.consumer;
    for address in &play.testbed.addresses {
        if address.ca_data.is_empty() {
            continue;
        }
        let names = |entry: &AccessProvider| leads_to(entry, address);
        let trusts = |entry: &AccessProvider| trusts(entry, &address.ca_data);
        let distrusts = |entry: &AccessProvider| names(entry) && !trusts(entry);
        let says_so = |profile: &ClusterProfile| known(profile, claims).any(distrusts);
        // An authority that is no certificate is a reason not to try at all.
        let to_try = |profile: &ClusterProfile| {
            known(profile, claims).any(|entry| distrusts(entry) && !is_malformed(entry))
        };
        for subject in play.subjects() {
            if play.chance(&subject.timeline.while_(says_so)).is_none() {
                continue;
            }
            let connections = play.connections_to(&address.url).filter(|connection| {
                let at = connection.at.as_microsecond();
                connection.member == address.member
                    && play.may_have_said(subject, at, says_so)
                    && play.is_against(at, names, trusts)
            });
            let connections: Vec<_> = connections.collect();
            if let Some(call) = connections.iter().find(|call| call.was_trusted()) {
                findings.examine();
                findings.report(
                    Finding::on(
                        subject.last,
                        "the consumer talks to a server of another authority",
                    )
                    .at("status.accessProviders[].cluster.certificate-authority-data")
                    .expected("no connection: the certificate is of another authority")
                    .observed(format!(
                        "a connection to {} at {}",
                        redacted(&call.url),
                        call.at
                    )),
                );
            } else if !connections.is_empty() {
                findings.examine();
            } else if play.versions_of(subject).any(to_try) {
                findings.cannot_tell(format!(
                    "the consumer never tried to reach {}, whose certificate is of another authority",
                    redacted(&address.url)
                ));
            }
        }
    }
}

/// Whether a client that uses an entry comes out at an address. Several members may have one URL, told apart by server name.
fn leads_to(entry: &AccessProvider, address: &MemberAddress) -> bool {
    let name = address.server_name.as_deref();
    server(entry) == address.url && name.is_none_or(|name| may_ask_for(entry, Some(name)))
}
