//! Logical decisions: the slices that belong together (KEP-5313 › Slicing).

use std::collections::{BTreeMap, BTreeSet};

use evidence::api::{DecisionId, OwnerReference, PlacementDecision, names};

use crate::who::publisher::publishers_of;

/// The slices of one decision: those of one namespace, scheduler and key.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogicalDecision<'e> {
    /// The namespace.
    pub(crate) namespace: &'e str,
    /// The key; none for a slice without one, which is a decision by itself.
    pub(crate) key: Option<&'e str>,
    /// Its slices, by name.
    pub(crate) slices: Vec<&'e PlacementDecision>,
}

/// Groups the slices. A slice without a key, or with an empty one, is a decision by itself. One that waits for its
/// finalizers is on its way out and belongs to none.
pub(crate) fn logical_decisions<'e>(
    slices: impl IntoIterator<Item = &'e PlacementDecision>,
) -> Vec<LogicalDecision<'e>> {
    let mut keyed: BTreeMap<DecisionId, LogicalDecision> = BTreeMap::new();
    let mut single = Vec::new();
    for slice in slices {
        if slice.metadata.deletion_timestamp.is_some() {
            continue;
        }
        let id = DecisionId::of(slice);
        let alone = LogicalDecision {
            namespace: id.namespace,
            key: id.key,
            slices: Vec::new(),
        };
        if id.key.is_some() {
            keyed.entry(id).or_insert(alone).slices.push(slice);
        } else {
            single.push(LogicalDecision {
                slices: vec![slice],
                ..alone
            });
        }
    }
    let mut decisions: Vec<LogicalDecision> = keyed.into_values().chain(single).collect();
    for decision in &mut decisions {
        decision
            .slices
            .sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
    }
    decisions
}

/// The uid of the object for which a slice was made: of its controller or, if none is marked as such, of its only owner.
pub(crate) fn owner_uid(slice: &PlacementDecision) -> Option<&str> {
    let owners = slice.metadata.owner_references.iter();
    let owners: Vec<&OwnerReference> = owners.filter(|owner| !is_counterpart(owner, slice)).collect();
    let owner = match &*owners {
        [only] => only,
        _ => owners.iter().find(|owner| owner.controller == Some(true))?,
    };
    Some(&*owner.uid).filter(|uid| !uid.is_empty())
}

/// What shows that two slices with one key may be of two decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// Each has owners, and they have none in common.
    Owners,
    /// Neither names its scheduler, and other programs publish them.
    Programs,
    /// Each has a placement key of its own, and both have the same place among slices.
    PlacementKeys,
}

impl Difference {
    /// The difference of two slices of one namespace and key, if they have one. A common owner shows one decision.
    pub(crate) fn of(one: &PlacementDecision, other: &PlacementDecision) -> Option<Self> {
        let (owners, others) = (owner_uids(one), owner_uids(other));
        if !owners.is_disjoint(&others) {
            return None;
        }
        if !owners.is_empty() && !others.is_empty() {
            return Some(Self::Owners);
        }
        let is_unnamed = one.scheduler().is_empty() && other.scheduler().is_empty();
        if is_unnamed && are_apart(&publishers_of(one), &publishers_of(other)) {
            return Some(Self::Programs);
        }
        let index = names::LABEL_DECISION_INDEX;
        let (key, other_key) = (placement_key(one)?, placement_key(other)?);
        (one.label(index) == other.label(index) && key != other_key).then_some(Self::PlacementKeys)
    }
}

/// The placement key of a slice, if it has one that is not empty.
pub(crate) fn placement_key(slice: &PlacementDecision) -> Option<&str> {
    let key = slice.label(names::LABEL_PLACEMENT_KEY);
    key.filter(|key| !key.is_empty())
}

/// Whether both sets hold something, and nothing in common.
fn are_apart<T: Ord>(one: &BTreeSet<T>, other: &BTreeSet<T>) -> bool {
    !one.is_empty() && !other.is_empty() && one.is_disjoint(other)
}

/// The uids of a slice's owners but for its counterpart.
fn owner_uids(slice: &PlacementDecision) -> BTreeSet<&str> {
    let owners = slice.metadata.owner_references.iter();
    owners
        .filter(|owner| !is_counterpart(owner, slice))
        .map(|owner| &*owner.uid)
        .filter(|uid| !uid.is_empty())
        .collect()
}

/// Whether an owner is the slice's counterpart in the scheduler's own API: it has the slice's kind and name. A scheduler
/// that copies its decisions owns each slice by another object, whatever request they are for. Open Cluster Management
/// does.
fn is_counterpart(owner: &OwnerReference, slice: &PlacementDecision) -> bool {
    *owner.kind == *names::PLACEMENT_KIND && owner.name == slice.metadata.name
}

/// The base and the number of a name such as `web-0` (KEP-5313 › Consumer Discovery and Usage › deterministic naming).
pub(crate) fn numbered_name(slice: &PlacementDecision) -> Option<(&str, &str)> {
    numbered(&slice.metadata.name)
}

/// What stands before and behind the last hyphen of a name, if that is a number.
fn numbered(name: &str) -> Option<(&str, &str)> {
    let (base, number) = name.rsplit_once('-')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !base.is_empty()).then_some((base, number))
}

impl LogicalDecision<'_> {
    /// `decision web in namespace apps`, or the slice that is a decision by itself.
    pub(crate) fn describe(&self) -> String {
        DecisionId::of(self.slices[0]).describe()
    }
}
