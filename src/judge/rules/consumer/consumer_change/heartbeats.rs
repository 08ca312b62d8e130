//! Writes that change nothing for a consumer.

use std::collections::BTreeSet;

use evidence::{Evidence, Kind, Version, api::ClusterProfile};

use crate::{
    rules::consumer::support::{
        testbed::{Play, held_throughout, known, server},
        time::{Edge, Micros},
    },
    subjects::{Finding, Findings},
    text::counted,
};

/// So many writes tell a reconnection at each from others.
const ENOUGH: usize = 10;
/// A connection may end and be made again by chance.
const BY_CHANCE: usize = 1;

/// `consumer-change/heartbeats-harmless`
///
/// Writes that change nothing for a consumer do not make it reconnect: while a profile was written again and again, it opened
/// no more connections to its member than it did to any control's.
pub(in crate::rules) fn heartbeats_harmless(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    findings.nothing_happened("no profile was written ten times without a change of its access");
    let claims = &play.testbed.consumer;
    if claims.one_shot {
        findings
            .not_asked("the consumer keeps no connection: each piece of its work is a process of its own");
        return;
    }
    let is_same = |one: &ClusterProfile, other: &ClusterProfile| {
        known(one, claims).eq(known(other, claims)) && same_otherwise(one, other)
    };
    for subject in play.subjects() {
        let steps: Vec<_> = subject.timeline.steps().collect();
        let is_harmless = |step: &Step<'_>| is_same(&step.0.object, &step.1.object);
        for group in steps.chunk_by(|one, other| is_harmless(one) == is_harmless(other)) {
            let (Some((first, _, begin)), Some((.., end))) = (group.first(), group.last()) else {
                continue;
            };
            let (profile, writes) = (&first.object, group.len());
            if writes < ENOUGH || !group.iter().all(is_harmless) {
                continue;
            }
            let held = subject.timeline.while_(|version| is_same(version, profile));
            if !held_throughout(&held, begin.latest, end.earliest) {
                continue;
            }
            let urls: BTreeSet<&str> = known(profile, claims).map(server).collect();
            if urls.iter().any(|url| play.is_shared(subject, url)) {
                findings.cannot_tell("another profile has the server of the one that was written");
                continue;
            }
            let until = end.latest.saturating_add(play.settle);
            if !urls.iter().any(|url| !play.calls_to(url).is_empty()) {
                findings.cannot_tell("the consumer never called the member whose profile was written");
                continue;
            }
            let own = connections(&play, &urls, (begin.latest, until));
            let controls = play.testbed.scenarios.iter().map(|scene| &*scene.control);
            let controls: BTreeSet<&str> = controls
                .filter(|control| *control != &*profile.metadata.name)
                .collect();
            let addresses = play.testbed.addresses.iter();
            let addresses = addresses.filter(|address| controls.contains(&*address.member));
            let controls: Vec<BTreeSet<&str>> =
                addresses.map(|address| BTreeSet::from([&*address.url])).collect();
            // Those from before count for a control: the consumer may have just come to know the other profile.
            let counts = controls
                .iter()
                .map(|urls| connections(&play, urls, (Micros::MIN, until)));
            let usual = counts.max().unwrap_or(0);
            let excess = own
                .saturating_sub(usual)
                .max(for_all(&play, &controls, (begin.latest, until)));
            if excess <= BY_CHANCE
                && let Some(why) = play.why_missed(Kind::MemberCalls)
            {
                findings.cannot_tell(why);
                continue;
            }
            findings.examine();
            if excess > BY_CHANCE {
                let finding = Finding::on(
                    subject.last,
                    "the consumer reconnects when a profile is written without a change of access",
                )
                .at("status.accessProviders")
                .expected(format!(
                    "{} for {}",
                    counted(usual, "connection"),
                    counted(writes, "write")
                ))
                .observed(counted(own, "connection"));
                let is_sure = excess.saturating_mul(2) >= writes;
                findings.report(if is_sure { finding } else { finding.advisory() });
            }
        }
    }
}

/// A step between two versions, with its time.
type Step<'e> = (&'e Version<ClusterProfile>, &'e Version<ClusterProfile>, Edge);

/// Whether a consumer has no reason, beside access, to treat two versions differently: it may select by labels and annotations,
/// and leave a member alone that is not well.
fn same_otherwise(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    let statuses = |profile: &ClusterProfile| -> Vec<_> {
        let conditions = profile.status.conditions.iter();
        conditions
            .map(|condition| (condition.kind.clone(), condition.status.clone()))
            .collect()
    };
    one.metadata.labels == other.metadata.labels
        && one.metadata.annotations == other.metadata.annotations
        && one.metadata.deletion_timestamp == other.metadata.deletion_timestamp
        && one.spec == other.spec
        && statuses(one) == statuses(other)
}

/// How many more connections to each control that was there before began in a span than in as much time before it: each write may
/// make the consumer reconnect to all members.
fn for_all(play: &Play<'_>, controls: &[BTreeSet<&str>], (from, until): (Micros, Micros)) -> usize {
    let before = from.saturating_sub(until.saturating_sub(from));
    let there = controls
        .iter()
        .filter(|urls| connections(play, urls, (Micros::MIN, from)) > 0);
    let more = there.map(|urls| {
        connections(play, urls, (from, until)).saturating_sub(connections(play, urls, (before, from)))
    });
    more.min().unwrap_or(0)
}

/// How many connections to these addresses began in a closed span, and were trusted.
fn connections(play: &Play<'_>, urls: &BTreeSet<&str>, span: (Micros, Micros)) -> usize {
    let begun = play.connections_in(urls, span);
    begun.filter(|call| call.was_trusted()).count()
}
