//! The profiles of other managers.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{DriverAction, Evidence, ObjectKey, ProfileHistory, api::ClusterProfile};

use super::{
    Hub,
    author::{Author, owners},
    judged::{JudgedObject, by_name, key},
};
use crate::hash::HashMap;

/// The field whose owner is the manager of a profile.
const MANAGER: &str = "spec.clusterManager";

/// The profiles of other managers, and the one that the run created for another manager.
///
/// Without a manager's name in the scope, the owner of the name in a profile decides, if the field managers of the
/// implementation are configured.
pub(crate) fn profiles_of_others<'e>(hub: &Hub<'e>) -> Vec<JudgedObject<'e, ClusterProfile>> {
    let evidence = hub.evidence;
    let created = created_by_run(evidence);
    let own_names = own_manager_names(hub);
    let other_runs = &evidence.header.other_runs;
    let lives = evidence.profiles.iter().filter(|life| {
        let is_of_other = match evidence.header.scope.cluster_manager {
            Some(_) => is_out_of_scope(life, evidence),
            None => has_other_owner(life.last(), &own_names, hub),
        };
        let is_of_other_run = || other_runs.contains(&ObjectKey::of(life.last()));
        created.contains(&key(life)) || (is_of_other && !is_of_other_run())
    });
    by_name(lives, &BTreeMap::new())
}

/// The namespaces and names that only profiles of other managers had.
pub(crate) fn names_of_others<'e>(hub: &Hub<'e>) -> BTreeSet<(&'e str, &'e str)> {
    let mut lives: HashMap<(&str, &str), usize> = HashMap::default();
    for life in &hub.evidence.profiles {
        *lives.entry(key(life)).or_default() += 1;
    }
    let others = profiles_of_others(hub);
    let only = others
        .iter()
        .filter(|object| lives.get(&object.name()) == Some(&object.lives.len()));
    only.map(JudgedObject::name).collect()
}

fn created_by_run(evidence: &Evidence) -> BTreeSet<(&str, &str)> {
    let steps = evidence.driver_steps();
    let created = steps.filter(|step| step.action == DriverAction::PutForeignProfile);
    let profiles = created.filter_map(|step| step.profile.as_ref());
    profiles
        .map(|profile| (&*profile.namespace, &*profile.name))
        .collect()
}

fn is_out_of_scope(life: &ProfileHistory, evidence: &Evidence) -> bool {
    let scope = &evidence.header.scope;
    let is_in_scope = life.versions.iter().any(|version| scope.holds(&version.object));
    !is_in_scope && scope.holds_namespace(&life.last().metadata.namespace)
}

/// The manager names that configured field managers of the implementation set.
fn own_manager_names<'e>(hub: &Hub<'e>) -> BTreeSet<&'e str> {
    let authors = hub.profile_authors();
    let is_own = |name: &&str| {
        let attribution = authors.of_field_manager(name);
        attribution.author == Author::Implementation && !attribution.is_inferred
    };
    let profiles = hub.evidence.profiles.iter().map(|life| life.last());
    let own = profiles.filter(|profile| owners(*profile, MANAGER).iter().any(is_own));
    own.map(ClusterProfile::manager).collect()
}

/// Whether a profile has the name of another manager, and another client set it.
fn has_other_owner(profile: &ClusterProfile, own_names: &BTreeSet<&str>, hub: &Hub) -> bool {
    let authors = hub.profile_authors();
    let owners = owners(profile, MANAGER);
    !own_names.is_empty()
        && !own_names.contains(profile.manager())
        && !owners.is_empty()
        && owners
            .iter()
            .all(|name| authors.of_field_manager(name).author == Author::Other)
}
