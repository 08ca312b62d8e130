//! The scheduler that a slice names.

use std::collections::{BTreeMap, HashMap};

use evidence::{Evidence, ObjectRef, Request, SliceHistory, api::PlacementDecision, parse_time};

use crate::rules::{
    finding::{Finding, Findings},
    placement::each_version,
    text::ABSENT,
    write_time::{Micros, SECOND},
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

/// Reports the users after the first who created slices of one scheduler, by the audit log.
fn two_creators(evidence: &Evidence, findings: &mut Findings) {
    let Some(requests) = &evidence.slice_requests else {
        return;
    };
    let mut of_name: HashMap<(&str, &str), Vec<&PlacementDecision>> = HashMap::new();
    for history in evidence.slice_histories() {
        let slice = history.first();
        let name = (&*slice.metadata.namespace, &*slice.metadata.name);
        of_name.entry(name).or_default().push(slice);
    }
    let mut users: BTreeMap<&str, BTreeMap<&str, &PlacementDecision>> = BTreeMap::new();
    let mut first_users: BTreeMap<&str, &str> = BTreeMap::new();
    for request in requests.events.iter().filter(|request| is_creation(request)) {
        let name = match &*request.name {
            "" => request.body.as_ref().and_then(|body| body.name.as_deref()),
            name => Some(name),
        };
        let lives = name.and_then(|name| of_name.get(&(&*request.namespace, name)));
        let created = lives
            .into_iter()
            .flatten()
            .find(|slice| is_created_by(slice, request));
        if let Some(slice) = created.filter(|slice| !slice.scheduler().is_empty()) {
            first_users.entry(slice.scheduler()).or_insert(&request.user);
            let of_scheduler = users.entry(slice.scheduler()).or_default();
            of_scheduler.entry(&request.user).or_insert(slice);
        }
    }
    for (scheduler, of_scheduler) in users {
        let first = first_users[scheduler];
        for (user, slice) in of_scheduler.into_iter().filter(|(user, _)| *user != first) {
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

/// Whether a request created an object: an apply that does has status 201.
fn is_creation(request: &Request) -> bool {
    let creates = &*request.verb == "create" || request.code == 201;
    creates && request.is_write() && request.subresource.is_empty() && !request.is_the_suites()
}

/// Whether a slice is the one that a request created: the hub stamps the creation in whole seconds.
fn is_created_by(slice: &PlacementDecision, request: &Request) -> bool {
    const APART: Micros = 2 * SECOND;
    let created = slice.metadata.creation_timestamp.as_deref().and_then(parse_time);
    created.is_some_and(|created| (created.as_microsecond() - request.at.as_microsecond()).abs() <= APART)
}
