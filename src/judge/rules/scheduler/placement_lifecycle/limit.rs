//! Decisions that cross the limit of a slice.

use std::collections::BTreeSet;

use evidence::{
    Reason,
    api::{
        ClusterProfile, PlacementDecision,
        names::{CONDITION_HEALTHY, CONDITION_JOINED, LABEL_DECISION_KEY, LARGEST_SLICE},
    },
    clusters_of,
};

use crate::{
    engine::{Answer, PlacementStep},
    subjects::{Finding, has_status},
    text::counted,
};

/// How many members more than requested there must be: a scheduler may have reasons not to select some of them.
const SPARE: usize = 3;

/// `placement-lifecycle/crosses-the-limit`
///
/// A decision gets a second slice for its 101st cluster, and loses it with that cluster. No slice is ever larger.
pub(in crate::rules) fn crosses_the_limit(step: &PlacementStep) -> Answer {
    if let Some(large) = largest_slice(step).filter(|slice| slice.clusters().len() > LARGEST_SLICE) {
        let finding = Finding::on(large, "a slice has more than 100 clusters").at("decisions");
        let (limit, count) = (
            counted(LARGEST_SLICE, "cluster"),
            counted(large.clusters().len(), "cluster"),
        );
        return Answer::broken(finding.expected(format!("at most {limit}")).observed(count));
    }
    let asked = step.request.clusters;
    let clusters = counted(asked, "cluster");
    let expected = match asked.div_ceil(LARGEST_SLICE) {
        0 | 1 => clusters,
        _ => format!("{clusters} in several slices"),
    };
    let is_met = |slices: &[&PlacementDecision]| step.request.is_met_by(slices);
    step.expect(&expected, is_met, |slices| shortfall(step, slices))
}

/// The slice that had the most clusters from the action until the next one.
fn largest_slice<'s>(step: &PlacementStep<'s, '_>) -> Option<&'s PlacementDecision> {
    let states = step.states_until_next(step.taken.from.as_microsecond());
    let slices = states.flat_map(|state| state.slices.iter().copied());
    slices.max_by_key(|slice| slice.clusters().len())
}

fn shortfall(step: &PlacementStep, slices: &[&PlacementDecision]) -> Result<Finding, Reason> {
    let (asked, count) = (step.request.clusters, clusters_of(slices).len());
    if let Some(empty) = empty_slice(slices).filter(|_| count == asked) {
        return Ok(Finding::on(empty, "an empty slice is left beside others").at("decisions"));
    }
    let Some(last) = slices
        .last()
        .filter(|_| asked > LARGEST_SLICE && count == LARGEST_SLICE)
    else {
        return Err("the decision has other clusters than were asked for".into());
    };
    let references = clusters_of(slices);
    let namespaces: BTreeSet<&str> = references.iter().map(|reference| &*reference.namespace).collect();
    let is_selectable = |profile: &&ClusterProfile| namespaces.contains(&*profile.metadata.namespace);
    let members = well_members(step).filter(is_selectable).count();
    if members < asked + SPARE {
        let members = counted(members, "member");
        return Err(
            format!("only {members} in the namespaces of the decision stayed joined and healthy").into(),
        );
    }
    Ok(Finding::on(*last, "a decision ends where its first slice is full").at("decisions"))
}

/// A slice without clusters that has another slice of its key next to it.
fn empty_slice<'s>(slices: &[&'s PlacementDecision]) -> Option<&'s PlacementDecision> {
    let is_of_one = |one: &PlacementDecision, other: &PlacementDecision| {
        let key = one.label(LABEL_DECISION_KEY);
        one.metadata.uid != other.metadata.uid
            && one.metadata.namespace == other.metadata.namespace
            && key.is_some()
            && key == other.label(LABEL_DECISION_KEY)
    };
    let mut empty = slices.iter().copied().filter(|slice| slice.clusters().is_empty());
    empty.find(|slice| slices.iter().any(|other| is_of_one(slice, other)))
}

/// The members that were joined and healthy both at the request and when the run gave up.
pub(super) fn well_members<'h>(step: &'h PlacementStep) -> impl Iterator<Item = &'h ClusterProfile> {
    let is_well = |profile: &&ClusterProfile| {
        has_status(profile, CONDITION_JOINED, "True") && has_status(profile, CONDITION_HEALTHY, "True")
    };
    let taken = step.taken;
    step.hub.profiles().iter().filter_map(move |object| {
        object.last_before(taken.until).filter(is_well)?;
        object.last_before(taken.last_deadline()).filter(is_well)
    })
}
