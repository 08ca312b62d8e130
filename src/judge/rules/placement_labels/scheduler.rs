//! The scheduler that a slice names.

use std::collections::BTreeMap;

use evidence::{Evidence, ObjectRef, Request, SliceHistory, api::PlacementDecision};

use crate::{
    shared::placement::each_version,
    subjects::{Finding, Findings},
    text::ABSENT,
    who::publisher::Publishers,
};

/// `placement-labels/scheduler-named`
///
/// Every slice names its scheduler.
pub(in crate::rules) fn scheduler_named(evidence: &Evidence, findings: &mut Findings) {
    each_version(evidence, findings, |slice| {
        let finding = slice.scheduler().is_empty().then(|| {
            Finding::on(ObjectRef::from(slice), "the slice does not name its scheduler")
                .at("schedulerName")
                .expected("the name of the scheduler that writes the slice")
                .observed(slice.scheduler_name.as_deref().unwrap_or(ABSENT))
        });
        Some(finding.into_iter().collect())
    });
}

/// `placement-labels/scheduler-stable`
///
/// A slice keeps its scheduler for as long as it exists, and one user creates the slices of a scheduler.
///
/// A name that is set later is no change. Two users are a warning: slices may have been restored from a backup.
pub(in crate::rules) fn scheduler_stable(evidence: &Evidence, findings: &mut Findings) {
    for history in evidence.slice_histories() {
        findings.examine();
        findings.list.extend(changes(history));
    }
    two_creators(evidence, findings);
}

/// The changes of a slice's scheduler, each once.
fn changes(history: &SliceHistory) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for (before, after) in history.steps() {
        let (old, new) = (before.object.scheduler(), after.object.scheduler());
        if old.is_empty() || old == new {
            continue;
        }
        let finding = Finding::on(
            ObjectRef::from(&after.object),
            "the scheduler of the slice was changed",
        )
        .at("schedulerName")
        .expected(old)
        .observed(if new.is_empty() { ABSENT } else { new });
        let is_told = found
            .iter()
            .any(|told| (&told.expected, &told.observed) == (&finding.expected, &finding.observed));
        if !is_told {
            found.push(finding);
        }
    }
    found
}

/// Reports the users after the first who created slices of one scheduler, by the audit log. Those that the user named as the
/// scheduler's are one.
fn two_creators(evidence: &Evidence, findings: &mut Findings) {
    let publishers = Publishers::of::<PlacementDecision>(evidence);
    let named = &evidence.header.claim.scheduler;
    let mut creations: Vec<(&Request, &PlacementDecision)> = evidence
        .slice_histories()
        .filter(|history| !history.first().scheduler().is_empty())
        .filter_map(|history| Some((publishers.creation(history)?, history.first())))
        .collect();
    creations.sort_by_key(|(request, _)| request.at);
    let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (request, slice) in creations {
        let (scheduler, user) = (slice.scheduler(), &*request.user);
        let known = users.entry(scheduler).or_default();
        let first = *known.first().unwrap_or(&user);
        if known.contains(&user) || (first != user && named.has_user(first) && named.has_user(user)) {
            continue;
        }
        known.push(user);
        if user != first {
            findings.report(
                Finding::on(ObjectRef::from(slice), "two users create slices of one scheduler")
                    .at("schedulerName")
                    .expected(format!("slices of scheduler {scheduler} by {first} alone"))
                    .observed(format!("created by {user}"))
                    .advisory(),
            );
        }
    }
}
