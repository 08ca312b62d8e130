//! Which cluster a profile describes: no other cluster has its name, no other profile describes it, and none is missing.

use std::{
    hash::{DefaultHasher, Hash, Hasher as _},
    sync::Arc,
};

use evidence::api::{
    AccessProvider, Cluster,
    endpoints::{Endpoints, Place},
};

use super::access::effective_entries;
use crate::{
    engine::{hub::claims, object_named, same_access, same_conditions},
    rules::prelude::*,
    text::is_placeholder,
};

/// A value that two profiles share if they describe one cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ClusterIdentity {
    /// A cluster id. It is unique in its ClusterSet; a UUID is unique everywhere.
    Id {
        property: &'static str,
        id: String,
        clusterset: Option<String>,
    },
    /// All endpoints of a profile without access providers.
    Endpoints(BTreeSet<String>),
    /// The hosts, ports, and paths of all access providers, each with a digest of its other settings.
    Access {
        servers: Vec<(Box<str>, u64)>,
        has_ca: bool,
    },
}

/// An identity of a profile, and the field that shows it.
struct IdentityInField<'p> {
    identity: ClusterIdentity,
    field: IdentityField<'p>,
    value: &'p str,
}

enum IdentityField<'p> {
    Property(&'static str),
    /// The server of an access provider.
    Server(&'p str),
}

impl ClusterIdentity {
    /// What the profiles share, for messages.
    fn describe(&self) -> &'static str {
        match self {
            ClusterIdentity::Id { .. } => "same cluster id",
            ClusterIdentity::Endpoints(_) => "same endpoints",
            ClusterIdentity::Access { .. } => "same server and CA",
        }
    }

    /// Whether two clusters never share it by chance.
    fn is_proof(&self) -> bool {
        match self {
            ClusterIdentity::Id { id, .. } => is_uuid(id),
            ClusterIdentity::Endpoints(_) => false,
            ClusterIdentity::Access { has_ca, .. } => *has_ca,
        }
    }
}

impl IdentityField<'_> {
    fn path(&self) -> String {
        match self {
            IdentityField::Property(name) => property_path(name),
            IdentityField::Server(provider) => format!("status.accessProviders[{provider}].cluster.server"),
        }
    }
}

/// Whether two versions of a profile have the same identities.
pub(crate) fn same_identity(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    same_value(one, other, PROPERTY_ENDPOINTS)
        && same_ids(one, other)
        && same_access(one, other)
        && claims(one).eq(claims(other))
}

/// Whether two versions of a profile have the same cluster ids, manager, and conditions.
pub(crate) fn same_name(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    one.manager() == other.manager() && same_ids(one, other) && same_conditions(one, other)
}

fn same_ids(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    let mut names = PROPERTIES_CLUSTER_ID.into_iter();
    names.all(|name| same_value(one, other, name))
}

/// Whether two versions of a profile have the same value of a property.
fn same_value(one: &ClusterProfile, other: &ClusterProfile, name: &str) -> bool {
    let [one, other] = [one, other].map(|profile| profile.property(name));
    one.map(|property| &property.value) == other.map(|property| &property.value)
}

/// The keys of `identity/name-unique`: the name, unless the cluster left. Its successor may have the name.
pub(crate) fn name_in_use(profile: &ClusterProfile, _: &Hub) -> Vec<Arc<str>> {
    let has_left = has_status(profile, CONDITION_JOINED, "False");
    let name = (!has_left).then(|| Arc::clone(&profile.metadata.name));
    name.into_iter().collect()
}

/// `identity/name-unique`: no two profiles of one name have different cluster ids. Without ids, two managers with one
/// name are a warning.
pub(crate) fn name_unique(_: &Arc<str>, namesakes: &[&ClusterProfile], _: &Hub) -> Answer {
    let finding = |[profile, other]: [&ClusterProfile; 2], message: &str| {
        let observed = format!("{}, as has {}", profile.metadata.name, ObjectRef::from(other));
        Finding::on(profile, message)
            .at("metadata.name")
            .observed(observed)
    };
    let pair_by = |property: &&str| differing_pair(namesakes, |profile| cluster_id(profile, property));
    let mut by_id = PROPERTIES_CLUSTER_ID.iter().filter_map(pair_by);
    if let Some(pair) = by_id.find(|[one, other]| !share_an_id(one, other)) {
        let message = "two clusters share a name: their cluster ids differ";
        return Answer::broken(finding(pair, message));
    }
    let manager = |profile| Some(ClusterProfile::manager(profile)).filter(|manager| !manager.is_empty());
    let message = "two managers use the same name, possibly for two clusters";
    let pair = differing_pair(namesakes, manager);
    pair.map_or(Answer::Kept, |pair| Answer::warning(finding(pair, message)))
}

fn share_an_id(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    PROPERTIES_CLUSTER_ID.iter().any(|property| {
        let id = cluster_id(one, property);
        id.is_some() && id == cluster_id(other, property)
    })
}

/// The first profile with a value, and the last one with another value, which comes first.
fn differing_pair<'p, V: PartialEq>(
    profiles: &[&'p ClusterProfile],
    value: impl Fn(&'p ClusterProfile) -> Option<V>,
) -> Option<[&'p ClusterProfile; 2]> {
    let profiles = profiles.iter();
    let mut pairs = profiles.filter_map(|profile| Some((*profile, value(profile)?)));
    let (last, last_value) = pairs.next_back()?;
    let (first, _) = pairs.find(|(_, value)| *value != last_value)?;
    Some([last, first])
}

/// A cluster id, unless its value is a placeholder.
fn cluster_id<'p>(profile: &'p ClusterProfile, property: &str) -> Option<&'p str> {
    let id = profile.property(property)?.value.trim();
    (!is_placeholder(id)).then_some(id)
}

/// The keys of `identity/one-profile-per-cluster`: an identity, in editions with inventories one of a namespace.
pub(crate) fn identity_in_inventory(
    profile: &ClusterProfile,
    hub: &Hub,
) -> Vec<(ClusterIdentity, Option<Arc<str>>)> {
    let has_inventories = hub.edition(Role::Manager) >= Edition::Y2026M09;
    let inventory = has_inventories.then(|| Arc::clone(&profile.metadata.namespace));
    let identities = identities(profile, hub).into_iter();
    let keys = identities.map(|entry| (entry.identity, inventory.clone()));
    keys.collect()
}

/// `identity/one-profile-per-cluster`: no two profiles share an identity. Members behind one gateway share all but
/// their cluster ids.
pub(crate) fn one_profile_per_cluster(
    (identity, _): &(ClusterIdentity, Option<Arc<str>>),
    profiles: &[&ClusterProfile],
    hub: &Hub,
) -> Answer {
    let [first, duplicates @ ..] = profiles else {
        return Answer::Kept;
    };
    if !ids_agree(profiles) {
        return Answer::Kept;
    }
    let of_first = identities(first, hub);
    let message = format!("two profiles describe one cluster: {}", identity.describe());
    Answer::all(duplicates.iter().filter_map(|duplicate| {
        let (path, value) = shared_field(identity, identities(duplicate, hub), &of_first)?;
        let observed = format!("{value}, as in {}", ObjectRef::from(*first));
        let finding = Finding::on(*duplicate, message.as_str()).at(path);
        Some(finding.observed(observed))
    }))
}

/// The keys of `clustersets/one-set-per-cluster`: identities that no two clusters share, in the namespaces of ClusterSets.
pub(crate) fn proof_in_clusterset(profile: &ClusterProfile, hub: &Hub) -> Vec<ClusterIdentity> {
    if hub.clusterset_of_namespace(&profile.metadata.namespace).is_none() {
        return Vec::new();
    }
    let identities = proofs(profile, hub).into_iter();
    identities.map(|entry| entry.identity).collect()
}

/// `clustersets/one-set-per-cluster`: no cluster has profiles in the namespaces of two ClusterSets.
pub(crate) fn one_set_per_cluster(
    identity: &ClusterIdentity,
    profiles: &[&ClusterProfile],
    hub: &Hub,
) -> Answer {
    let clusterset = |profile: &ClusterProfile| hub.clusterset_of_namespace(&profile.metadata.namespace);
    let Some(pair) = differing_pair(profiles, clusterset).filter(|_| ids_agree(profiles)) else {
        return Answer::Kept;
    };
    let [identities, peers] = pair.map(|profile| proofs(profile, hub));
    let Some((path, value)) = shared_field(identity, identities, &peers) else {
        return Answer::Kept;
    };
    let [set, other_set] = pair.map(|profile| clusterset(profile).unwrap_or_default());
    let other = ObjectRef::from(pair[1]);
    let message = format!(
        "one cluster is in the namespaces of two ClusterSets: {}",
        identity.describe()
    );
    Answer::broken(
        Finding::on(pair[0], message)
            .at(path)
            .expected(format!("a cluster that is only in ClusterSet {set}"))
            .observed(format!("{value}, as in {other} of ClusterSet {other_set}")),
    )
}

/// The field by which a profile shows an identity, and its value. None if it shares a more reliable one with the others.
fn shared_field<'p>(
    identity: &ClusterIdentity,
    identities: Vec<IdentityInField<'p>>,
    peers: &[IdentityInField],
) -> Option<(String, &'p str)> {
    let is_shared = |entry: &IdentityInField| peers.iter().any(|other| entry.identity == other.identity);
    let first = identities.into_iter().find(is_shared)?;
    (first.identity == *identity).then(|| (first.field.path(), first.value))
}

/// The identities that no two clusters share by chance.
fn proofs<'p>(profile: &'p ClusterProfile, hub: &Hub) -> Vec<IdentityInField<'p>> {
    let mut identities = identities(profile, hub);
    identities.retain(|entry| entry.identity.is_proof());
    identities
}

/// The identities of a profile's cluster, the most reliable first.
fn identities<'p>(profile: &'p ClusterProfile, hub: &Hub) -> Vec<IdentityInField<'p>> {
    let ids = PROPERTIES_CLUSTER_ID.into_iter().filter_map(|property| {
        let value = cluster_id(profile, property)?;
        let clusterset = hub.clusterset_of(profile).filter(|_| !is_uuid(value));
        let identity = ClusterIdentity::Id {
            property,
            id: value.to_owned(),
            clusterset: clusterset.map(str::to_owned),
        };
        let field = IdentityField::Property(property);
        Some(IdentityInField {
            identity,
            field,
            value,
        })
    });
    ids.chain(access(profile)).chain(endpoints(profile)).collect()
}

/// Whether no two of these profiles have different cluster ids in one property.
fn ids_agree(profiles: &[&ClusterProfile]) -> bool {
    let mut properties = PROPERTIES_CLUSTER_ID.iter();
    properties.all(|property| differing_pair(profiles, |profile| cluster_id(profile, property)).is_none())
}

/// Whether an id is a UUID, with or without dashes.
fn is_uuid(id: &str) -> bool {
    let digits: Vec<u8> = id.bytes().filter(|byte| *byte != b'-').collect();
    digits.len() == 32 && digits.iter().all(u8::is_ascii_hexdigit)
}

fn providers(profile: &ClusterProfile) -> impl Iterator<Item = &AccessProvider> {
    effective_entries(profile).map(|entry| entry.provider)
}

/// The access providers, in order. None unless each has a server, and one has a CA or a public server.
fn access(profile: &ClusterProfile) -> Option<IdentityInField<'_>> {
    // A large fleet has many of these, most of one entry.
    let mut servers = Vec::with_capacity(1);
    let (mut has_ca, mut is_public) = (false, false);
    for provider in providers(profile) {
        let cluster = &provider.cluster;
        let place = Place::read(cluster.server.as_deref()?)?;
        let ca = cluster.certificate_authority_data.as_deref();
        has_ca |= ca.is_some_and(|ca| !ca.is_empty());
        is_public |= !place.is_private();
        servers.push((place.to_string().into_boxed_str(), digest(cluster)));
    }
    let first = providers(profile).next().filter(|_| has_ca || is_public)?;
    Some(IdentityInField {
        identity: ClusterIdentity::Access { servers, has_ca },
        field: IdentityField::Server(&first.name),
        value: first.cluster.server.as_deref()?,
    })
}

/// A digest of the CA, the TLS server name, the proxy, and the extensions.
fn digest(cluster: &Cluster) -> u64 {
    let mut hasher = DefaultHasher::new();
    let ca = &cluster.certificate_authority_data;
    (ca, &cluster.tls_server_name, &cluster.proxy_url).hash(&mut hasher);
    for extension in &cluster.extensions {
        (&extension.name, extension.extension.text()).hash(&mut hasher);
    }
    hasher.finish()
}

/// All endpoints of a profile without access providers, if each is readable and one is public.
fn endpoints(profile: &ClusterProfile) -> Option<IdentityInField<'_>> {
    let property = profile.property(PROPERTY_ENDPOINTS)?;
    if providers(profile).next().is_some() {
        return None;
    }
    let list = Endpoints::read(&property.value);
    let places = list.entries().iter().map(|entry| Place::read(entry));
    let places: Vec<Place> = places.collect::<Option<_>>()?;
    let is_public = places.iter().any(|place| !place.is_private());
    is_public.then(|| IdentityInField {
        identity: ClusterIdentity::Endpoints(places.iter().map(Place::to_string).collect()),
        field: IdentityField::Property(PROPERTY_ENDPOINTS),
        value: &property.value,
    })
}

/// What counts is how many profiles there were throughout this time before the end.
const AT_END: Micros = 120 * SECOND;

/// `identity/expected-profiles`: there are as many profiles of joined members as the user expects. More are a warning.
pub(crate) fn expected_profiles(hub: &Hub) -> Vec<Answer> {
    let profiles = hub.profiles().iter().filter(|object| !object.is_of_run());
    let present = profiles.clone().filter(|object| was_at_end(object, true, hub));
    let present = present.count();
    let is_possible = |object: &&_| was_at_end(object, true, hub) || !was_at_end(object, false, hub);
    let possible = profiles.filter(is_possible).count();
    let expected = hub.claim().expected_profiles.unwrap_or(present);
    let all = object_named(KIND, ("", "*"));
    let [expected_number, observed] =
        [expected, present].map(|count| format!("{count} profiles of joined members"));
    let finding = Finding::at_field_of(all, "metadata.name", observed).expected(expected_number);
    vec![if possible < expected {
        Answer::broken(finding)
    } else if present < expected {
        Answer::unknown("the number of profiles changed just before the end, or is unknown")
    } else if present > expected {
        Answer::warning(finding)
    } else {
        Answer::Kept
    }]
}

/// Whether a joined member surely had a profile of a name all the time at the end, or surely had none.
fn was_at_end<'e>(object: &JudgedObject<'e, ClusterProfile>, is_present: bool, hub: &Hub<'e>) -> bool {
    let holds = |profile: Option<&_>| profile.is_some_and(has_member) == is_present;
    object.throughout_the_last(AT_END, hub, holds) == Certainty::Yes
}
