//! Whether a consumer checks whom it talks to.

use evidence::{
    Evidence, MemberCall,
    api::{AccessProvider, ClusterProfile},
};

use crate::{
    shared::consumer::{Play, is_malformed, known, leads_to},
    subjects::{Finding, Findings},
    text::redacted,
};

/// `consumer-access/ca-honoured`
///
/// The consumer talks to no server whose certificate is not of the authority that the profile names.
pub(in crate::rules) fn ca_honoured(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    findings.nothing_happened("no profile was staged that names another authority than the member's");
    let claims = &play.stage.consumer;
    let is_of = |entry: &AccessProvider, ca_data: &str| {
        let named = entry.cluster.certificate_authority_data.as_deref();
        // Without an authority, the system's count.
        named.is_none_or(|named| named == ca_data) || entry.cluster.insecure_skip_tls_verify == Some(true)
    };
    for address in &play.stage.addresses {
        if address.ca_data.is_empty() {
            continue;
        }
        let trusts = |profile: &ClusterProfile| {
            known(profile, claims).any(|entry| leads_to(entry, address) && is_of(entry, &address.ca_data))
        };
        let distrusts = |profile: &ClusterProfile| {
            // What is no certificate at all leads nowhere.
            let mut usable = known(profile, claims).filter(|entry| !is_malformed(entry));
            usable.any(|entry| leads_to(entry, address) && !is_of(entry, &address.ca_data))
        };
        for subject in play.subjects() {
            let held = subject.timeline.while_(distrusts);
            if play.chance(&held).is_none() {
                continue;
            }
            let calls = play.calls_to(&address.url);
            let is_untrusted = |call: &&&MemberCall| !play.may_permit(call.at.as_microsecond(), trusts);
            let mut untrusted = calls.iter().filter(is_untrusted);
            if let Some(call) = untrusted.clone().find(|call| call.was_trusted()) {
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
            } else if untrusted.next().is_some() {
                findings.examine();
            } else {
                findings.cannot_tell(format!(
                    "the consumer never tried to reach {}, whose certificate is of another authority",
                    redacted(&address.url)
                ));
            }
        }
    }
}
