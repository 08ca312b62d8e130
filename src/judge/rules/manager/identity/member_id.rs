//! The label `inventory-member-id`, which identifies a member within its inventory.

use std::sync::Arc;

use evidence::{
    ObjectRef, Reason,
    api::{ClusterProfile, names::LABEL_MEMBER_ID},
    parse_time,
};
use jiff::Timestamp;

use crate::{
    engine::{Answer, Change, Hub, Value},
    subjects::Finding,
    text::ABSENT,
};

const PATH: &str = "metadata.labels[multicluster.x-k8s.io/inventory-member-id]";

/// A namespace and a member id in it.
type MemberKey = (Arc<str>, String);

/// `identity/member-id-non-empty`
///
/// The member id label, if present, is not empty.
pub(in crate::rules) fn member_id_non_empty(profile: &ClusterProfile, _: &Hub) -> Answer {
    let Some(id) = profile.label(LABEL_MEMBER_ID) else {
        return Answer::NotApplicable;
    };
    Answer::broken_if(id.is_empty(), || {
        Finding::at_path(PATH, "member id is empty")
            .expected("an id that is not empty, or no such label")
            .observed("")
    })
}

/// `identity/member-id-set`
///
/// The profile has the member id label.
pub(in crate::rules) fn member_id_set(profile: &ClusterProfile, _: &Hub) -> Answer {
    Answer::broken_if(profile.label(LABEL_MEMBER_ID).is_none(), || {
        Finding::at_path(PATH, "profile has no member id")
            .expected("an id that is the same for as long as the member is in the inventory")
            .observed(ABSENT)
    })
}

/// `identity/member-id-from-creation`
///
/// The first version of a profile has the member id label.
pub(in crate::rules) fn member_id_from_creation(created: &Change<ClusterProfile>, _: &Hub) -> Answer {
    let has_id = created
        .after
        .is_some_and(|profile| profile.label(LABEL_MEMBER_ID).is_some());
    Answer::broken_if(!has_id, || {
        Finding::at_path(PATH, "profile was created without a member id")
            .expected("a member id in the request that creates the profile")
            .observed(ABSENT)
    })
}

/// `identity/member-id-stable`
///
/// A profile's member id never changes. Its temporary absence is not a change.
pub(in crate::rules) fn member_id(profile: &ClusterProfile) -> Option<Value> {
    let id = profile.label(LABEL_MEMBER_ID).filter(|id| !id.is_empty())?;
    Some(Value {
        path: PATH.to_owned(),
        value: id.to_owned(),
    })
}

/// The keys of `identity/member-id-unique` and `identity/member-id-no-tie`.
pub(in crate::rules) fn member_key(profile: &ClusterProfile, _: &Hub) -> Vec<MemberKey> {
    let id = profile.label(LABEL_MEMBER_ID).filter(|id| !id.is_empty());
    let key = id.map(|id| (Arc::clone(&profile.metadata.namespace), id.to_owned()));
    key.into_iter().collect()
}

/// `identity/member-id-unique`
///
/// No two profiles of a namespace have the same member id, even from different managers.
pub(in crate::rules) fn member_id_unique(
    (_, id): &MemberKey,
    profiles: &[&ClusterProfile],
    _: &Hub,
) -> Answer {
    let [first, others @ ..] = profiles else {
        return Answer::Kept;
    };
    Answer::all(others.iter().map(|profile| {
        Finding::on(*profile, "two profiles of one namespace have the same member id")
            .at(PATH)
            .expected("an id that no other profile of the namespace has")
            .observed(format!("{id}, as has {}", ObjectRef::from(*first)))
    }))
}

/// `identity/member-id-no-tie`
///
/// Of the profiles of a namespace with one member id, exactly one is the oldest. Consumers ignore the younger ones.
pub(in crate::rules) fn member_id_no_tie(
    (_, id): &MemberKey,
    profiles: &[&ClusterProfile],
    _: &Hub,
) -> Answer {
    if let Some(undated) = profiles.iter().find(|profile| creation(profile).is_none()) {
        let object = ObjectRef::from(*undated);
        let unknown = format!("{object} has no creationTimestamp, and others have its member id");
        return Answer::Unknown(Reason::from(unknown));
    }
    let earliest = profiles.iter().filter_map(|profile| creation(profile)).min();
    let mut oldest = profiles.iter().filter(|profile| creation(profile) == earliest);
    let Some(first) = oldest.next() else {
        return Answer::Kept;
    };
    Answer::all(oldest.map(|profile| {
        let created = profile.metadata.creation_timestamp.as_deref().unwrap_or_default();
        Finding::on(*profile, "two profiles with one member id are equally old")
            .at("metadata.creationTimestamp")
            .expected(format!("one oldest profile with {PATH} {id}"))
            .observed(format!("{created}, as has {}", ObjectRef::from(*first)))
    }))
}

fn creation(profile: &ClusterProfile) -> Option<Timestamp> {
    profile
        .metadata
        .creation_timestamp
        .as_deref()
        .and_then(parse_time)
}
