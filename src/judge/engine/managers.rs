//! The managers of profiles: which clients create them, and which profiles belong to other managers.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{
    DriverAction, Evidence, ObjectKey, ObjectRef, ProfileHistory, Request,
    api::{ClusterProfile, names::KIND},
};

use super::{
    Hub,
    author::{Attribution, Author, creates, is_kubectl, owners},
    judged::{JudgedObject, by_name, key},
};
use crate::hash::HashMap;

/// A client that created profiles with one manager name.
pub(crate) struct Creator<'e> {
    /// Its user or, without an audit log, its field manager.
    pub(crate) name: &'e str,
    pub(crate) attribution: Attribution<'e>,
    /// The first profile that it created; none for clients that created none.
    pub(crate) created: Option<ObjectRef>,
    /// True if the audit log shows that it wrote the status of a profile with that manager name.
    pub(crate) wrote_status: bool,
}

/// Clients by manager name, and by their own name. With configured agents, one user may be two clients.
type Clients<'e> = BTreeMap<&'e str, BTreeMap<(&'e str, bool), Creator<'e>>>;

/// The creators of the judged profiles, by manager name: the users in the audit log or, if it has no creation, the field
/// managers that own the manager's name.
pub(crate) fn creators<'h>(hub: &'h Hub) -> BTreeMap<&'h str, Vec<Creator<'h>>> {
    let mut clients = clients_in_log(hub);
    clients.retain(|_, clients| clients.values().any(|client| client.created.is_some()));
    if clients.is_empty() {
        clients = clients_in_managed_fields(hub);
    }
    let creators = clients.into_iter().map(|(manager, clients)| {
        let creators = clients.into_values().filter(|client| client.created.is_some());
        (manager, creators.collect())
    });
    creators.collect()
}

fn clients_in_log<'h>(hub: &'h Hub) -> Clients<'h> {
    let authors = hub.profile_authors();
    let managers = managers(hub.evidence);
    let mut clients = Clients::new();
    let requests = hub.evidence.requests.iter().flat_map(|requests| &requests.events);
    for request in requests.filter(|request| request.is_write()) {
        let Some(manager) = judged_manager(request, &managers, hub.evidence) else {
            continue;
        };
        let attribution = authors.of_request(request);
        if attribution.author == Author::Run {
            continue;
        }
        let client = client(&mut clients, manager, &request.user, attribution);
        client.wrote_status |= request.is_status_write();
        if creates(request) && client.created.is_none() {
            client.created = Some(profile_of(request));
        }
    }
    clients
}

/// Field managers show no status write by the client that created the profile.
fn clients_in_managed_fields<'h>(hub: &'h Hub) -> Clients<'h> {
    let authors = hub.profile_authors();
    let mut clients = Clients::new();
    let profiles = hub.evidence.inventory();
    for profile in profiles.filter(|profile| !profile.manager().is_empty()) {
        let owners = owners(profile, "spec.clusterManager").into_iter();
        for name in owners.filter(|name| !name.is_empty()) {
            let attribution = authors.of_field_manager(name);
            // It has a field manager for each of its subcommands.
            let name = if is_kubectl(name) { "kubectl" } else { name };
            let client = client(&mut clients, profile.manager(), name, attribution);
            client.created.get_or_insert_with(|| ObjectRef::from(profile));
        }
    }
    clients
}

fn client<'c, 'h>(
    clients: &'c mut Clients<'h>,
    manager: &'h str,
    name: &'h str,
    attribution: Attribution<'h>,
) -> &'c mut Creator<'h> {
    let is_implementation = attribution.author == Author::Implementation;
    let of_manager = clients.entry(manager).or_default();
    of_manager.entry((name, is_implementation)).or_insert(Creator {
        name,
        attribution,
        created: None,
        wrote_status: false,
    })
}

/// The manager names of all profiles, by namespace and name.
fn managers(evidence: &Evidence) -> HashMap<(&str, &str), &str> {
    let profiles = evidence.profiles.iter().map(|history| history.last());
    let named = profiles.map(|profile| {
        let metadata = &profile.metadata;
        ((&*metadata.namespace, &*metadata.name), profile.manager())
    });
    named.collect()
}

/// The manager name of the profile in a request, if profiles with that name are judged.
fn judged_manager<'e>(
    request: &'e Request,
    managers: &HashMap<(&'e str, &'e str), &'e str>,
    evidence: &'e Evidence,
) -> Option<&'e str> {
    let scope = &evidence.header.scope;
    let sent = request.body.as_ref().and_then(|body| body.manager.as_deref());
    let manager = sent.or_else(|| managers.get(&request.namespace_and_name()).copied())?;
    let judged = scope.cluster_manager.as_deref();
    let is_judged =
        judged.is_none_or(|judged| judged == manager) && scope.holds_namespace(&request.namespace);
    (is_judged && !manager.is_empty()).then_some(manager)
}

/// The profile in a request.
pub(crate) fn profile_of(request: &Request) -> ObjectRef {
    let (namespace, name) = request.namespace_and_name();
    ObjectRef {
        kind: KIND.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        ..ObjectRef::default()
    }
}

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
