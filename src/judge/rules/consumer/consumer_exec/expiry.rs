//! Credentials that expire.

use std::collections::BTreeMap;

use evidence::{CallEvent, Evidence, Kind, MemberCall, MemberCredential, PluginAnswer, api::ClusterProfile};

use crate::{
    rules::consumer::support::{
        testbed::{Play, held_throughout, is_malformed, known, server},
        time::{Micros, end},
    },
    subjects::{Finding, Findings},
    text::redacted,
};

/// Unauthorized.
const REFUSED: u16 = 401;
/// From here on, an answer is a refusal of some kind.
const ACCEPTED_BELOW: u16 = 400;

/// `consumer-exec/expiry-renewed`
///
/// Once a credential has expired, the consumer's requests come with a new one. It may learn that from the member's refusal, and
/// then has as much time as for a change. Requests that began before, such as a watch, are none.
pub(in crate::rules) fn expiry_renewed(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    if play.testbed.consumer.one_shot {
        findings.not_asked(
            "no credential of the consumer is used for long: each piece of its work is a process of its own",
        );
        return;
    }
    findings.nothing_happened("no credential of a member expired");
    let end = end(evidence).unwrap_or(Micros::MAX);
    let mut issued: BTreeMap<&str, Vec<Issued>> = BTreeMap::new();
    for call in play.plugin_calls() {
        if let PluginAnswer::Credential {
            member,
            serial,
            expires: Some(expires),
        } = &call.answer
            && expires.as_microsecond() < end
        {
            issued.entry(member).or_default().push(Issued {
                serial: *serial,
                at: call.at.as_microsecond(),
                expires: expires.as_microsecond(),
            });
        }
    }
    for (member, issued) in issued {
        let uses = Uses::of(&play, member);
        let is_renewed = issued.iter().any(|one| uses.renew(one));
        let stale = issued
            .iter()
            .find_map(|one| Some((one, uses.stale(one, play.settle)?)));
        let Some((one, (first, last))) = stale else {
            if is_renewed {
                findings.examine();
            } else {
                findings.cannot_tell_unless_examined(
                    "the consumer did not call for long enough once a credential had expired",
                );
            }
            continue;
        };
        let span = (first.at.as_microsecond(), last.at.as_microsecond());
        let missed = [Kind::MemberCalls, Kind::PluginCalls]
            .into_iter()
            .find_map(|kind| play.why_missed(kind));
        let subject = play.subjects().iter().find(|subject| {
            let names_it = |profile: &ClusterProfile| {
                let mut entries = known(profile, &play.testbed.consumer);
                entries.any(|entry| server(entry) == last.url && !is_malformed(entry))
            };
            held_throughout(&subject.timeline.while_(names_it), span.0, span.1)
        });
        let Some(subject) = subject else {
            findings.cannot_tell_unless_examined(
                "no profile named the member all the while its credential was refused",
            );
            continue;
        };
        if let Some(why) = missed {
            findings.cannot_tell(why);
            continue;
        }
        if fails(&play, member, (one.at, span.1)) {
            findings
                .cannot_tell_unless_examined("the plugin failed when the consumer needed a new credential");
            continue;
        }
        findings.examine();
        findings.report(
            Finding::on(
                subject.last,
                "the consumer goes on with a credential that has expired",
            )
            .at("status.accessProviders")
            .expected("a request with a new credential")
            .observed(format!(
                "a request to {} at {} with one that was refused since {}",
                redacted(&last.url),
                last.at,
                first.at
            )),
        );
    }
}

/// A credential that expired.
struct Issued {
    serial: u64,
    at: Micros,
    expires: Micros,
}

/// The requests to a member with credentials of its own, in order of time.
#[derive(Default)]
struct Uses<'e> {
    /// By the number of the credential: those that were refused.
    refused: BTreeMap<u64, Vec<&'e MemberCall>>,
    /// When others were accepted, each with the highest number from then on.
    accepted: Vec<(Micros, u64)>,
}

impl<'e> Uses<'e> {
    fn of(play: &Play<'e>, member: &str) -> Self {
        let mut uses = Self::default();
        for call in play.member_calls().filter(|call| call.member == member) {
            let CallEvent::Request {
                credential: MemberCredential::Of { member: of, serial },
                code,
                ..
            } = &call.what
            else {
                continue;
            };
            if of != member {
                continue;
            }
            match *code {
                REFUSED => uses.refused.entry(*serial).or_default().push(call),
                code if code < ACCEPTED_BELOW => uses.accepted.push((call.at.as_microsecond(), *serial)),
                _ => {}
            }
        }
        let mut highest = 0;
        for (_, serial) in uses.accepted.iter_mut().rev() {
            highest = highest.max(*serial);
            *serial = highest;
        }
        uses
    }

    /// The first that was accepted from a moment on, with the highest number from then on.
    fn accepted_from(&self, at: Micros) -> Option<(Micros, u64)> {
        let first = self.accepted.partition_point(|(accepted, _)| *accepted < at);
        self.accepted.get(first).copied()
    }

    /// Whether a later credential was accepted once this one had expired.
    fn renew(&self, one: &Issued) -> bool {
        self.accepted_from(one.expires)
            .is_some_and(|(_, highest)| highest > one.serial)
    }

    /// The first use of an expired credential that was refused, with one that came later than the consumer may take, if the
    /// member accepted nothing in between.
    fn stale(&self, one: &Issued, settle: Micros) -> Option<(&'e MemberCall, &'e MemberCall)> {
        let at = |call: &MemberCall| call.at.as_microsecond();
        let refused = self.refused.get(&one.serial)?;
        let mut refused = refused.iter().copied().filter(|call| at(call) >= one.expires);
        let first = refused.next()?;
        let late = refused.find(|call| at(call).saturating_sub(at(first)) > settle)?;
        let served = self.accepted_from(at(first));
        served
            .is_none_or(|(served, _)| served > at(late))
            .then_some((first, late))
    }
}

/// Whether the plugin failed for a member in a closed span, or hung for anybody: a consumer may wait for that.
fn fails(play: &Play<'_>, member: &str, (from, until): (Micros, Micros)) -> bool {
    let urls = || {
        play.testbed
            .addresses
            .iter()
            .filter(|address| address.member == member)
    };
    let mut calls = play
        .plugin_calls()
        .filter(|call| (from..=until).contains(&call.at.as_microsecond()));
    calls.any(|call| {
        let cluster = call.cluster.as_ref();
        let is_its = cluster.is_none_or(|cluster| urls().any(|address| address.url == cluster.server));
        match call.answer {
            PluginAnswer::Credential { .. } => false,
            PluginAnswer::Hung {} => true,
            PluginAnswer::Failed {} | PluginAnswer::Garbage {} | PluginAnswer::NoMember {} => is_its,
        }
    })
}
