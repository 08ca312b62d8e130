//! Which access provider a consumer takes.

use std::collections::BTreeSet;

use evidence::{Evidence, api::ClusterProfile};

use crate::{
    rules::consumer::support::{
        testbed::{Play, expect_call, known, server, unknown},
        time::Micros,
    },
    subjects::{Finding, Findings},
    text::{listed, redacted},
};

/// `consumer-access/picks-known-provider`
///
/// Of several access providers the consumer takes one that it has a plugin for: it calls that one's server, and never the
/// server of another one.
pub(in crate::rules) fn picks_known_provider(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    findings.nothing_happened(
        "no profile was staged that has a provider unknown to the consumer beside a known one",
    );
    let claims = &play.testbed.consumer;
    let has_both = |profile: &ClusterProfile| {
        known(profile, claims).next().is_some() && unknown(profile, claims).next().is_some()
    };
    // A consumer may have a reason to take none.
    let invites =
        |profile: &ClusterProfile| play.invites(profile) && unknown(profile, claims).next().is_some();
    for subject in play.subjects() {
        if play.chance(&subject.timeline.while_(has_both)).is_none() {
            continue;
        }
        let (mut right, mut names, mut wrong) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for profile in play.versions_of(subject).filter(|profile| has_both(profile)) {
            for entry in known(profile, claims) {
                right.insert(server(entry));
                names.insert(&*entry.name);
            }
            wrong.extend(unknown(profile, claims).map(|entry| (server(entry), &*entry.name)));
        }
        let finding = |message: &str| {
            Finding::on(subject.last, message)
                .at("status.accessProviders")
                .expected(format!("calls of the server of {}", listed(&names)))
        };
        let mut taken = wrong.iter().filter_map(|(url, name)| {
            let mut calls = play.calls_to(url).iter();
            let call = calls.find(|call| !play.permits(call.at.as_microsecond(), url))?;
            Some((name, call))
        });
        if let Some((name, call)) = taken.next() {
            findings.examine();
            let observed = format!(
                "a call of {}, the server of {}, at {}",
                redacted(&call.url),
                redacted(name),
                call.at
            );
            let message = "the consumer takes a provider that it has no plugin for";
            findings.report(finding(message).observed(observed));
            continue;
        }
        let Some((_, until)) = play.chance(&subject.timeline.while_(invites)) else {
            continue;
        };
        // A client goes on with connections from before.
        expect_call(play.set_out_for(&right, (Micros::MIN, until)), findings, || {
            finding("the consumer takes none of the providers").observed("no call")
        });
    }
}
