//! Decisions that cross the limit of a slice.

use std::collections::BTreeSet;

use evidence::{
    DriverAction, Evidence, Scenario,
    api::{
        PlacementDecision,
        names::{LABEL_DECISION_KEY, LARGEST_SLICE},
    },
    clusters_of,
};

use super::answer::{Request, count_of, requests};
use crate::{
    subjects::{Finding, Findings},
    text::counted,
};

/// How many members more than asked for have to be there, for a scheduler to have a choice. It may pass over one for reasons
/// of its own, such as the hub itself.
const SPARE: usize = 3;

/// `placement-lifecycle/crosses-the-limit`
///
/// A decision gets a second slice for its 101st cluster, and loses it with that cluster.
///
/// Slices may be filled partly, as EndpointSlices are, but not be empty beside others. One that is full and has others beside
/// it shows that the limit has cut the decision: all of them need the decision's key. A decision that has another number of
/// clusters than was asked for shows nothing of the limit, unless it ends just there though members are to spare.
pub(in crate::rules) fn crosses_the_limit(evidence: &Evidence, findings: &mut Findings) {
    for request in requests(evidence, findings, Scenario::SliceLimit, DriverAction::Reschedule) {
        let asked = request.placement.clusters;
        let what = match asked.div_ceil(LARGEST_SLICE) {
            0 | 1 => counted(asked, "cluster"),
            _ => format!("{} in several slices", counted(asked, "cluster")),
        };
        request.judge(
            findings,
            request.step.from,
            &what,
            |slices| {
                let is_cut = !slices.iter().any(|slice| is_too_large(slice));
                request.placement.is_met_by(slices) && is_cut && without_key(slices).is_none()
            },
            |slices| shortfall(&request, slices),
        );
    }
}

fn shortfall(request: &Request<'_>, slices: &[&PlacementDecision]) -> Finding {
    let (asked, count) = (request.placement.clusters, count_of(slices));
    let large = slices.iter().find(|slice| is_too_large(slice));
    let (message, slice) = if let Some(large) = large {
        ("a slice has more than 100 clusters", Some(large))
    } else if let (true, Some(empty)) = (count == asked, needless(slices)) {
        ("an empty slice is left beside others", Some(empty))
    } else if let (true, Some(slice)) = (count == asked, without_key(slices)) {
        (
            "a full slice has others beside it, and not all have the decision's key",
            Some(slice),
        )
    } else if asked > LARGEST_SLICE
        && count == LARGEST_SLICE
        && members_beside(request, slices) >= asked + SPARE
    {
        ("a decision ends where its first slice is full", slices.last())
    } else {
        return request.other_clusters(slices);
    };
    let object = slice.map_or_else(|| request.object(slices), |slice| (*slice).into());
    Finding::on(object, message).at("decisions")
}

/// How many members there were to select, in the namespaces from which the decision selects: another one may have the
/// same members again.
fn members_beside(request: &Request<'_>, slices: &[&PlacementDecision]) -> usize {
    let references = clusters_of(slices);
    let namespaces: BTreeSet<&str> = references.iter().map(|reference| &*reference.namespace).collect();
    let members = request.members_that_stay_well();
    members
        .filter(|profile| namespaces.contains(&*profile.metadata.namespace))
        .count()
}

/// The first slice without a key, if several slices are there and one is full.
///
/// A scheduler may answer in several namespaces, or with several decisions for the same clusters: those need no key.
fn without_key<'s, 'e>(slices: &'s [&'e PlacementDecision]) -> Option<&'s &'e PlacementDecision> {
    let is_full = |slice: &&PlacementDecision| slice.clusters().len() == LARGEST_SLICE;
    let is_in_one_namespace = slices
        .iter()
        .all(|slice| slice.metadata.namespace == slices[0].metadata.namespace);
    let named: usize = slices.iter().map(|slice| slice.clusters().len()).sum();
    let is_cut = slices.len() > 1 && is_in_one_namespace && named == count_of(slices);
    let mut unkeyed = slices
        .iter()
        .filter(|slice| slice.label(LABEL_DECISION_KEY).is_none());
    unkeyed.next().filter(|_| is_cut && slices.iter().any(is_full))
}

/// An empty slice that has others of its decision beside it.
fn needless<'s, 'e>(slices: &'s [&'e PlacementDecision]) -> Option<&'s &'e PlacementDecision> {
    let key = |slice: &PlacementDecision| slice.label(LABEL_DECISION_KEY).map(str::to_owned);
    let is_of_one = |one: &PlacementDecision, other: &PlacementDecision| {
        !std::ptr::eq(one, other)
            && one.metadata.namespace == other.metadata.namespace
            && key(one).is_some()
            && key(one) == key(other)
    };
    let mut empty = slices.iter().filter(|slice| slice.clusters().is_empty());
    empty.find(|slice| slices.iter().any(|other| is_of_one(slice, other)))
}

fn is_too_large(slice: &PlacementDecision) -> bool {
    slice.clusters().len() > LARGEST_SLICE
}
