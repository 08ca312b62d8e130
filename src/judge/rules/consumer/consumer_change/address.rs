//! Where a member moves.

use std::collections::BTreeSet;

use evidence::{
    Evidence, Kind, MemberCall,
    api::{AccessProvider, ClusterProfile},
};

use crate::{
    rules::consumer::support::{
        testbed::{Play, call_in_words, comes_back_within, is_malformed, known, server, trusts},
        time::{Micros, Set},
    },
    subjects::{Finding, Findings},
    text::redacted,
};

/// So many times what a consumer may take for a new profile, it may take for a change.
const SLOW: Micros = 6;

/// `consumer-change/address-followed`
///
/// When a profile names another server, the consumer calls that one, and the old one no longer. A request that began before is
/// none. What changed while the consumer was stopped is the subject of another rule.
pub(in crate::rules) fn address_followed(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    findings.nothing_happened("no profile was staged whose server changes");
    let claims = &play.testbed.consumer;
    let servers = |profile| servers(&play, profile);
    for subject in play.subjects() {
        let runs = subject.timeline.runs().iter();
        let runs = runs.filter_map(|run| Some((servers(run.version()?), run.from)));
        let mut named: Vec<_> = runs.filter(|(servers, _)| !servers.is_empty()).collect();
        named.dedup_by(|(next, _), (servers, _)| next == servers);
        for (place, pair) in named.windows(2).enumerate() {
            let [(before, _), (new, edge)] = pair else {
                continue;
            };
            let old: BTreeSet<&str> = before.difference(new).copied().collect();
            let since = Set::of([(edge.latest, Micros::MAX)]);
            let chance = |holds: &dyn Fn(&ClusterProfile) -> bool| {
                let held = subject
                    .timeline
                    .while_(|profile| servers(profile) == *new && holds(profile));
                play.chance(&held.without(&since.not()))
            };
            if old.is_empty() || play.may_have_missed(*edge) || chance(&|_| true).is_none() {
                continue;
            }
            let next = named.get(place + 2);
            let next = next.map_or(Micros::MAX, |(_, edge)| edge.earliest);
            let finding = |message: &str| {
                let expected: Vec<String> = new.iter().map(|url| redacted(url)).collect();
                Finding::on(subject.last, message)
                    .at("status.accessProviders[].cluster.server")
                    .expected(expected.join(" or "))
            };
            let calls = play.calls_to_any(&old);
            let (mut earlier, later): (Vec<&MemberCall>, Vec<&MemberCall>) =
                calls.partition(|call| call.at.as_microsecond() <= edge.latest);
            let stale = later.iter().copied().filter(|call| {
                let at = call.at.as_microsecond();
                at < next && !play.permits(at, &call.url)
            });
            if let Some(call) = stale.clone().min_by_key(|call| call.at) {
                findings.examine();
                let message = "the consumer calls a server that the profile no longer names";
                let finding = finding(message).observed(call_in_words(call));
                // One that is slower with changes than with new profiles follows in the end.
                let slow = edge.latest.saturating_add(play.settle.saturating_mul(SLOW));
                let is_slow = stale.clone().all(|call| call.at.as_microsecond() <= slow);
                findings.report(if is_slow { finding.advisory() } else { finding });
                continue;
            }
            // A consumer may have a reason to leave the member alone.
            let Some((_, until)) = chance(&|profile| play.invites(profile)) else {
                continue;
            };
            let is_trusted =
                |profile: &ClusterProfile| known(profile, claims).all(|entry| leads_on(&play, entry));
            let is_refused = || {
                let span = chance(&is_trusted);
                span.is_some_and(|(from, until)| {
                    fail(&play, new, (from, until)) && !reaches(&play, new, (edge.earliest, until))
                })
            };
            let own = old.iter().filter(|url| !play.is_shared(subject, url));
            let own: BTreeSet<&str> = own.copied().collect();
            earlier.retain(|call| own.contains(&*call.url));
            let unfollowed = match play.set_out_for(new, (edge.earliest, until)) {
                _ if earlier.is_empty() => {
                    findings.cannot_tell("the consumer never called the member whose server changed");
                    continue;
                }
                Ok(true) => is_refused().then_some("connections that failed"),
                Ok(false) if !comes_back_within(until.saturating_sub(edge.earliest), &play, &earlier) => {
                    findings.cannot_tell(
                        "the consumer called the member whose server changed at first only, or less often than the run waited",
                    );
                    continue;
                }
                Ok(false) => Some("no call"),
                Err(why) => {
                    findings.cannot_tell(why);
                    continue;
                }
            };
            findings.examine();
            if let Some(observed) = unfollowed {
                let message = "the consumer does not follow the member to its new server";
                findings.report(finding(message).observed(observed));
            }
        }
    }
}

/// The servers that the consumer may use.
fn servers<'p>(play: &Play<'_>, profile: &'p ClusterProfile) -> BTreeSet<&'p str> {
    let usable = known(profile, &play.testbed.consumer).filter(|entry| !is_malformed(entry));
    usable.map(server).filter(|url| !url.is_empty()).collect()
}

/// Whether a client that uses an entry trusts all that answers at its server.
fn leads_on(play: &Play<'_>, entry: &AccessProvider) -> bool {
    let addresses = play.testbed.addresses.iter();
    let mut addresses = addresses.filter(|address| address.url == server(entry));
    addresses.all(|address| trusts(entry, &address.ca_data))
}

/// Whether the consumer reached one of these servers in a closed span.
fn reaches(play: &Play<'_>, urls: &BTreeSet<&str>, (from, until): (Micros, Micros)) -> bool {
    let mut calls = play.calls_to_any(urls);
    calls.any(|call| call.was_trusted() && (from..=until).contains(&call.at.as_microsecond()))
}

/// Whether all connections to these servers failed in a closed span, and there were some.
fn fail(play: &Play<'_>, urls: &BTreeSet<&str>, (from, until): (Micros, Micros)) -> bool {
    let calls = play.calls_to_any(urls);
    let mut calls = calls
        .filter(|call| (from..=until).contains(&call.at.as_microsecond()))
        .peekable();
    let is_whole = play.evidence.is_whole(Kind::MemberCalls);
    is_whole && calls.peek().is_some() && calls.all(|call| !call.was_trusted())
}
