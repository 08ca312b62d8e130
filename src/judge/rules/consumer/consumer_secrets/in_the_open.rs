//! Where credentials are found.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{Evidence, Kind, MentionLocation, ObjectRef, PluginAnswer, api::names};

use crate::{
    rules::consumer::support::testbed::Play,
    subjects::{Finding, Findings},
    text::redacted,
};

/// So many places of one credential are shown.
const SHOWN: usize = 3;

/// `consumer-secrets/nothing-secret-in-the-open`
///
/// The credential of no member is found in an event, a ConfigMap or a profile of the run's namespaces, nor in the consumer's log.
pub(in crate::rules) fn nothing_secret_in_the_open(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    let Some(mentions) = &evidence.mentions else {
        return;
    };
    let mut places: BTreeMap<&str, Vec<&MentionLocation>> = BTreeMap::new();
    for notice in &mentions.found {
        for member in &notice.credentials {
            places.entry(member).or_default().push(&notice.place);
        }
    }
    let issued = play.plugin_calls().filter_map(|call| match &call.answer {
        PluginAnswer::Credential { member, .. } => Some(&**member),
        _ => None,
    });
    let issued: BTreeSet<&str> = issued.collect();
    findings.nothing_happened("the consumer was given no credential");
    for (member, places) in &places {
        findings.examine();
        let shown: Vec<String> = places.iter().take(SHOWN).map(|place| in_words(place)).collect();
        findings.report(
            Finding::on(profile_of(&play, member), "a member's credential is in the open")
                .at("status.accessProviders")
                .expected("credentials in Secrets alone")
                .observed(shown.join(", ")),
        );
    }
    let hidden = issued
        .iter()
        .filter(|member| !places.contains_key(*member))
        .count();
    match play.why_missed(Kind::Mentions) {
        Some(why) if hidden > 0 => findings.cannot_tell_unless_found(why),
        _ => (0..hidden).for_each(|_| findings.examine()),
    }
}

/// The profile of a member, as the run staged it.
fn profile_of(play: &Play<'_>, member: &str) -> ObjectRef {
    play.subject_of(member).map_or_else(
        || ObjectRef {
            kind: names::KIND.to_owned(),
            name: member.to_owned(),
            ..ObjectRef::default()
        },
        |subject| ObjectRef::from(subject.last),
    )
}

fn in_words(place: &MentionLocation) -> String {
    match place {
        MentionLocation::Line { number } => format!("line {number} of the consumer's log"),
        MentionLocation::Event {
            namespace, reason, ..
        } => format!("an Event {} of {}", redacted(reason), redacted(namespace)),
        MentionLocation::Object {
            kind,
            namespace,
            name,
        } => format!("{} {}/{}", redacted(kind), redacted(namespace), redacted(name)),
    }
}
