//! The scheduler that a slice names.

use evidence::{Evidence, ObjectRef, Request, SliceHistory, api::PlacementDecision};

use crate::{
    shared::placement::each_version,
    subjects::{Finding, Findings},
    text::{ABSENT, redacted},
    who::{
        Who,
        logged::{Logged, logged_key},
    },
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
/// A name that is set later is no change. Two users are a warning: one may have taken over from the other. People and
/// tools that write for them, such as a backup's restore, are left out.
pub(in crate::rules) fn scheduler_stable(evidence: &Evidence, findings: &mut Findings) {
    for history in evidence.slice_histories() {
        findings.examine();
        for change in changes(history) {
            findings.report(change);
        }
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
    let slices = Logged::<PlacementDecision>::of(evidence);
    let is_judged = |request: &Request| slices.in_scope(logged_key(request));
    let who = Who::<PlacementDecision>::of(evidence);
    let creators = who.creators(|request| slices.producer_of(request).filter(|_| is_judged(request)));
    for (scheduler, creators) in creators {
        for other in &creators[1..] {
            findings.report(
                Finding::on(
                    slices.reference(logged_key(other.created)),
                    "two users create slices of one scheduler",
                )
                .at("schedulerName")
                .expected(format!(
                    "slices of scheduler {} by {} alone",
                    redacted(scheduler),
                    redacted(creators[0].by)
                ))
                .observed(format!("created by {}", redacted(other.by)))
                .advisory(),
            );
        }
    }
}
