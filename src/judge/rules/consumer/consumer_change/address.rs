//! Where a member moves.

use std::collections::BTreeSet;

use evidence::{Evidence, Kind, MemberCall, api::ClusterProfile};

use crate::{
    shared::consumer::{Play, is_malformed, known, server},
    subjects::{Finding, Findings},
    text::redacted,
};

/// `consumer-change/address-followed`
///
/// When a profile names another server, the consumer calls that one, and the old one no longer. A request that began before is
/// none.
pub(in crate::rules) fn address_followed(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    findings.nothing_happened("no profile was staged whose server changes");
    let claims = &play.stage.consumer;
    let servers = |profile: &ClusterProfile| -> BTreeSet<String> {
        let usable = known(profile, claims).filter(|entry| !is_malformed(entry));
        let urls = usable.map(server).filter(|url| !url.is_empty());
        urls.map(str::to_owned).collect()
    };
    for subject in play.subjects() {
        let mut sets: Vec<BTreeSet<String>> = play.versions_of(subject).map(servers).collect();
        sets.dedup();
        let Some(new) = sets.last().filter(|new| sets.len() > 1 && !new.is_empty()) else {
            continue;
        };
        let held = subject.timeline.while_(|profile| servers(profile) == *new);
        let Some(span) = play.chance(&held) else { continue };
        let old: BTreeSet<&String> = sets.iter().flatten().filter(|url| !new.contains(*url)).collect();
        if old.is_empty() {
            continue;
        }
        // A consumer that never called this member need not begin now.
        let was_called = old.iter().any(|url| !play.calls_to(url).is_empty());
        let finding = |message: &str| {
            Finding::on(subject.last, message)
                .at("status.accessProviders[].cluster.server")
                .expected(
                    new.iter()
                        .map(|url| redacted(url))
                        .collect::<Vec<_>>()
                        .join(" or "),
                )
        };
        let is_stale = |call: &&&MemberCall| !play.permits(call.at.as_microsecond(), &call.url);
        let calls = old.iter().flat_map(|url| play.calls_to(url)).filter(is_stale);
        if let Some(call) = calls.min_by_key(|call| call.at) {
            findings.examine();
            let observed = format!("a call of {} at {}", redacted(&call.url), call.at);
            findings.report(
                finding("the consumer calls a server that the profile no longer names").observed(observed),
            );
            continue;
        }
        if !was_called {
            findings.cannot_tell("the consumer never called the member whose server changed");
            continue;
        }
        let mut calls = new.iter().flat_map(|url| play.calls_to(url));
        if calls.any(|call| call.was_trusted() && call.at.as_microsecond() <= span.1) {
            findings.examine();
        } else if evidence.is_whole(Kind::MemberCalls) {
            findings.examine();
            findings.report(
                finding("the consumer does not follow the member to its new server").observed("no call"),
            );
        } else {
            findings.cannot_tell(play.why_missed(Kind::MemberCalls));
        }
    }
}
