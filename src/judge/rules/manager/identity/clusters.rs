//! Which cluster a profile describes: its name, its identity, and that no profile is missing.

use std::sync::Arc;

use evidence::{
    ObjectRef,
    api::{
        ClusterProfile, Edition, Role,
        names::{CONDITION_JOINED, PROPERTIES_CLUSTER_ID},
    },
};

use crate::{
    engine::{Answer, Hub},
    shared::identity::{Identity, cluster_id, differing_pair, first_shared, identities, ids_agree},
    subjects::{Finding, has_status},
};

const NAME_PATH: &str = "metadata.name";

/// The keys of `identity/name-unique`: the name, unless the cluster left. Its successor may have the name.
pub(in crate::rules) fn name_in_use(profile: &ClusterProfile, _: &Hub) -> Vec<Arc<str>> {
    let has_left = has_status(profile, CONDITION_JOINED, "False");
    (!has_left)
        .then(|| Arc::clone(&profile.metadata.name))
        .into_iter()
        .collect()
}

/// `identity/name-unique`
///
/// No two profiles of one name have different cluster ids. Without ids, two managers with one name are a warning.
pub(in crate::rules) fn name_unique(_: &Arc<str>, namesakes: &[&ClusterProfile], _: &Hub) -> Answer {
    let by_id = PROPERTIES_CLUSTER_ID
        .iter()
        .filter_map(|property| differing_pair(namesakes, |profile| cluster_id(profile, property)));
    if let Some([profile, other]) = by_id.into_iter().find(|[one, other]| !share_an_id(one, other)) {
        let message = "two clusters share a name: their cluster ids differ";
        return Answer::broken(shared_name(profile, other, message));
    }
    match differing_pair(namesakes, named_manager) {
        Some([profile, other]) => {
            let message = "two managers use one name, perhaps for two clusters";
            Answer::warning(shared_name(profile, other, message))
        }
        None => Answer::Kept,
    }
}

fn named_manager(profile: &ClusterProfile) -> Option<&str> {
    Some(profile.manager()).filter(|manager| !manager.is_empty())
}

fn share_an_id(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    PROPERTIES_CLUSTER_ID.iter().any(|property| {
        let id = cluster_id(one, property);
        id.is_some() && id == cluster_id(other, property)
    })
}

fn shared_name(profile: &ClusterProfile, other: &ClusterProfile, message: &str) -> Finding {
    Finding::on(profile, message)
        .at(NAME_PATH)
        .expected("a name that no other cluster on the hub has")
        .observed(format!(
            "{}, as has {}",
            profile.metadata.name,
            ObjectRef::from(other)
        ))
}

/// The keys of `identity/one-profile-per-cluster`: an identity, in editions with inventories one of a namespace.
pub(in crate::rules) fn identity_in_inventory(
    profile: &ClusterProfile,
    hub: &Hub,
) -> Vec<(Identity, Option<Arc<str>>)> {
    let has_inventories = hub.edition(Role::Manager) >= Edition::Y2026M09;
    let inventory = has_inventories.then(|| Arc::clone(&profile.metadata.namespace));
    let identities = identities(profile, hub).into_iter();
    identities.map(|identity| (identity, inventory.clone())).collect()
}

/// `identity/one-profile-per-cluster`
///
/// No two profiles share an identity. Members behind one gateway share all but their cluster ids.
pub(in crate::rules) fn one_profile_per_cluster(
    (identity, _): &(Identity, Option<Arc<str>>),
    profiles: &[&ClusterProfile],
    hub: &Hub,
) -> Answer {
    let [first, others @ ..] = profiles else {
        return Answer::Kept;
    };
    if !ids_agree(profiles) {
        return Answer::Kept;
    }
    let of_first = identities(first, hub);
    let twins = others
        .iter()
        .filter(|other| first_shared(identities(other, hub), &of_first).as_ref() == Some(identity));
    Answer::all(twins.map(|twin| {
        let (path, value) = identity.field(twin);
        Finding::on(
            *twin,
            format!("two profiles describe one cluster: {}", identity.describe()),
        )
        .at(path)
        .expected("a cluster that no other profile describes")
        .observed(format!("{value}, as in {}", ObjectRef::from(*first)))
    }))
}

/// `identity/name-follows-guidance`
///
/// The name was generated from `metadata.generateName`, or begins with the manager's name.
pub(in crate::rules) fn name_follows_guidance(profile: &ClusterProfile, _: &Hub) -> Answer {
    let (name, manager) = (&*profile.metadata.name, profile.manager());
    let prefix = profile.metadata.generate_name.as_deref().unwrap_or_default();
    let follows_manager = !manager.is_empty() && name.starts_with(manager);
    Answer::broken_if(!follows_manager && !is_generated(name, prefix), || {
        Finding::at_path(
            NAME_PATH,
            "name is not generated and does not begin with the manager's name",
        )
        .expected(match manager {
            "" => "a name made by metadata.generateName".to_owned(),
            manager => format!("a name made by metadata.generateName, or {manager}…"),
        })
        .observed(name)
    })
}

/// Whether the API server generated a name from a prefix. It cuts the prefix to 58 characters.
fn is_generated(name: &str, prefix: &str) -> bool {
    const LONGEST_PREFIX: usize = 58;
    let kept = prefix.get(..LONGEST_PREFIX).unwrap_or(prefix);
    let rest = name.strip_prefix(kept).filter(|_| !prefix.is_empty());
    rest.is_some_and(|rest| !rest.is_empty())
}
