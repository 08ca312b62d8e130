//! Slices after a restart of the scheduler.

use std::collections::BTreeSet;

use evidence::{
    DriverAction, Evidence, Scenario, SliceHistory, Tracked as _, Version,
    api::{PlacementDecision, names},
    runs::names_placement,
};
use jiff::Timestamp;

use super::answer::count_of;
use crate::{
    shared::{
        answer::{Span, alive, steps, to_the_second},
        held_against::is_held_against,
    },
    subjects::{Finding, Findings},
    text::redacted,
    who::{Doing, Who, authors::authors, publisher::publishers_of},
};

/// `placement-lifecycle/restart-keeps`
///
/// A restart of the scheduler neither deletes nor recreates slices, and writes none that stays the same.
///
/// Another decision may change or end while the scheduler restarts, so only a slice that comes back was recreated; of the
/// run's own placement, each has to stay. The audit log is asked who deleted it, if there is one.
pub(in crate::rules) fn restart_keeps(evidence: &Evidence, findings: &mut Findings) {
    let who = Who::of(evidence);
    for step in steps(evidence, findings, Scenario::Restart, DriverAction::Restart) {
        let span = Span::of(evidence, step);
        let there: Vec<(&SliceHistory, &PlacementDecision)> = evidence
            .slice_histories()
            .filter_map(|history| Some((history, alive(history, span.from)?)))
            .collect();
        if there.is_empty() {
            findings.cannot_tell(format!("there was no slice before {}", span.did()));
            continue;
        }
        let newborns: Vec<&PlacementDecision> = evidence
            .slice_histories()
            .filter(|history| {
                let first = history.versions[0].received();
                span.from <= first && first < span.looked
            })
            .map(SliceHistory::first)
            .collect();
        let mut found = Vec::new();
        for (history, slice) in &there {
            let went = history.went().filter(|(_, at)| *at < span.looked);
            let until = went.map_or(span.looked, |(_, at)| at);
            let finding = match went {
                Some((last, at)) => lost(evidence, slice, at, &newborns, &span)
                    .map(|finding| (finding, who.deletion(last, at), at)),
                None => rewritten(&who, history, &span),
            };
            // What a gap hid may have been before the restart.
            found.extend(finding.filter(|_| span.missed_slices_before(until).is_none()));
        }
        match span.doubt_of_slices().filter(|_| found.is_empty()) {
            Some(doubt) => findings.cannot_tell(doubt),
            None => there.iter().for_each(|_| findings.examine()),
        }
        for (finding, doing, seen) in found {
            if is_held_against::<PlacementDecision>(&doing, &finding, who.is_logged(seen), findings) {
                findings.report(finding.done_by(&doing.by));
            }
        }
    }
}

/// A slice that was recreated, or one of the run's own placement that was deleted.
fn lost(
    evidence: &Evidence,
    slice: &PlacementDecision,
    at: Timestamp,
    newborns: &[&PlacementDecision],
    span: &Span,
) -> Option<Finding> {
    let heir = newborns.iter().find(|heir| succeeds(slice, heir));
    let (message, observed) = match heir {
        Some(heir) => (
            "a slice was recreated when the scheduler restarted",
            format!("{} of {}", redacted(&heir.metadata.uid), heir.object_ref().path()),
        ),
        None if is_of_restart(evidence, slice) => (
            "a slice was deleted when the scheduler restarted",
            format!("deleted at {}", to_the_second(at)),
        ),
        None => return None,
    };
    Some(
        Finding::on(slice, message)
            .at("metadata.uid")
            .expected(format!(
                "{} as before {}",
                redacted(&slice.metadata.uid),
                span.did()
            ))
            .observed(observed),
    )
}

/// Whether one slice takes the place of another: by its name, or by the decision and its clusters.
fn succeeds(slice: &PlacementDecision, heir: &PlacementDecision) -> bool {
    let (old, new) = (&slice.metadata, &heir.metadata);
    let key = |slice: &PlacementDecision| {
        let key = slice.label(names::LABEL_DECISION_KEY);
        key.filter(|key| !key.is_empty()).map(str::to_owned)
    };
    old.namespace == new.namespace
        && slice.scheduler() == heir.scheduler()
        && (old.name == new.name
            || (key(slice).is_some() && key(slice) == key(heir) && set_of(slice) == set_of(heir)))
}

/// Whether a slice is of the placement that the run keeps over the restart.
fn is_of_restart(evidence: &Evidence, slice: &PlacementDecision) -> bool {
    let steps = evidence.driver.iter().flat_map(|driver| &driver.steps);
    let mut placements = steps
        .filter(|step| step.scenario == Scenario::Restart)
        .filter_map(|step| step.placement.as_ref());
    placements.any(|placement| names_placement(slice, &placement.name))
}

/// A slice that the scheduler wrote and that stays the same: the same clusters in another order, or the same altogether.
fn rewritten<'e>(
    who: &Who<'e, PlacementDecision>,
    history: &'e SliceHistory,
    span: &Span,
) -> Option<(Finding, Doing<'e>, Timestamp)> {
    let in_span =
        |after: &Version<PlacementDecision>| span.from <= after.received() && after.received() < span.looked;
    let needless = history.steps().filter(|(before, after)| {
        let authors = authors(&before.object, &after.object);
        let is_by_scheduler = !authors.is_empty() && authors.is_subset(&publishers_of(&after.object));
        is_same(&before.object, &after.object) && is_by_scheduler
    });
    let (in_span, others): (Vec<_>, Vec<_>) = needless.partition(|(_, after)| in_span(after));
    // What a scheduler does anyway is the matter of the suite `placement-updates`.
    if !others.is_empty() {
        return None;
    }
    let (before, after) = in_span.last()?;
    let doing = who.step(&before.object, (&after.object, after.received()));
    let is_order = before.object.decisions != after.object.decisions;
    let finding = Finding::on(
        &after.object,
        "a slice was rewritten when the scheduler restarted",
    )
    .at(if is_order {
        "decisions"
    } else {
        "metadata.resourceVersion"
    })
    .expected(format!("no write after {}", span.did()))
    .observed(format!(
        "{} at {}",
        if is_order {
            format!("another order of {} clusters", count_of(&[&after.object]))
        } else {
            "a write that changes nothing".to_owned()
        },
        to_the_second(after.received())
    ));
    Some((finding, doing, after.received()))
}

/// Whether two versions of a slice say the same to a consumer that minds no order.
fn is_same(before: &PlacementDecision, after: &PlacementDecision) -> bool {
    let (was, is) = (&before.metadata, &after.metadata);
    set_of(before) == set_of(after)
        && before.scheduler_name == after.scheduler_name
        && was.labels == is.labels
        && was.owner_references == is.owner_references
        && was.deletion_timestamp == is.deletion_timestamp
}

/// The clusters of a slice with their reasons, whatever their order.
fn set_of(slice: &PlacementDecision) -> BTreeSet<(String, String, &str)> {
    let decisions = slice.clusters().iter().map(|decision| {
        let reference = decision.cluster_profile_ref.as_ref();
        let reference = reference
            .map(|reference| slice.resolved(reference))
            .unwrap_or_default();
        let reason = decision.reason.as_deref().unwrap_or_default();
        (
            reference.namespace.to_string(),
            reference.name.to_string(),
            reason,
        )
    });
    decisions.collect()
}
