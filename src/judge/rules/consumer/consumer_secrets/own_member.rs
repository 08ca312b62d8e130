//! Where credentials go.

use std::collections::BTreeSet;

use evidence::{CallEvent, Evidence, MemberAddress, MemberCredential};

use crate::{
    rules::consumer::support::testbed::Play,
    subjects::{Finding, Findings},
    text::redacted,
};

/// With one member, no credential can go to another.
const ENOUGH: usize = 2;

/// `consumer-secrets/credential-to-its-member-only`
///
/// The credential of a member goes to no other member.
pub(in crate::rules) fn credential_to_its_member_only(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    let mut served = BTreeSet::new();
    let mut told = BTreeSet::new();
    for call in play.member_calls() {
        let CallEvent::Request {
            credential: MemberCredential::Of { member, .. },
            ..
        } = &call.what
        else {
            continue;
        };
        if *member == call.member {
            served.insert(member);
            continue;
        }
        // Without a server name that leads to a member, the call reached none; whose address it is counts.
        let mut addresses = play.testbed.addresses.iter();
        let is_its = |address: &MemberAddress| address.url == call.url && address.member == *member;
        if call.member.is_empty() && addresses.any(is_its) {
            continue;
        }
        findings.examine();
        if !told.insert((member, &call.member)) {
            continue;
        }
        let object = play
            .subject_of(member)
            .or(play.subjects().first())
            .map(|subject| subject.last);
        let Some(object) = object else { continue };
        findings.report(
            Finding::on(object, "a member's credential goes to another one")
                .at("status.accessProviders")
                .expected(format!(
                    "the credential of {} for its member only",
                    redacted(member)
                ))
                .observed(format!(
                    "a request to {} with it at {}",
                    redacted(&call.url),
                    call.at
                )),
        );
    }
    if served.len() >= ENOUGH {
        findings.examine();
    } else {
        findings
            .cannot_tell_unless_found("the consumer called fewer than two members with their credentials");
    }
}
