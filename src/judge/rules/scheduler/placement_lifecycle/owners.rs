//! The owners with which slices are deleted.

use evidence::api::{
    OwnerReference, PlacementDecision,
    names::{GROUP, KIND},
};

use crate::{
    engine::{Answer, Hub},
    subjects::Finding,
};

/// `placement-lifecycle/owner-collects`
pub(in crate::rules) fn owner_collects(slice: &PlacementDecision, _: &Hub) -> Answer {
    let owners = &slice.metadata.owner_references;
    let is_profile =
        |owner: &&OwnerReference| *owner.kind == *KIND && owner.api_version.split('/').next() == Some(GROUP);
    let (message, observed) = match owners.iter().find(is_profile) {
        Some(profile) => (
            "the slice is deleted with one of the clusters",
            format!("{KIND} {}", profile.name),
        ),
        None if owners.is_empty() => (
            "no owner reference ties the slice to its request",
            "no owner".to_owned(),
        ),
        None => return Answer::Kept,
    };
    Answer::broken(
        Finding::at_path("metadata.ownerReferences", message)
            .expected("the request that the slice answers")
            .observed(observed),
    )
}
