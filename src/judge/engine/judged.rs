//! Which objects are judged, from when on they no longer are, which clients create profiles, and which profiles belong to
//! other managers.

use evidence::{Requests, api::names::KIND};
use serde::Serialize;

use super::{
    author::{Authors, creates, is_kubectl, owners, owns_part, recorded_entries, requests},
    prelude::*,
};

/// An object that is judged: one namespace and name, which may be deleted and created again.
pub(crate) struct JudgedObject<'e, T> {
    /// Its histories, at least one, in the order of their first appearance.
    pub(crate) histories: Vec<&'e History<T>>,
    /// The run's first write to the object. It is not judged from then on.
    pub(crate) first_touch: Option<Micros>,
}

pub(crate) trait Judged: Tracked + Serialize {
    /// The role that publishes objects of this kind.
    const ROLE: Role;

    fn judged<'h, 'e>(hub: &'h Hub<'e>) -> &'h [JudgedObject<'e, Self>];

    /// The judged objects, and slices in scope that other clients publish.
    fn in_scope<'h, 'e>(hub: &'h Hub<'e>) -> &'h [JudgedObject<'e, Self>] {
        Self::judged(hub)
    }

    /// The histories that judged objects are compared with: the judged ones, and profiles of other managers, but no slices
    /// of other schedulers, and not what a conformance run made.
    fn comparable<'e>(hub: &Hub<'e>) -> Vec<&'e History<Self>>;

    fn authors<'h, 'e>(hub: &'h Hub<'e>) -> &'h Authors<'e>;

    fn log(evidence: &Evidence) -> Option<&Requests> {
        requests(evidence, Self::ROLE.objects()).0
    }

    /// Records that an object has a violation that was open at the end.
    fn wait_for(&self, findings: &mut Findings) {
        let metadata = self.metadata();
        findings.wait_for(Self::ROLE.objects(), (&metadata.namespace, &metadata.name));
    }

    fn has_other_status(&self, before: &Self) -> bool;

    /// The fields that clients write. With `[]`, each entry of the list or the map is a field.
    const FIELDS: &'static [&'static str];

    /// Whether the object waits for its finalizers.
    fn is_terminating(&self) -> bool {
        self.metadata().deletion_timestamp.is_some()
    }
}

impl Judged for ClusterProfile {
    const ROLE: Role = Role::Manager;

    fn judged<'h, 'e>(hub: &'h Hub<'e>) -> &'h [JudgedObject<'e, Self>] {
        hub.profiles()
    }

    fn comparable<'e>(hub: &Hub<'e>) -> Vec<&'e History<Self>> {
        let evidence = hub.evidence;
        let names = hub.profiles().iter().map(JudgedObject::name);
        let judged_and_touched: HashSet<(&str, &str)> = names
            .filter(|(namespace, name)| evidence.is_touched(namespace, name))
            .collect();
        let is_made_by_run = |history: &&History<Self>| {
            let (namespace, name) = key(history);
            evidence.is_touched(namespace, name) && !judged_and_touched.contains(&(namespace, name))
        };
        let profiles = evidence.profiles.iter();
        profiles.filter(|history| !is_made_by_run(history)).collect()
    }

    fn authors<'h, 'e>(hub: &'h Hub<'e>) -> &'h Authors<'e> {
        hub.profile_authors()
    }

    fn has_other_status(&self, before: &Self) -> bool {
        self.status != before.status
    }

    const FIELDS: &'static [&'static str] = &[
        "metadata.labels[]",
        "metadata.annotations[]",
        "spec.displayName",
        "spec.clusterManager",
        "status.version",
        "status.properties[]",
        "status.conditions[]",
        "status.accessProviders[]",
        "status.credentialProviders[]",
    ];
}

impl Judged for PlacementDecision {
    const ROLE: Role = Role::Scheduler;

    fn judged<'h, 'e>(hub: &'h Hub<'e>) -> &'h [JudgedObject<'e, Self>] {
        hub.slices()
    }

    fn in_scope<'h, 'e>(hub: &'h Hub<'e>) -> &'h [JudgedObject<'e, Self>] {
        &hub.slices_in_scope
    }

    fn comparable<'e>(hub: &Hub<'e>) -> Vec<&'e History<Self>> {
        let histories = hub.slices().iter().flat_map(|object| &object.histories);
        histories.copied().collect()
    }

    fn authors<'h, 'e>(hub: &'h Hub<'e>) -> &'h Authors<'e> {
        hub.slice_authors()
    }

    /// A slice has no status.
    fn has_other_status(&self, _: &Self) -> bool {
        false
    }

    const FIELDS: &'static [&'static str] = &["decisions", "schedulerName", "metadata.labels[]"];
}

impl<'e, T: Judged> JudgedObject<'e, T> {
    pub(crate) fn name(&self) -> (&'e str, &'e str) {
        key(self.histories[0])
    }

    /// The object over time, up to the run's first write.
    pub(super) fn timeline(&self, hub: &Hub<'e>) -> Timeline<'e, T> {
        let timeline = Timeline::of_name(hub.evidence, &self.histories);
        match self.first_touch {
            Some(touch) => timeline.until(touch),
            None => timeline,
        }
    }

    /// Whether something held of the object, or of its absence, throughout the last time of that length before the end.
    pub(crate) fn throughout_the_last(
        &self,
        length: Micros,
        hub: &Hub<'e>,
        holds: impl Fn(Option<&'e T>) -> bool,
    ) -> Certainty {
        let timeline = Timeline::of_name(hub.evidence, &self.histories);
        let holds = |place| holds(timeline.object(place));
        timeline.intervals(holds).throughout_the_last(length)
    }

    pub(super) fn current(&self) -> Option<&'e T> {
        self.histories.iter().find_map(|history| history.current())
    }

    pub(crate) fn is_of_run(&self) -> bool {
        self.first_touch == Some(Micros::MIN)
    }

    /// The object as last seen before a moment; none if it was absent.
    pub(crate) fn last_before(&self, at: Timestamp) -> Option<&'e T> {
        let is_there = |history: &&&History<T>| history.deleted.is_none_or(|deleted| deleted >= at);
        let mut last_versions = self.histories.iter().filter(is_there).filter_map(|history| {
            let mut versions = history.versions.iter();
            versions.rfind(|version| version.received() < at)
        });
        last_versions.next().map(|version| &version.object)
    }

    pub(super) fn judged_versions(
        &self,
        history: &'e History<T>,
    ) -> impl Iterator<Item = &'e Version<T>> + '_ {
        let versions = history.versions.iter();
        versions.filter(|version| self.judges(version.received()))
    }

    /// Whether a version that arrived then is judged.
    pub(super) fn judges(&self, arrival: Timestamp) -> bool {
        let touch = self.first_touch;
        touch.is_none_or(|touch| arrival.as_microsecond() < touch)
    }
}

pub(super) fn is_any<T: Tracked>(evidence: &Evidence, holds: impl Fn(&T) -> bool) -> bool {
    let mut objects = T::histories(evidence).iter().flat_map(History::objects);
    objects.any(holds)
}

/// The profiles in scope, with those that the run touched up to then.
pub(super) fn judged_profiles(evidence: &Evidence) -> Vec<JudgedObject<'_, ClusterProfile>> {
    let touches = first_touches(evidence);
    let histories = evidence.profiles.iter().filter(|history| {
        let was_touched = touches.contains_key(&key(history));
        evidence.judges_history(history) || (was_touched && is_in_scope(history, evidence))
    });
    by_name(histories, &touches)
}

fn is_in_scope(history: &ProfileHistory, evidence: &Evidence) -> bool {
    let scope = &evidence.header.scope;
    history.objects().any(|profile| scope.holds(profile))
}

/// The slices in scope that the run did not touch.
pub(super) fn slices_in_scope(evidence: &Evidence) -> Vec<JudgedObject<'_, PlacementDecision>> {
    by_name(evidence.slice_histories(), &BTreeMap::new())
}

/// The slices in scope that the run did not touch, without those that another client is known to publish: replicators,
/// backup tools, and people copy slices with all that a scheduler wrote.
pub(super) fn judged_slices<'e>(
    evidence: &'e Evidence,
    authors: &Authors<'e>,
) -> Vec<JudgedObject<'e, PlacementDecision>> {
    let histories = evidence.slice_histories();
    let histories = histories.filter(|history| !publisher(authors, history).is_other_client());
    by_name(histories, &BTreeMap::new())
}

/// The publisher of a slice: its creator or, if that is unknown, the owner of its scheduler's name or of its decisions.
fn publisher<'e>(authors: &Authors<'e>, history: &'e History<PlacementDecision>) -> Attribution<'e> {
    let is_known = |by: &Attribution| !matches!(by.author, Author::Unknown(_));
    let creator = authors.of_creation(history);
    if is_known(&creator) {
        return creator;
    }
    let owners = ["schedulerName", "decisions"].map(|field| authors.owner_in_list(history.last(), field));
    let by_name = |by: &Attribution| is_known(by) || !by.names.is_empty();
    owners.into_iter().find(by_name).unwrap_or(creator)
}

/// Whether several programs publish slices, and the evidence does not show which of them is the scheduler.
pub(super) fn has_unknown_publisher<'e>(
    authors: &Authors<'e>,
    history: &'e History<PlacementDecision>,
) -> bool {
    let publisher = publisher(authors, history);
    matches!(publisher.author, Author::Unknown(_)) && !publisher.names.is_empty()
}

pub(super) fn by_name<'e, T: Tracked>(
    histories: impl Iterator<Item = &'e History<T>>,
    touches: &BTreeMap<(&str, &str), Micros>,
) -> Vec<JudgedObject<'e, T>> {
    let mut objects: Vec<JudgedObject<'e, T>> = Vec::new();
    let mut places: HashMap<(&str, &str), usize> = HashMap::default();
    for history in histories {
        let place = *places.entry(key(history)).or_insert(objects.len());
        match objects.get_mut(place) {
            Some(object) => object.histories.push(history),
            None => objects.push(JudgedObject {
                histories: vec![history],
                first_touch: touches.get(&key(history)).copied(),
            }),
        }
    }
    objects
}

/// When the run first wrote to each profile that it touched. Profiles that the run created are left out, as are those of
/// other runs, and those that no step names.
fn first_touches(evidence: &Evidence) -> BTreeMap<(&str, &str), Micros> {
    let Some(driver) = &evidence.driver else {
        return BTreeMap::new();
    };
    let mut touches: BTreeMap<(&str, &str), Micros> = BTreeMap::new();
    for step in driver.steps.iter().filter(|step| step.action.is_mutation()) {
        let Some(object) = &step.profile else { continue };
        let key = ObjectKey::from(object);
        if !driver.written_profiles.contains(&key) || evidence.header.other_runs.contains(&key) {
            continue;
        }
        // What the run created, it touched from the beginning.
        let at = match step.action {
            DriverAction::PutForeignProfile => Micros::MIN,
            _ => step.from.as_microsecond(),
        };
        let first = touches.entry((&object.namespace, &object.name)).or_insert(at);
        *first = at.min(*first);
    }
    touches
}

pub(super) fn key<T: Tracked>(history: &History<T>) -> (&str, &str) {
    let metadata = history.last().metadata();
    (&metadata.namespace, &metadata.name)
}

/// A client that created profiles with one manager name.
pub(crate) struct Creator<'e> {
    /// Its user or, without an audit log, its field manager.
    pub(crate) name: &'e str,
    pub(crate) attribution: Attribution<'e>,
    /// The first profile that it created; none for clients that created none.
    pub(crate) created_profile: Option<ObjectRef>,
    /// True if the audit log shows that it wrote the status of a profile with that manager name.
    pub(crate) wrote_status: bool,
}

/// Clients by manager name, their own name, and whether they are the implementation: with configured agents, one user may
/// be two clients.
type Clients<'e> = BTreeMap<(&'e str, &'e str, bool), Creator<'e>>;

/// The creators of the judged profiles, by manager name: the users in the audit log or, if it has no creation, the field
/// managers that own the manager's name.
pub(crate) fn creators<'h>(hub: &'h Hub) -> BTreeMap<&'h str, Vec<Creator<'h>>> {
    let mut clients = by_client(writes_in_log(hub));
    if clients.values().all(|client| client.created_profile.is_none()) {
        clients = by_client(owners_of_manager_names(hub));
    }
    let mut creators: BTreeMap<&str, Vec<Creator>> = BTreeMap::new();
    for ((manager, ..), client) in clients
        .into_iter()
        .filter(|(_, client)| client.created_profile.is_some())
    {
        creators.entry(manager).or_default().push(client);
    }
    creators
}

fn by_client<'h>(writes: impl IntoIterator<Item = (&'h str, Creator<'h>)>) -> Clients<'h> {
    let mut clients = Clients::new();
    for (manager, write) in writes {
        let is_implementation = write.attribution.author == Author::Implementation;
        let key = (manager, write.name, is_implementation);
        match clients.get_mut(&key) {
            Some(client) => {
                client.wrote_status |= write.wrote_status;
                client.created_profile = client.created_profile.take().or(write.created_profile);
            }
            None => drop(clients.insert(key, write)),
        }
    }
    clients
}

/// The writes of profiles in the audit log, if there is one, each by its sender, with the manager's name.
fn writes_in_log<'h>(hub: &'h Hub) -> impl Iterator<Item = (&'h str, Creator<'h>)> {
    let logs = hub.evidence.requests.iter();
    logs.flat_map(move |log| {
        let managers = managers(hub.evidence);
        let writes = log.events.iter().filter(|request| request.is_write());
        writes.filter_map(move |request| {
            let manager = judged_manager(request, &managers, hub.evidence)?;
            let creator = Creator {
                name: &request.user,
                attribution: hub.profile_authors().of_request(request),
                created_profile: creates(request).then(|| object_named(KIND, request.namespace_and_name())),
                wrote_status: request.is_status_write(),
            };
            (creator.attribution.author != Author::Run).then_some((manager, creator))
        })
    })
}

/// The field managers that own the manager's name in a profile. They show no status write by the client that created it.
fn owners_of_manager_names<'h>(hub: &'h Hub) -> Vec<(&'h str, Creator<'h>)> {
    let (mut creators, mut clients) = (Vec::new(), HashSet::default());
    let profiles = hub.evidence.inventory();
    for profile in profiles.filter(|profile| !profile.manager().is_empty()) {
        for entry in recorded_entries(profile).filter(|entry| !entry.manager.is_empty()) {
            let name = &*entry.manager;
            // Few profiles have a field manager of their own.
            if clients.contains(&(profile.manager(), name)) || !owns_part(entry, MANAGER) {
                continue;
            }
            clients.insert((profile.manager(), name));
            let creator = Creator {
                // It has a field manager for each of its subcommands.
                name: if is_kubectl(name) { "kubectl" } else { name },
                attribution: hub.profile_authors().of_field_manager(name),
                created_profile: Some(ObjectRef::from(profile)),
                wrote_status: false,
            };
            creators.push((profile.manager(), creator));
        }
    }
    creators
}

/// The manager names of all profiles, by namespace and name.
fn managers(evidence: &Evidence) -> HashMap<(&str, &str), &str> {
    let profiles = evidence.profiles.iter();
    let managers = profiles.map(|history| (key(history), history.last().manager()));
    managers.collect()
}

/// The manager name of the profile in a request, if profiles with that name are judged.
fn judged_manager<'e>(
    request: &'e Request,
    managers: &HashMap<(&'e str, &'e str), &'e str>,
    evidence: &'e Evidence,
) -> Option<&'e str> {
    let scope = &evidence.header.scope;
    let manager = request.body.as_ref().and_then(|body| body.manager.as_deref());
    let manager = manager.or_else(|| managers.get(&request.namespace_and_name()).copied())?;
    let scope_manager = scope.cluster_manager.as_deref();
    let is_judged =
        scope_manager.is_none_or(|name| name == manager) && scope.holds_namespace(&request.namespace);
    (is_judged && !manager.is_empty()).then_some(manager)
}

pub(crate) fn object_named(kind: &str, (namespace, name): (&str, &str)) -> ObjectRef {
    ObjectRef::new(kind, namespace, name, "", "")
}

/// The field whose owner is the manager of a profile.
const MANAGER: &str = "spec.clusterManager";

/// The profiles of other managers, and the one that the run created for another manager.
///
/// Without a manager's name in the scope, the owner of the name in a profile decides, if the field managers of the
/// implementation are configured.
pub(crate) fn profiles_of_other_managers<'e>(hub: &Hub<'e>) -> Vec<JudgedObject<'e, ClusterProfile>> {
    let evidence = hub.evidence;
    let run_profiles = created_by_run(evidence);
    let configured_names = configured_manager_names(hub);
    let (scope, other_runs) = (&evidence.header.scope, &evidence.header.other_runs);
    let histories = evidence.profiles.iter().filter(|history| {
        let is_of_other = if scope.cluster_manager.is_some() {
            scope.holds_namespace(key(history).0) && !is_in_scope(history, evidence)
        } else {
            has_other_owner(history.last(), &configured_names, hub)
        };
        let is_of_other_run = || other_runs.contains(&ObjectKey::of(history.last()));
        run_profiles.contains(&key(history)) || (is_of_other && !is_of_other_run())
    });
    by_name(histories, &BTreeMap::new())
}

/// The namespaces and names that only profiles of other managers had.
pub(crate) fn names_of_other_managers<'e>(hub: &Hub<'e>) -> BTreeSet<(&'e str, &'e str)> {
    let mut histories: HashMap<(&str, &str), usize> = HashMap::default();
    for history in &hub.evidence.profiles {
        *histories.entry(key(history)).or_default() += 1;
    }
    let mut objects = profiles_of_other_managers(hub);
    objects.retain(|object| histories.get(&object.name()) == Some(&object.histories.len()));
    objects.iter().map(JudgedObject::name).collect()
}

fn created_by_run(evidence: &Evidence) -> BTreeSet<(&str, &str)> {
    let steps = evidence.driver_steps();
    let creations = steps.filter(|step| step.action == DriverAction::PutForeignProfile);
    let profiles = creations.filter_map(|step| step.profile.as_ref());
    let names = profiles.map(|profile| (&*profile.namespace, &*profile.name));
    names.collect()
}

/// The manager names that configured field managers of the implementation set.
fn configured_manager_names<'e>(hub: &Hub<'e>) -> BTreeSet<&'e str> {
    let identity = &hub.claim().cluster_manager;
    if identity.field_managers.is_empty() {
        return BTreeSet::new();
    }
    let is_configured = |name: &&str| identity.has_field_manager(name);
    let profiles = hub.evidence.profiles.iter().map(|history| history.last());
    let profiles = profiles.filter(|profile| owners(*profile, MANAGER).iter().any(is_configured));
    profiles.map(ClusterProfile::manager).collect()
}

/// Whether a profile has the name of another manager, and another client set it.
fn has_other_owner(profile: &ClusterProfile, configured_names: &BTreeSet<&str>, hub: &Hub) -> bool {
    if configured_names.is_empty() || configured_names.contains(profile.manager()) {
        return false;
    }
    let authors = hub.profile_authors();
    let owners = owners(profile, MANAGER);
    let is_other = |name: &&str| authors.of_field_manager(name).author == Author::Other;
    !owners.is_empty() && owners.iter().all(is_other)
}
