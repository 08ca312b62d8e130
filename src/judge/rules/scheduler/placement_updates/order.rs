//! The order of the clusters in a slice, and of the slices in a decision.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use evidence::{
    Evidence, ObjectRef,
    api::{ClusterProfileReference, DecisionId, PlacementDecision, names},
};

use crate::{
    shared::placement::{DecisionChange, each_decision_change},
    subjects::{Finding, Findings},
};

/// `placement-updates/stable-order`
///
/// A slice without an index keeps the order of its clusters as long as it keeps the clusters.
///
/// With an index the order means something, so it may change.
pub(in crate::rules) fn stable_order(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no slice of several clusters without an index was written while it was watched");
    for history in evidence.slice_histories() {
        let mut writes = 0;
        let mut reordered = Vec::new();
        for (before, after) in history.steps() {
            let (old, new) = (&before.object, &after.object);
            let counts = |slice: &PlacementDecision| {
                slice.label(names::LABEL_DECISION_INDEX).is_none() && slice.clusters().len() > 1
            };
            if !counts(old) || !counts(new) {
                continue;
            }
            writes += 1;
            if is_reordered(old, new) {
                reordered.push(after);
            }
        }
        if writes > 0 {
            findings.examine();
        }
        let Some(first) = reordered.first() else { continue };
        findings.report(
            Finding::on(
                ObjectRef::from(&first.object),
                "the order of the clusters changes, although the clusters stay",
            )
            .at("decisions")
            .expected("the same order in every write, such as by name")
            .observed(format!(
                "{} of {writes} writes changed the order only, first seen at {}",
                reordered.len(),
                first.received()
            )),
        );
    }
}

/// Whether two versions have the same clusters in another order.
fn is_reordered(before: &PlacementDecision, after: &PlacementDecision) -> bool {
    // Versions share a list that stays as it is.
    if before.decisions == after.decisions {
        return false;
    }
    let clusters =
        |slice: &PlacementDecision| -> Vec<ClusterProfileReference> { slice.references().collect() };
    let (mut old, mut new) = (clusters(before), clusters(after));
    if old == new {
        return false;
    }
    old.sort_unstable();
    new.sort_unstable();
    old == new
}

/// `placement-updates/index-follows-order`
///
/// If slices come, go or change places, the indices of those that stay follow.
///
/// Indices that were wrong before are the matter of `placement-slices/index-complete`, as are those of new slices.
pub(in crate::rules) fn index_follows_order(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no decision with indices had other slices between two rests of 30 s");
    let mut settled: HashMap<DecisionId, Indices> = HashMap::new();
    each_decision_change(evidence, |id, _, change| match change {
        DecisionChange::Settled { slices } => {
            let now = Indices::of(slices);
            let before = settled.remove(&id);
            if let Some((before, now)) = before.as_ref().zip(now.as_ref())
                && before.is_complete()
                && before.of_uid != now.of_uid
                && before.of_uid.keys().any(|uid| now.of_uid.contains_key(uid))
            {
                findings.examine();
                if let Some(finding) = stale(id, before, now) {
                    findings.report(finding);
                }
            }
            if let Some(now) = now {
                settled.insert(id, now);
            }
        }
        DecisionChange::Lost => _ = settled.remove(&id),
        _ => {}
    });
}

/// The indices of a decision's slices.
struct Indices<'e> {
    of_uid: BTreeMap<&'e str, u32>,
    /// The slices of each index.
    slices: BTreeMap<u32, Vec<&'e PlacementDecision>>,
}

impl<'e> Indices<'e> {
    /// None if a slice has no index, or no number for one.
    fn of(slices: &[&'e PlacementDecision]) -> Option<Self> {
        let mut indices = Self {
            of_uid: BTreeMap::new(),
            slices: BTreeMap::new(),
        };
        for slice in slices {
            let index = slice.label(names::LABEL_DECISION_INDEX)?.parse().ok()?;
            indices.of_uid.insert(&slice.metadata.uid, index);
            indices.slices.entry(index).or_default().push(slice);
        }
        Some(indices)
    }

    fn count(&self) -> usize {
        self.slices.values().map(Vec::len).sum()
    }

    /// Whether they are 0 to n-1, each once.
    fn is_complete(&self) -> bool {
        let last = self.slices.keys().next_back();
        self.slices.len() == self.count() && last.is_none_or(|last| *last as usize + 1 == self.slices.len())
    }
}

/// The first slice that stayed and whose index should have followed.
fn stale(id: DecisionId, before: &Indices, now: &Indices) -> Option<Finding> {
    // If those that stay have indices of their own that fit, a new slice has the wrong one.
    let mut stayed = now
        .of_uid
        .iter()
        .filter(|(uid, _)| before.of_uid.contains_key(*uid));
    let mut indices = BTreeSet::new();
    let fits = |(_, index): (&&str, &u32)| (*index as usize) < now.count() && indices.insert(*index);
    if now.is_complete() || stayed.all(fits) {
        return None;
    }
    let slices = now.slices.iter().enumerate();
    let wrong = slices.filter(|(rank, (index, slices))| *rank != **index as usize || slices.len() > 1);
    let mut wrong = wrong.flat_map(|(_, (index, slices))| slices.iter().map(move |slice| (*index, *slice)));
    let (index, slice) =
        wrong.find(|(index, slice)| before.of_uid.get(&*slice.metadata.uid) == Some(index))?;
    Some(
        Finding::on(
            ObjectRef::from(slice),
            "a slice keeps its index, although the slices around it changed",
        )
        .at(format!("metadata.labels[{}]", names::LABEL_DECISION_INDEX))
        .expected(format!(
            "its place among {} slices, in {}",
            now.count(),
            id.describe()
        ))
        .observed(format!("{index}, as before")),
    )
}
