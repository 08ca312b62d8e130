//! Objects of others under a name that the consumer would choose.

use evidence::{Evidence, Kind, OutputReader, TakenName, TakenNameFound};

use crate::{
    rules::consumer::support::testbed::{Play, Subject},
    subjects::{Finding, Findings},
    text::redacted,
};

/// `consumer-scope/foreign-objects-untouched`
///
/// Where an object of somebody else has the name that the consumer would give to what it makes of a profile, the consumer leaves it
/// alone. That it did not is sure if the object now names a staged member or belongs to a staged profile; others may have changed
/// it, or deleted it, so that its name was free.
pub(in crate::rules) fn foreign_objects_untouched(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    if !play.testbed.consumer.outputs.contains(&OutputReader::Argocd) {
        findings.not_asked("the consumer makes no objects on the hub that the run reads");
        return;
    }
    if play.testbed.taken_names.is_empty() {
        findings
            .cannot_tell("the run did not learn which name the consumer gives to what it makes of a profile");
    }
    for taken in &play.testbed.taken_names {
        let Some(subject) = play.subject_of(&taken.profile) else {
            findings.cannot_tell("the run did not see the profile whose name was taken");
            continue;
        };
        if let Some(finding) = touched(taken, subject) {
            findings.examine();
            findings.report(finding);
        } else if let Some(why) = play.why_missed(Kind::Outputs) {
            findings.cannot_tell(why);
        } else if was_looked_at_in_time(&play, taken, subject) {
            findings.examine();
        } else {
            findings.cannot_tell("the run did not look at the object after the consumer had its time");
        }
    }
}

/// What the consumer did to it.
fn touched(taken: &TakenName, subject: &Subject<'_>) -> Option<Finding> {
    let finding = |message: &str, observed: &str| {
        Finding::on(subject.last, message)
            .at("metadata.name")
            .expected("an object of somebody else is left alone")
            .observed(format!("{}: {observed}", redacted(&taken.object)))
    };
    let found = || taken.looks.iter().map(|look| &look.found);
    let is_its = |found: &TakenNameFound| match found {
        TakenNameFound::Changed {
            servers,
            owned,
            replaced,
        } => !replaced && (*owned || !servers.is_empty()),
        TakenNameFound::Unchanged {} | TakenNameFound::Gone {} => false,
    };
    let is_gone = |found: &&TakenNameFound| matches!(found, TakenNameFound::Gone {});
    if found().take_while(|found| !is_gone(found)).any(is_its) {
        let message = "the consumer takes over an object of somebody else";
        return Some(finding(message, "it has become the profile's"));
    }
    let other = found().find(|found| !matches!(found, TakenNameFound::Unchanged {}))?;
    let observed = match other {
        TakenNameFound::Gone {} => "it is gone",
        TakenNameFound::Changed { replaced: true, .. } => "another object has its name",
        _ => "it has another content",
    };
    let message = "an object of somebody else changes that has the name the consumer would choose";
    Some(finding(message, observed).advisory())
}

/// Whether the run looked at it after the consumer had its chance to act on the profile.
fn was_looked_at_in_time(play: &Play<'_>, taken: &TakenName, subject: &Subject<'_>) -> bool {
    let held = subject.timeline.while_(|profile| play.invites(profile));
    let Some((called, _)) = play.chance(&held) else {
        return false;
    };
    let in_time = called.saturating_add(play.settle);
    let mut looks = taken.looks.iter();
    looks.any(|look| look.at.as_microsecond() >= in_time)
}
