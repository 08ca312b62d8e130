//! The key that the slices of one decision share.

use std::collections::BTreeMap;

use evidence::{
    Evidence, ObjectRef,
    api::{PlacementDecision, names},
};

use crate::{
    shared::placement::{
        Difference, LogicalDecision, RESCHEDULE, Reads, faults_that_last, logical_decisions, owner_uid,
        placement_key,
    },
    subjects::{Finding, Findings},
    text::redacted,
    who::publisher::publishers_of,
};

/// The path of the label in findings.
pub(super) fn path() -> String {
    format!("metadata.labels[{}]", names::LABEL_DECISION_KEY)
}

/// `placement-slices/key-one-decision`
///
/// The slices of a namespace with one key are of one scheduler, and have one owner.
///
/// A scheduler or an owner that is not named may be any. Other field managers of slices that name no scheduler, and other
/// placement keys of slices with one place, are only hints at two decisions.
pub(in crate::rules) fn key_one_decision(evidence: &Evidence, findings: &mut Findings) {
    let mut is_any_keyed = false;
    faults_that_last(evidence, findings, RESCHEDULE, Reads::Marks, |moment| {
        let decisions = logical_decisions(moment.slices());
        let mut of_key: BTreeMap<(&str, &str), Vec<&LogicalDecision>> = BTreeMap::new();
        for decision in &decisions {
            if let Some(key) = decision.key {
                of_key
                    .entry((decision.namespace, key))
                    .or_default()
                    .push(decision);
            }
        }
        is_any_keyed |= !of_key.is_empty();
        of_key.into_values().flat_map(|of_key| apart(&of_key)).collect()
    });
    if !is_any_keyed {
        findings.examined = 0;
        findings.not_applicable("no slice has a decision key");
    }
}

/// What shows that the slices of one key are of several decisions.
fn apart(of_key: &[&LogicalDecision]) -> Vec<Finding> {
    let slices = || of_key.iter().flat_map(|decision| decision.slices.iter().copied());
    let scheduler = |slice: &PlacementDecision| {
        let scheduler = slice.scheduler();
        (!scheduler.is_empty()).then(|| scheduler.to_owned())
    };
    let schedulers = others(slices(), scheduler).map(|(slice, first, own)| {
        Finding::on(ObjectRef::from(slice), "two schedulers use one decision key")
            .at("schedulerName")
            .expected(format!("{}, as in slice {}", first.1, first.0.metadata.name))
            .observed(own)
    });
    let mut found: Vec<Finding> = schedulers.into_iter().collect();
    // Two schedulers have two owners, and perhaps two of all else: that is one fault.
    if found.is_empty() {
        let owners = others(slices(), |slice| owner_uid(slice).map(str::to_owned));
        found.extend(owners.map(|(slice, first, _)| {
            Finding::on(
                ObjectRef::from(slice),
                "slices of one decision key have different owners",
            )
            .at("metadata.ownerReferences")
            .expected(format!(
                "{}, as in slice {}",
                describe_owner(first.0),
                first.0.metadata.name
            ))
            .observed(describe_owner(slice))
        }));
    }
    if found.is_empty() {
        found.extend(
            slices()
                .next()
                .and_then(|first| slices().find_map(|slice| hint(first, slice))),
        );
    }
    found
}

/// What hints that two slices of one key are of two decisions, if anything does.
fn hint(first: &PlacementDecision, slice: &PlacementDecision) -> Option<Finding> {
    let programs = |slice| {
        publishers_of(slice)
            .into_iter()
            .map(redacted)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let key = |slice| placement_key(slice).unwrap_or_default().to_owned();
    let (message, path, wanted, own) = match Difference::of(first, slice)? {
        Difference::Owners => return None,
        Difference::Programs => (
            "slices of one decision key have different field managers and name no scheduler",
            "metadata.managedFields".to_owned(),
            programs(first),
            programs(slice),
        ),
        Difference::PlacementKeys => (
            "slices of one decision key have different placement keys, and the same place",
            format!("metadata.labels[{}]", names::LABEL_PLACEMENT_KEY),
            key(first),
            key(slice),
        ),
    };
    let finding = Finding::on(ObjectRef::from(slice), message)
        .at(path)
        .expected(format!("{wanted}, as in slice {}", first.metadata.name))
        .observed(own);
    Some(finding.advisory())
}

/// The first slice with each value but that of the first slice that has any, with that first slice and its value.
fn others<'e>(
    slices: impl Iterator<Item = &'e PlacementDecision>,
    value: impl Fn(&PlacementDecision) -> Option<String>,
) -> impl Iterator<Item = (&'e PlacementDecision, (&'e PlacementDecision, String), String)> {
    let mut slices: Vec<&PlacementDecision> = slices.collect();
    slices.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
    let mut first: Option<(&PlacementDecision, String)> = None;
    let mut of_value: BTreeMap<String, &PlacementDecision> = BTreeMap::new();
    for slice in slices {
        if let Some(value) = value(slice) {
            first.get_or_insert_with(|| (slice, value.clone()));
            of_value.entry(value).or_insert(slice);
        }
    }
    let values = of_value.into_iter();
    values.filter_map(move |(value, slice)| {
        let first = first.clone().filter(|first| first.1 != value)?;
        Some((slice, first, value))
    })
}

fn describe_owner(slice: &PlacementDecision) -> String {
    let uid = owner_uid(slice).unwrap_or_default();
    let owners = &slice.metadata.owner_references;
    let owner = owners.iter().find(|owner| *owner.uid == *uid);
    owner.map_or_else(String::new, |owner| {
        format!("{} {} (uid {})", owner.kind, owner.name, owner.uid)
    })
}
