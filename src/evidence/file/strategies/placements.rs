//! Slices of decisions.

use std::sync::Arc;

use proptest::{collection, option, prelude::*};

use super::{few, metadata, shared, text, versions_of};
use crate::{
    SliceHistory,
    api::{ClusterDecision, ClusterProfileReference, OwnerReference, PlacementDecision, SliceMetadata},
};

fn owner() -> impl Strategy<Value = OwnerReference> {
    (shared(), shared(), option::of(any::<bool>())).prop_map(|(one, other, controller)| OwnerReference {
        api_version: Arc::clone(&one),
        kind: Arc::clone(&other),
        name: one,
        uid: other,
        controller,
    })
}

fn decision() -> impl Strategy<Value = ClusterDecision> {
    let reference =
        (shared(), shared()).prop_map(|(name, namespace)| ClusterProfileReference { name, namespace });
    (option::of(reference), option::of(shared())).prop_map(|(cluster_profile_ref, reason)| ClusterDecision {
        cluster_profile_ref,
        reason,
    })
}

pub(super) fn slice() -> impl Strategy<Value = PlacementDecision> {
    let metadata =
        (metadata(), few(owner()), few(text())).prop_map(|(common, owner_references, finalizers)| {
            SliceMetadata {
                common,
                owner_references,
                finalizers,
            }
        });
    let decisions = option::of(collection::vec(decision(), 0..4));
    (shared(), metadata, option::of(shared()), decisions).prop_map(
        |(api_version, metadata, scheduler_name, decisions)| PlacementDecision {
            api_version,
            metadata,
            scheduler_name,
            decisions: decisions.map(Arc::from),
        },
    )
}

pub(super) fn history() -> impl Strategy<Value = SliceHistory> {
    versions_of(slice())
}
