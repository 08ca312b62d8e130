//! The writers of a slice.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{Asked, Evidence, Kind, ObjectRef, SliceHistory, api::PlacementDecision};
use jiff::Timestamp;

use super::{
    published::{by_others, changed_parts, publish_otherwise},
    users::OfScheduler,
};
use crate::{
    reasons::SCHEDULER_NOT_NAMED,
    subjects::{Finding, Findings},
    text::{listed, redacted},
    time::missed,
    who::{
        Entry, OUTDATED, Seen, Tally, Who,
        authors::{authors, may_be_a_producer_s},
        entries, in_turns,
        logged::{Key, Logged},
        publisher::{Names, Publishers, publishers_of},
    },
};

/// `placement-ownership/one-writer`
///
/// The scheduler alone writes a slice, from its creation to its deletion.
///
/// People with kubectl and the hub's own controllers do not count, nor do named consumers: these are the matter of
/// `placement-ownership/consumers-read-only`, and marks beside the decision that of
/// `placement-ownership/not-a-conversation`. Who writes on where the scheduler's users write no more is their successor.
/// Another program is more than a hint only if the user named the scheduler's users or field managers, and if it deletes
/// slices or writes what a scheduler publishes in turns with them: then it is no successor, and no single edit.
pub(in crate::rules) fn one_writer(evidence: &Evidence, findings: &mut Findings) {
    findings.nothing_happened(
        "no slice has a program as its writer in the audit log, or as an owner in managedFields",
    );
    let publishers = Publishers::of::<PlacementDecision>(evidence);
    let mut examined: BTreeSet<Key> = BTreeSet::new();
    let mut found: BTreeSet<Key> = BTreeSet::new();
    if let Some(requests) = &evidence.slice_requests {
        let names = Logged::<PlacementDecision>::of(evidence);
        for of_scheduler in OfScheduler::all(evidence, requests, &publishers, &names) {
            examined.extend(of_scheduler.slices());
            of_scheduler.tell(findings);
            for (key, finding) in of_scheduler.findings(&names) {
                found.insert(key);
                findings.report(finding);
            }
        }
    }
    if *evidence.asked(Kind::Writers) == Asked::Yes {
        for history in evidence.slice_histories() {
            let slice = history.last();
            let key = (&*slice.metadata.namespace, &*slice.metadata.name);
            let owners = history.current().map_or_else(Vec::new, owners);
            if !owners.is_empty() {
                examined.insert(key);
            }
            let [users, managers] = publishers.names(slice.scheduler());
            // The log shows who wrote. A field manager is a name that a program chooses.
            let is_logged = evidence.slice_requests.is_some() && users.are_said;
            let are_named = managers.are_said && owners.iter().all(|owner| managers.hold(owner));
            let rival = written_in_turns(evidence, history, managers).filter(|_| !is_logged);
            let several = (owners.len() > 1 && !are_named).then(|| shared(slice, &owners));
            let finding = rival.or(several);
            if let Some(finding) = finding.filter(|finding| !finding.advisory || !found.contains(&key)) {
                findings.report(finding);
            }
        }
        findings.note("managedFields show only the last writer of each field");
    }
    let is_partly_claimed = !Who::<PlacementDecision>::of(evidence).is_wholly_claimed();
    if is_partly_claimed && findings.list().iter().any(|finding| finding.advisory) {
        findings.note(SCHEDULER_NOT_NAMED.after("other writers of a slice are a hint only"));
    }
    findings.examined = examined.len();
}

/// The finding on a field manager that writes what a scheduler publishes in turns with those that were named, as the watch
/// saw. What several wrote at a time may be of any of them.
fn written_in_turns(evidence: &Evidence, history: &SliceHistory, managers: &Names) -> Option<Finding> {
    let metadata = &history.last().metadata;
    let name = (&*metadata.namespace, &*metadata.name);
    let mut own: Vec<Timestamp> = Vec::new();
    let who = Who::<PlacementDecision>::of(evidence);
    let mut others: BTreeMap<&str, Vec<(Timestamp, Seen<PlacementDecision>)>> = BTreeMap::new();
    for (before, after) in history.steps().filter(|_| managers.are_said) {
        let authors = authors(&before.object, &after.object);
        let mut alone = authors.iter().filter(|_| authors.len() == 1);
        if authors.iter().any(|author| managers.hold(author)) {
            own.push(after.received());
        } else if let Some(author) = alone.next().filter(|author| may_be_a_producer_s(author))
            && publish_otherwise(&before.object, &after.object)
            && missed::<PlacementDecision>(evidence, Some(name), before.received(), after.received())
                .is_none()
        {
            let seen = Seen::Step(before, after);
            others.entry(author).or_default().push((after.received(), seen));
        }
    }
    let mut others = others.into_values();
    let writes = others.find(|writes| {
        let times: Vec<Timestamp> = writes.iter().map(|(at, _)| *at).collect();
        in_turns(&own, &times)
    })?;
    let first = writes[0].0;
    let tally = Tally::of(&who, writes.into_iter().map(|(_, write)| write), changed_parts);
    let slice = ObjectRef::from(history.last());
    let finding = by_others(slice, &listed(managers.all()), &tally, first);
    Some(finding.at("metadata.managedFields"))
}

/// The programs that own published parts of a slice, but those that wrote a day before the newest of them.
fn owners(slice: &PlacementDecision) -> Vec<&str> {
    let publishers = publishers_of(slice);
    let owners = || entries(slice).filter(|entry| publishers.contains(entry.by()));
    let newest = owners().filter_map(Entry::written_at).max();
    let is_current = |entry: &Entry| {
        let times = newest.zip(entry.written_at());
        times.is_none_or(|(newest, own)| newest.duration_since(own) < OUTDATED)
    };
    let mut known = BTreeSet::new();
    let current = owners().filter(is_current).map(Entry::by);
    current.filter(|manager| known.insert(*manager)).collect()
}

fn shared(slice: &PlacementDecision, owners: &[&str]) -> Finding {
    let names: Vec<String> = owners.iter().map(|owner| redacted(owner)).collect();
    Finding::on(
        ObjectRef::from(slice),
        "several field managers own what a scheduler publishes",
    )
    .at("metadata.managedFields")
    .expected("one field manager")
    .observed(names.join(", "))
    .advisory()
}
