//! Whether a consumer goes by the proxy that a profile names.

use std::collections::BTreeSet;

use evidence::{
    CallEvent, Evidence, Kind, MemberCall,
    api::{
        AccessProvider, ClusterProfile,
        address::{Schemes, url_fault},
    },
};

use crate::{
    rules::consumer::support::{
        testbed::{Play, inviting, is_plain, is_way_to, known, proxy, server},
        time::Micros,
    },
    subjects::{Finding, Findings},
    text::{counted, listed, redacted},
};

/// `consumer-access/proxy-honoured`
///
/// Where a profile names a proxy, the consumer asks it for each way to the member. The proxy leads on, so that the member sees
/// no more connections than ways were asked for.
pub(in crate::rules) fn proxy_honoured(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    findings.nothing_happened("no profile was staged that names a proxy");
    let claims = &play.testbed.consumer;
    let is_behind = |profile: &ClusterProfile| inviting(profile, claims).any(names_proxy);
    for subject in play.subjects() {
        let entries = play
            .versions_of(subject)
            .flat_map(|profile| known(profile, claims));
        let named = entries.filter(|entry| names_proxy(entry));
        let urls: BTreeSet<&str> = named.map(server).collect();
        let chance = play.chance(&subject.timeline.while_(is_behind));
        let (own, shared): (BTreeSet<&str>, BTreeSet<&str>) = urls
            .iter()
            .copied()
            .partition(|url| !play.is_shared(subject, url));
        if !shared.is_empty() {
            findings.cannot_tell("another profile has the server of the one that names a proxy");
        }
        let trips: Vec<Trips<'_>> = own.iter().map(|url| Trips::of(&play, url)).collect();
        let ways: usize = trips.iter().map(|trips| trips.ways).sum();
        let around = trips.iter().find_map(|trips| {
            Some((
                trips,
                trips.bound.first().filter(|_| trips.bound.len() > trips.ways)?,
            ))
        });
        let proxies: BTreeSet<&str> = trips
            .iter()
            .flat_map(|trips| trips.proxies.iter().copied())
            .collect();
        let finding = |message: &str| {
            Finding::on(subject.last, message)
                .at("status.accessProviders[].cluster.proxy-url")
                .expected(format!("each way asked of {}", listed(&proxies)))
        };
        if let Some((trips, first)) = around {
            // A gap may hide that the proxy was asked.
            if let Some(why) = play.why_missed(Kind::MemberCalls) {
                findings.cannot_tell(why);
                continue;
            }
            findings.examine();
            findings.report(finding("the consumer goes around the proxy").observed(format!(
                "{} to {}, the first at {}, and {} asked of the proxy",
                counted(trips.bound.len(), "connection"),
                redacted(trips.url),
                first.at,
                counted(trips.ways, "way")
            )));
            continue;
        }
        if ways > 0 {
            findings.examine();
            continue;
        }
        let Some((_, until)) = chance.filter(|_| !own.is_empty()) else {
            continue;
        };
        let mut at_proxies = proxies.iter().flat_map(|proxy| play.calls_to(proxy));
        let is_broken = at_proxies.any(|call| matches!(call.what, CallEvent::Failed { .. }));
        match play.set_out_for(&own, (Micros::MIN, until)) {
            Ok(false) if !is_broken && subject.is_seen_from_its_creation() => {
                findings.examine();
                findings.report(finding("the consumer calls no member behind a proxy").observed("no call"));
            }
            Ok(_) => findings.cannot_tell(
                "the consumer set out for a member behind a proxy, and never came as far as that",
            ),
            Err(why) => findings.cannot_tell(why),
        }
    }
}

/// How the consumer came to a server.
struct Trips<'e> {
    url: &'e str,
    /// The proxies that profiles ever named for it.
    proxies: BTreeSet<&'e str>,
    /// How many ways to it were asked of them.
    ways: usize,
    /// The connections to it that had to come by one of them.
    bound: Vec<&'e MemberCall>,
}

impl<'e> Trips<'e> {
    fn of(play: &Play<'e>, url: &'e str) -> Self {
        let entries = play.versions().flat_map(ClusterProfile::access);
        let named = entries.filter(|entry| server(entry) == url);
        let proxies: BTreeSet<&str> = named.filter_map(proxy).collect();
        let ways = play.member_calls().filter(|call| {
            let is_way = matches!(&call.what, CallEvent::Proxied { host } if is_way_to(url, host));
            is_way && proxies.contains(&*call.url)
        });
        // Without a word on a proxy, or with one that not each client knows, the way is open.
        let is_open = |profile: &ClusterProfile| {
            let mut entries = profile.access();
            entries.any(|entry| server(entry) == url && !names_proxy(entry))
        };
        let names_it = |profile: &ClusterProfile| {
            let mut entries = profile.access();
            entries.any(|entry| server(entry) == url)
        };
        let is_bound = |call: &&MemberCall| {
            let at = call.at.as_microsecond();
            let said = |what: &dyn Fn(&ClusterProfile) -> bool| {
                let mut subjects = play.subjects().iter();
                subjects.any(|subject| play.may_have_said(subject, at, what))
            };
            said(&names_it) && !said(&is_open)
        };
        Self {
            url,
            ways: ways.count(),
            bound: play.connections_to(url).filter(is_bound).collect(),
            proxies,
        }
    }
}

/// Whether a client that uses an entry asks an HTTP proxy for a way.
fn names_proxy(entry: &AccessProvider) -> bool {
    let is_known = |proxy| url_fault(proxy, Schemes::Of(&["https", "http"])).is_none();
    !server(entry).is_empty() && !is_plain(entry) && proxy(entry).is_some_and(is_known)
}
