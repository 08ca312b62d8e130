//! Profiles after tampering.

use evidence::{
    DriverAction, Evidence, ProfileHistory, Scenario,
    api::{ClusterProfile, names},
};

use crate::{
    shared::{
        answer::{Answer, Shortfall, Span, alive, did, executed, steps_about},
        same_cluster::{Relation, by_everything},
    },
    subjects::{Findings, sets::ClusterSets},
    text::{ABSENT, redacted, redacted_or_absent},
    time::{Known, Seen, Timeline},
};

/// `lifecycle/deleted-profile-restored`
///
/// The manager recreates the deleted profile of a joined member.
pub(in crate::rules) fn deleted_profile_restored(evidence: &Evidence, findings: &mut Findings) {
    for deleted in executed(
        evidence,
        findings,
        Scenario::Tampering,
        DriverAction::DeleteProfile,
    ) {
        let is_old = |profile: &ClusterProfile| *profile.metadata.uid == *deleted.profile.uid;
        let is_back = |profile: Option<&ClusterProfile>| profile.is_some_and(|profile| !is_old(profile));
        let span = Span::of(evidence, deleted.step);
        let answer = span.answer(deleted.profile, &deleted.timeline, is_back);
        let mut histories = evidence.histories_named(&deleted.profile.namespace, &deleted.profile.name);
        if let (Answer::Missing, Some(old)) = (answer, histories.find(|history| is_old(history.last()))) {
            if old.deleted.is_none_or(|deleted| deleted >= span.looked) {
                findings.cannot_tell(format!(
                    "{} was still there after {}",
                    deleted.profile,
                    did(deleted.step)
                ));
                continue;
            }
            // If the hub generates names, the profile comes back under another one.
            match successor(evidence, &span, &deleted.step.member, old) {
                Some((_, Relation::Same, Known::Yes)) => {
                    findings.examine();
                    continue;
                }
                Some((_, Relation::Same, _)) => {
                    findings.cannot_tell(span.answered_late());
                    continue;
                }
                Some((heir, ..)) => {
                    findings.cannot_tell(format!(
                        "{}/{} came after {}, and it is unknown whether it is of the same member",
                        heir.metadata.namespace,
                        redacted(&heir.metadata.name),
                        did(deleted.step)
                    ));
                    continue;
                }
                None => {}
            }
        }
        deleted.judge(evidence, findings, is_back, |_| Shortfall {
            message: "the deleted profile of a joined member is not recreated",
            path: "metadata.name".to_owned(),
            expected: "a profile of the member".to_owned(),
            observed: "none".to_owned(),
        });
    }
}

/// Finds a profile of the same manager that appeared and may be the member's, and tells whether it was in time; prefers one
/// that certainly is. The driver identifies a member's profile by more than its content.
fn successor<'a>(
    evidence: &'a Evidence,
    span: &Span<'a>,
    member: &str,
    old: &'a ProfileHistory,
) -> Option<(&'a ClusterProfile, Relation, Known)> {
    let sets = ClusterSets::of(evidence);
    let last = old.last();
    let relation = |heir: &'a ClusterProfile| match steps_about(evidence, heir).next() {
        Some(step) if step.member == member => Relation::Same,
        _ => by_everything(&sets, last, heir),
    };
    let heirs = span.newborns().filter_map(|history| {
        let heir = alive(history, span.looked).filter(|heir| heir.manager() == last.manager())?;
        let timeline = Timeline::of(evidence, &[history]);
        let mut runs = timeline.runs().iter();
        let born = runs.find(|run| matches!(run.seen, Seen::Version(_)))?;
        Some((heir, relation(heir), span.is_in_time(born.from)))
    });
    let certainty = |(_, relation, in_time): &(_, Relation, Known)| match (relation, in_time) {
        (Relation::Different, _) | (_, Known::No) => None,
        (Relation::Unknown, _) => Some(0),
        (Relation::Same, Known::Unknown(_)) => Some(1),
        (Relation::Same, Known::Yes) => Some(2),
    };
    heirs
        .filter(|heir| certainty(heir).is_some())
        .max_by_key(certainty)
}

/// `lifecycle/status-restored`
///
/// The manager corrects a status that somebody else made untrue.
pub(in crate::rules) fn status_restored(evidence: &Evidence, findings: &mut Findings) {
    for tampered in executed(
        evidence,
        findings,
        Scenario::Tampering,
        DriverAction::TamperStatus,
    ) {
        let Some(change) = &tampered.step.change else {
            findings.cannot_tell(format!("{} does not record what it changed", did(tampered.step)));
            continue;
        };
        let value = |profile: &ClusterProfile| value_at(profile, &change.path);
        let untrue = change.after.as_deref();
        let Some(tampered) = tampered.since(findings, |profile| value(profile).as_deref() == untrue) else {
            continue;
        };
        tampered.judge(
            evidence,
            findings,
            |profile| {
                let value = profile.and_then(value);
                // The original value may have changed meanwhile, but must not be missing.
                value.as_deref() != untrue && (value.is_some() || change.before.is_none())
            },
            |profile| Shortfall {
                message: "an untrue status is not corrected",
                path: redacted(&change.path),
                expected: match &change.before {
                    Some(before) => redacted(before),
                    None => "no such value".to_owned(),
                },
                observed: redacted_or_absent(profile.and_then(value).as_deref()),
            },
        );
    }
}

/// The value at a path of the status, as in findings.
fn value_at(profile: &ClusterProfile, path: &str) -> Option<String> {
    let key = |prefix: &str, suffix: &str| path.strip_prefix(prefix)?.strip_suffix(suffix);
    let value = if path == "status.version.kubernetes" {
        profile.status.version.kubernetes.as_deref()
    } else if let Some(name) = key("status.properties[", "].value") {
        profile.property(name).map(|property| &*property.value)
    } else if let Some(kind) = key("status.conditions[", "].status") {
        profile.condition(kind).map(|condition| &*condition.status)
    } else {
        None
    };
    value.map(str::to_owned)
}

/// `lifecycle/label-restored`
///
/// The manager restores a manager label that somebody else removed.
pub(in crate::rules) fn label_restored(evidence: &Evidence, findings: &mut Findings) {
    for robbed in executed(evidence, findings, Scenario::Tampering, DriverAction::RemoveLabel) {
        let label = |profile: Option<&ClusterProfile>| {
            profile.and_then(|profile| profile.label(names::LABEL_MANAGER).map(str::to_owned))
        };
        let removed = robbed.since(findings, |profile| profile.label(names::LABEL_MANAGER).is_none());
        let Some(robbed) = removed else { continue };
        robbed.judge(
            evidence,
            findings,
            |profile| {
                profile.is_some_and(|profile| profile.label(names::LABEL_MANAGER) == Some(profile.manager()))
            },
            |profile| Shortfall {
                message: "a removed manager label is not restored",
                path: format!("metadata.labels[{}]", names::LABEL_MANAGER),
                expected: profile.map_or(ABSENT.to_owned(), |profile| redacted(profile.manager())),
                observed: redacted_or_absent(label(profile).as_deref()),
            },
        );
    }
}
