//! Profiles after a restart of the manager.

use evidence::{
    DriverAction, Evidence, ObjectRef, ProfileHistory, Scenario,
    api::{ClusterProfile, names::CONDITION_JOINED},
};
use jiff::Timestamp;

use crate::{
    reasons::MANAGER_NOT_NAMED,
    rules::{
        answer::{Span, alive, has_left, inferred, steps, to_the_second},
        conditions::has_status,
        finding::{Finding, Findings},
        same_cluster::{Relation, by_everything},
        sets::ClusterSets,
        text::{by, redacted},
    },
    who::{Doing, Hand, Who},
};

/// `lifecycle/restart-keeps-profiles`
///
/// A restart of the manager neither deletes, recreates nor duplicates profiles.
///
/// The audit log is asked who did it, if there is one. Without one, the restart is the only known cause.
pub(in crate::rules) fn restart_keeps_profiles(evidence: &Evidence, findings: &mut Findings) {
    let sets = ClusterSets::of(evidence);
    let who = Who::of(evidence);
    for step in steps(evidence, findings, Scenario::Restart, DriverAction::Restart) {
        let span = Span::of(evidence, step);
        let there: Vec<(&ProfileHistory, &ClusterProfile)> = evidence
            .histories()
            .filter(|history| {
                let metadata = &history.last().metadata;
                !has_left(evidence, &metadata.namespace, &metadata.name, span.looked)
            })
            .filter_map(|history| Some((history, alive(history, span.from)?)))
            .collect();
        if there.is_empty() {
            findings.cannot_tell(format!("there was no profile before {}", span.did()));
            continue;
        }
        let newborns: Vec<&ProfileHistory> = span.newborns().collect();
        let is_seen = span.missed(None).is_none();
        let mut found = Vec::new();
        for (history, profile) in &there {
            match history.deleted.filter(|at| *at < span.looked) {
                Some(at) => {
                    let lost = lost(&sets, history.last(), at, &newborns, &span);
                    // What a gap hid may have been before the restart.
                    let lost = lost.filter(|_| span.missed_before(None, at).is_none());
                    let (object, seen) = going(history, at);
                    found.extend(lost.map(|finding| (finding, who.deletion(object, seen), seen)));
                }
                None => {
                    let twins = newborns
                        .iter()
                        .filter_map(|newborn| Some((newborn, alive(newborn, span.looked)?)));
                    let twins = twins.filter(|(_, twin)| is_seen && is_of_one(&sets, profile, twin));
                    found.extend(twins.map(|(newborn, twin)| {
                        let doing = who.creation(newborn);
                        (doubled(profile, twin, &span), doing, newborn.versions[0].at)
                    }));
                }
            }
        }
        match span.doubt(None).filter(|_| found.is_empty()) {
            Some(doubt) => findings.cannot_tell(doubt),
            None => there.iter().for_each(|_| findings.examine()),
        }
        for (finding, doing, seen) in found {
            hold_against(finding, &doing, who.is_logged(seen), findings);
        }
    }
}

/// Reports what was found, unless the log tells that it was not the manager's doing, or lacks whose it was.
fn hold_against(finding: Finding, doing: &Doing, is_logged: bool, findings: &mut Findings) {
    let what = || format!("{}: {}{}", finding.object.path(), finding.message, by(&doing.by));
    match doing.hand {
        Hand::Run => {}
        Hand::Other => findings.note(format!("{}, which is not the manager", what())),
        Hand::Unknown if !doing.by.is_empty() => findings.cannot_tell(format!(
            "{}, which may be the manager or somebody else: {MANAGER_NOT_NAMED}",
            what()
        )),
        Hand::Unknown if is_logged => {
            findings.cannot_tell(format!("{}, and the audit log does not tell by whom", what()));
        }
        Hand::Producer { is_inferred } => {
            if is_inferred {
                findings.note(inferred(doing));
            }
            findings.report(finding);
        }
        Hand::Unknown => findings.report(finding),
    }
}

/// The profile when it was deleted, and when the watch saw that. Finalizers may have kept it for a while.
fn going(history: &ProfileHistory, gone: Timestamp) -> (&ClusterProfile, Timestamp) {
    let mut versions = history.versions.iter();
    let terminating = versions.find(|version| version.object.metadata.deletion_timestamp.is_some());
    terminating.map_or((history.last(), gone), |version| (&version.object, version.at))
}

/// A profile that disappeared, unless its member had already left.
fn lost<'a>(
    sets: &ClusterSets<'a>,
    profile: &'a ClusterProfile,
    at: Timestamp,
    newborns: &[&'a ProfileHistory],
    span: &Span,
) -> Option<Finding> {
    let mut heirs = newborns.iter().map(|newborn| newborn.last());
    let heir = heirs.find(|heir| {
        heir.metadata.name == profile.metadata.name && heir.metadata.namespace == profile.metadata.namespace
            || is_of_one(sets, profile, heir)
    });
    let (message, observed) = match heir {
        Some(heir) => (
            "a profile was recreated when the manager restarted",
            format!(
                "{} of {}",
                redacted(&heir.metadata.uid),
                ObjectRef::from(heir).path()
            ),
        ),
        None if has_status(profile, CONDITION_JOINED, "False") => return None,
        None => (
            "a profile was deleted when the manager restarted",
            format!("deleted at {}", to_the_second(at)),
        ),
    };
    Some(
        Finding::on(profile, message)
            .at("metadata.uid")
            .expected(format!(
                "{} as before {}",
                redacted(&profile.metadata.uid),
                span.did()
            ))
            .observed(observed),
    )
}

fn doubled(profile: &ClusterProfile, twin: &ClusterProfile, span: &Span) -> Finding {
    Finding::on(
        twin,
        "a second profile of a member appeared when the manager restarted",
    )
    .at("metadata.name")
    .expected(format!(
        "{} alone, as before {}",
        redacted(&profile.metadata.name),
        span.did()
    ))
    .observed(format!(
        "{}, beside {}",
        redacted(&twin.metadata.name),
        ObjectRef::from(profile).path()
    ))
}

/// Whether two profiles are of one manager and one cluster.
fn is_of_one<'a>(sets: &ClusterSets<'a>, one: &'a ClusterProfile, other: &'a ClusterProfile) -> bool {
    one.metadata.namespace == other.metadata.namespace
        && one.manager() == other.manager()
        && by_everything(sets, one, other) == Relation::Same
}
