//! Profiles of one name in several namespaces, which are several inventories.

use std::collections::BTreeSet;

use evidence::{Evidence, Kind, MentionLocation, api::ClusterProfile};

use crate::{
    rules::consumer::support::{
        testbed::{Play, Subject, held_throughout},
        time::{Micros, While, timestamp},
    },
    subjects::{Finding, Findings},
    text::counted,
};

/// So many connections more than twice those to any other member tell that the consumer goes to and fro.
const BY_CHANCE: usize = 3;
/// In so many times what it may take, a consumer comes back to a member.
const LONG: Micros = 3;
/// Members end connections at the same time if no more is between.
const TOGETHER: u64 = 1_000_000;

/// `consumer-scope/namespaces-apart`
///
/// Profiles of one name in two namespaces are two: the consumer acts on each, and does not give one up for the other.
pub(in crate::rules) fn namespaces_apart(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    findings.nothing_happened("no two profiles of one name were in namespaces that the consumer reads");
    let invites = |profile: &ClusterProfile| play.invites(profile);
    for subject in play.subjects() {
        let name = &subject.last.metadata.name;
        let others = play.subjects().iter();
        let mut others =
            others.filter(|other| !std::ptr::eq(*other, subject) && other.last.metadata.name == *name);
        let held = subject.timeline.while_(invites);
        let both = others.find_map(|other| {
            let both = held.and(&other.timeline.while_(invites));
            play.chance(&both).map(|span| (span, both, other))
        });
        let urls = play.own_servers(subject);
        let Some(((from, until), both, other)) = both.filter(|_| !urls.is_empty()) else {
            continue;
        };
        let finding = |message: &str| {
            Finding::on(subject.last, message)
                .at("metadata.namespace")
                .expected("a connection for the profile of each namespace")
        };
        match play.set_out_for_profile(subject, &urls, until) {
            Ok(true) => {
                findings.examine();
                let own = play.connections_in(&urls, (from, until)).count();
                let usual = usual(&play, subject, (from, until));
                if own > usual.saturating_mul(2).saturating_add(BY_CHANCE) {
                    let message = "the consumer takes profiles of one name in turns";
                    findings.report(finding(message).observed(format!(
                        "{}, and {} at most for any other profile",
                        counted(own, "connection"),
                        counted(usual, "connection")
                    )));
                }
                let of_other = play.own_servers(other);
                if let Some(end) = given_up(&play, &both, (&urls, &of_other)) {
                    let message = "the consumer gives one of two profiles of one name up for the other";
                    findings.report(finding(message).observed(format!(
                        "no call since {}, when both members ended all connections, and calls of the other",
                        timestamp(end)
                    )));
                }
            }
            Ok(false) => {
                findings.examine();
                let message = "the consumer takes profiles of one name in two namespaces for one";
                let finding = finding(message).observed("no call");
                // Refusing the second, and saying so, harms nobody.
                let is_told = is_warned_of(evidence, subject.last) || !evidence.is_whole(Kind::Mentions);
                findings.report(if is_told { finding.advisory() } else { finding });
            }
            Err(why) => findings.cannot_tell(why),
        }
    }
}

/// When both members ended all connections, if the consumer came back to the other alone.
fn given_up(
    play: &Play<'_>,
    both: &While,
    (own, other): (&BTreeSet<&str>, &BTreeSet<&str>),
) -> Option<Micros> {
    let of_other = play.ends_of(other);
    let is_of_both = |end: &Micros| of_other.iter().any(|other| other.abs_diff(*end) <= TOGETHER);
    let end = play.ends_of(own).into_iter().find(is_of_both)?;
    // One that is slow to come back has the time for that.
    let until = end.saturating_add(play.settle.saturating_mul(LONG));
    let comes_back = |urls: &BTreeSet<&str>| {
        let mut calls = play.calls_to_any(urls);
        calls.any(|call| (end + 1..=until).contains(&call.at.as_microsecond()))
    };
    let is_given_up = held_throughout(both, end, until) && comes_back(other) && !comes_back(own);
    (is_given_up && play.why_missed(Kind::MemberCalls).is_none()).then_some(end)
}

/// Whether an event of its namespace warns of a profile.
fn is_warned_of(evidence: &Evidence, profile: &ClusterProfile) -> bool {
    let found = evidence.mentions.iter().flat_map(|mentions| &mentions.found);
    let mut warnings = found.filter(|notice| {
        let MentionLocation::Event {
            namespace, warning, ..
        } = &notice.place
        else {
            return false;
        };
        *warning && **namespace == *profile.metadata.namespace
    });
    warnings.any(|notice| notice.names.contains(&*profile.metadata.name))
}

/// The most connections for a profile of another name, in a closed span.
fn usual(play: &Play<'_>, subject: &Subject<'_>, span: (Micros, Micros)) -> usize {
    let others = play.subjects().iter();
    let others = others.filter(|other| other.last.metadata.name != subject.last.metadata.name);
    let counts = others.map(|other| play.connections_in(&play.own_servers(other), span).count());
    counts.max().unwrap_or(0)
}
