//! The objects for which slices were made (KEP-5313 › Slicing).

use std::collections::BTreeSet;

use evidence::api::{OwnerReference, PlacementDecision, names};

/// The object for which a slice was made: its controller or, if none is marked as such, its only owner.
pub(crate) fn owner_of(slice: &PlacementDecision) -> Option<&OwnerReference> {
    let owners = slice.metadata.owner_references.iter();
    let owners: Vec<&OwnerReference> = owners.filter(|owner| !is_counterpart(owner, slice)).collect();
    let owner = match &*owners {
        [only] => only,
        _ => owners.iter().find(|owner| owner.controller == Some(true))?,
    };
    Some(*owner).filter(|owner| !owner.uid.is_empty())
}

/// The uid of the object for which a slice was made.
pub(crate) fn owner_uid(slice: &PlacementDecision) -> Option<&str> {
    owner_of(slice).map(|owner| &*owner.uid)
}

/// Whether slices with one key have different owners: they are two decisions.
pub(crate) fn have_two_owners(slices: &[&PlacementDecision]) -> bool {
    let owners = slices.iter().map(|slice| owner_uids(slice));
    let owners: Vec<BTreeSet<&str>> = owners.filter(|owners| !owners.is_empty()).collect();
    let first = owners.first();
    first.is_some_and(|first| owners.iter().any(|other| first.is_disjoint(other)))
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
