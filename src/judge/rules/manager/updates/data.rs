//! How often properties change (KEP-4322 › Scalability implication).

use std::sync::Arc;

use evidence::{Evidence, ProfileHistory, api::ClusterProfile};

use super::{
    budget::{may_overdraw, moments},
    spendable::Writers,
};
use crate::{
    shared::{
        bucket::{BUDGET, Spent, TOO_CLOSE, spent},
        changed_fields::changed_fields,
        writes::{Write, status_writes},
    },
    subjects::{Finding, Findings, Profiles},
    text::redacted,
    time::{Bucket, SECOND},
    who::{Seen, Tally},
};

/// How long a property must change at a pace until it counts as dynamic, not as a burst (the ledger's 10 min).
const LASTING: i64 = 600 * SECOND;

/// The burst is for joins and storms, so a property that keeps changing does not get it.
const WITHOUT_BURST: Bucket = Bucket {
    burst: 1,
    at_least: LASTING,
    ..BUDGET
};

/// `updates/no-dynamic-data`
///
/// No property changes so often that its changes alone exceed the write budget.
pub(in crate::rules) fn no_dynamic_data(profiles: &Profiles, findings: &mut Findings) {
    let evidence = profiles.evidence();
    findings.not_applicable("no profile has properties");
    let who = Writers::of(evidence);
    for history in profiles.histories() {
        if history
            .versions
            .iter()
            .all(|version| version.object.status.properties.is_empty())
        {
            continue;
        }
        findings.examine();
        if !may_overdraw(history) {
            continue;
        }
        for (name, changes) in changes(evidence, history) {
            let moments = moments(&changes);
            match spent(&moments, BUDGET).or(spent(&moments, WITHOUT_BURST)) {
                Spent::Overdrawn(found) => {
                    let steps = &changes[found.places.0..=found.places.1];
                    let steps = steps.iter().map(|step| Seen::Step(step.before, step.after));
                    let by = Tally::of(&who, steps, changed_fields);
                    findings.report(
                        Finding::on(history.last(), "a property changes too often")
                            .at(format!("status.properties[{}].value", redacted(name)))
                            .expected(found.expected())
                            .observed(format!("{}: {by}", found.observed("changes"))),
                    );
                }
                Spent::Doubtful => findings.cannot_tell(TOO_CLOSE),
                Spent::Kept => {}
            }
        }
    }
}

/// When the value of each property changed, appeared or disappeared. Properties are in order of their first change.
fn changes<'a>(evidence: &'a Evidence, history: &'a ProfileHistory) -> Vec<(&'a str, Vec<Write<'a>>)> {
    let mut changes: Vec<(&str, Vec<Write>)> = Vec::new();
    for write in status_writes(evidence, history) {
        let (before, after) = (&write.before.object, &write.after.object);
        if Arc::ptr_eq(&before.status.properties, &after.status.properties) {
            continue;
        }
        for name in names(before, after) {
            let value = |profile: &'a ClusterProfile| profile.property(name).map(|property| &*property.value);
            if value(before) == value(after) {
                continue;
            }
            match changes.iter_mut().find(|(known, _)| *known == name) {
                Some((_, writes)) => writes.push(write.clone()),
                None => changes.push((name, vec![write.clone()])),
            }
        }
    }
    changes
}

/// The names of the properties that either version has, each once.
fn names<'a>(before: &'a ClusterProfile, after: &'a ClusterProfile) -> Vec<&'a str> {
    let mut names: Vec<&str> = after
        .status
        .properties
        .iter()
        .chain(before.status.properties.iter())
        .map(|property| &*property.name)
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}
