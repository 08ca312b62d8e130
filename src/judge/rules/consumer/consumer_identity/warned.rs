//! Whether a consumer tells of profiles that it passes over.

use evidence::{Evidence, Kind, Mention, MentionLocation, Reason};

use super::{PATH, play_of_conflicts};
use crate::{
    rules::consumer::support::testbed::{Play, Standing, standings},
    subjects::{Finding, Findings},
};

/// `consumer-identity/warning-surfaced`
///
/// Where several profiles of a namespace have one identity, the consumer tells of each that it does not act on. How, it chooses:
/// an event and a line of its log can be judged, and what it tells elsewhere cannot.
pub(in crate::rules) fn warning_surfaced(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = play_of_conflicts(evidence, findings) else {
        return;
    };
    let Some(mentions) = &evidence.mentions else {
        return;
    };
    findings.nothing_happened("no two profiles had one identity for long enough");
    for standing in standings(&play) {
        let passed_over = [standing.is_second(), standing.is_tied()];
        if passed_over.iter().all(|held| play.chance(held).is_none()) {
            continue;
        }
        let about: Vec<&Mention> = mentions
            .found
            .iter()
            .filter(|notice| is_about(notice, &standing))
            .collect();
        if about
            .iter()
            .any(|notice| is_warning(notice, &standing, &mentions.found))
        {
            findings.examine();
            continue;
        }
        if let Some(why) = why_unclear(&play, mentions.log, !about.is_empty()) {
            findings.cannot_tell(why);
            continue;
        }
        findings.examine();
        let message = "the consumer does not tell that another profile stands for the member";
        findings.report(
            Finding::on(standing.subject.last, message)
                .at(PATH)
                .expected("an event or a line of its log that names both profiles")
                .observed("neither names this profile"),
        );
    }
}

/// Whether a text names the profile, or the member. That it names the one to act on alone means nothing.
fn is_about(notice: &Mention, standing: &Standing<'_, '_>) -> bool {
    let is_event = warning_reason(notice).is_some();
    let is_other = |name: &String| standing.others.contains(&**name);
    let names_it = |name: &String| **name == *standing.subject.last.metadata.name || name == standing.id;
    notice
        .names
        .iter()
        .any(|name| names_it(name) || is_event && is_other(name))
}

/// Whether a text is surely a warning of several profiles: one that names some of the member and no other, or an event that says
/// so, for a reason that it gives for no other profile.
fn is_warning(notice: &Mention, standing: &Standing<'_, '_>, all: &[Mention]) -> bool {
    let own = &*standing.subject.last.metadata.name;
    let is_of_member = |name: &str| name == own || name == standing.id || standing.others.contains(name);
    if notice.names.iter().any(|name| !is_of_member(name)) {
        return false;
    }
    let profiles = notice.names.iter().filter(|name| **name != standing.id);
    if profiles.count() > 1 {
        return true;
    }
    let reason = warning_reason(notice);
    let is_given_elsewhere = |other: &Mention| {
        warning_reason(other) == reason && !other.names.iter().any(|name| is_of_member(name))
    };
    reason.is_some() && !all.iter().any(is_given_elsewhere)
}

/// The reason of an event that warns.
fn warning_reason(notice: &Mention) -> Option<&str> {
    match &notice.place {
        MentionLocation::Event {
            reason,
            warning: true,
            ..
        } => Some(reason),
        _ => None,
    }
}

/// Why the consumer may have told of it all the same, if so.
fn why_unclear(play: &Play<'_>, has_log: bool, is_named: bool) -> Option<Reason> {
    if let Some(why) = play.why_missed(Kind::Mentions) {
        return Some(why);
    }
    if !has_log {
        return Some("no event names the profile, and the consumer's log was not given".into());
    }
    is_named.then(|| "the consumer names the profile alone, which may be a warning, or not".into())
}
