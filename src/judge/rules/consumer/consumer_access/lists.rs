//! Which of two lists a consumer reads.

use std::collections::BTreeSet;

use evidence::{
    ConsumerSpec, Evidence,
    api::{AccessProvider, ClusterProfile},
};

use crate::{
    rules::consumer::support::{
        testbed::{Play, is_malformed, server},
        time::Micros,
    },
    subjects::{Finding, Findings},
    text::redacted,
};

/// `consumer-access/list-by-version`
///
/// Where a provider is in `accessProviders` and in the deprecated list, with two servers, the consumer connects to that of the
/// first list. Whether it reads the deprecated list alone is its own affair.
pub(in crate::rules) fn list_by_version(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    findings.nothing_happened("no profile was staged that has a provider in both lists, with two servers");
    let claims = &play.testbed.consumer;
    let is_in_both =
        |profile: &ClusterProfile| play.is_selected(profile) && replaced(profile, claims).next().is_some();
    for subject in play.subjects() {
        let pairs = play
            .versions_of(subject)
            .flat_map(|profile| replaced(profile, claims));
        let pairs: Vec<(&AccessProvider, &AccessProvider)> = pairs.collect();
        let old: BTreeSet<&str> = pairs.iter().map(|(old, _)| server(old)).collect();
        let new: BTreeSet<&str> = pairs.iter().map(|(_, new)| server(new)).collect();
        let connections = old.iter().flat_map(|url| play.connections_to(url));
        let wrong = connections.filter(|call| {
            let at = call.at.as_microsecond();
            let is_replaced =
                |profile: &ClusterProfile| replaced(profile, claims).any(|(old, _)| server(old) == call.url);
            play.may_have_said(subject, at, is_replaced) && !is_named_otherwise(&play, at, &call.url)
        });
        if let Some(call) = wrong.min_by_key(|call| call.at) {
            findings.examine();
            let expected: Vec<String> = new.iter().map(|url| redacted(url)).collect();
            findings.report(
                Finding::on(
                    subject.last,
                    "the consumer takes the deprecated entry of a provider",
                )
                .at("status.credentialProviders[].cluster.server")
                .expected(expected.join(" or "))
                .observed(format!("a connection to {} at {}", redacted(&call.url), call.at)),
            );
            continue;
        }
        let Some((_, until)) = play.chance(&subject.timeline.while_(is_in_both)) else {
            continue;
        };
        let own = new.iter().filter(|url| !play.is_shared(subject, url));
        match play.set_out_for(&own.copied().collect(), (Micros::MIN, until)) {
            Ok(true) => findings.examine(),
            Ok(false) => {
                findings.cannot_tell("the run saw no call of a member whose provider is in both lists")
            }
            Err(why) => findings.cannot_tell(why),
        }
    }
}

/// The deprecated entries of providers that the consumer has a plugin for, each with the usable one that takes its place at
/// another server.
fn replaced<'p>(
    profile: &'p ClusterProfile,
    claims: &ConsumerSpec,
) -> impl Iterator<Item = (&'p AccessProvider, &'p AccessProvider)> {
    let deprecated = profile.status.credential_providers.iter();
    deprecated.filter_map(|old| {
        let mut entries = profile.status.access_providers.iter();
        let new = entries.find(|entry| entry.name == old.name)?;
        let is_used = claims.providers.contains(&*new.name) && !server(new).is_empty() && !is_malformed(new);
        (is_used && !server(old).is_empty() && server(old) != server(new)).then_some((old, new))
    })
}

/// Whether a profile may have named a server other than by such an entry, so that the consumer could still go there at a moment.
fn is_named_otherwise(play: &Play<'_>, at: Micros, url: &str) -> bool {
    let names_it = |profile: &ClusterProfile| {
        let is_replaced = |entry: &AccessProvider| {
            replaced(profile, &play.testbed.consumer).any(|(old, _)| std::ptr::eq(old, entry))
        };
        let mut entries = profile.access();
        entries.any(|entry| server(entry) == url && !is_replaced(entry))
    };
    let mut subjects = play.subjects().iter();
    subjects.any(|subject| play.may_have_said(subject, at, names_it))
}
