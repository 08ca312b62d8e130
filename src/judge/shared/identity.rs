//! The identity of the cluster that a profile describes.

use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hash, Hasher as _},
};

use evidence::api::{
    AccessProvider, Cluster, ClusterProfile,
    endpoints::{Endpoints, Place},
    names::{PROPERTIES_CLUSTER_ID, PROPERTY_ENDPOINTS},
};

use crate::{
    engine::{Hub, same_access, same_conditions, same_labels, same_properties},
    text::is_placeholder,
};

/// A value that two profiles share if they describe one cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Identity {
    /// A cluster id. It is unique in its ClusterSet; a UUID is unique everywhere, and has no ClusterSet here.
    Id {
        property: &'static str,
        id: String,
        clusterset: Option<String>,
    },
    /// All access providers, in order.
    Access { servers: Vec<Server>, has_ca: bool },
    /// All endpoints of a profile without access providers.
    Endpoints(BTreeSet<String>),
}

/// The server of an access provider.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Server {
    /// Host, port, and path.
    place: String,
    /// A digest of the CA, the TLS server name, the proxy, and the extensions.
    settings: u64,
}

/// Whether two versions of a profile have the same identities.
pub(crate) fn same_identity(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    same_labels(one, other) && same_properties(one, other) && same_access(one, other)
}

/// Whether two versions of a profile have the same identities, and the same conditions.
pub(crate) fn same_name(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    same_labels(one, other) && same_properties(one, other) && same_conditions(one, other)
}

/// Whether two versions of a profile name the same ClusterSets.
pub(crate) fn same_clusterset(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    same_labels(one, other) && same_properties(one, other)
}

/// The identities of a profile's cluster, the most reliable first.
pub(crate) fn identities(profile: &ClusterProfile, hub: &Hub) -> Vec<Identity> {
    let ids = PROPERTIES_CLUSTER_ID.into_iter().filter_map(|property| {
        let id = cluster_id(profile, property)?;
        let clusterset = hub.clusterset_of(profile).filter(|_| !is_uuid(id));
        Some(Identity::Id {
            property,
            id: id.to_owned(),
            clusterset: clusterset.map(str::to_owned),
        })
    });
    ids.chain(access(profile)).chain(endpoints(profile)).collect()
}

/// The most reliable identity that both lists have.
pub(crate) fn first_shared(one: Vec<Identity>, other: &[Identity]) -> Option<Identity> {
    one.into_iter().find(|identity| other.contains(identity))
}

/// Whether no two of these profiles have different cluster ids in one property.
pub(crate) fn ids_agree(profiles: &[&ClusterProfile]) -> bool {
    PROPERTIES_CLUSTER_ID.iter().all(|property| {
        let mut ids = profiles
            .iter()
            .filter_map(|profile| cluster_id(profile, property));
        let first = ids.next();
        ids.all(|id| Some(id) == first)
    })
}

/// The first profile with a value, and the last one with another value, which comes first.
pub(crate) fn differing_pair<'p, V: PartialEq>(
    profiles: &[&'p ClusterProfile],
    value: impl Fn(&'p ClusterProfile) -> Option<V>,
) -> Option<[&'p ClusterProfile; 2]> {
    let mut valued = profiles
        .iter()
        .filter_map(|profile| Some((*profile, value(profile)?)));
    let (last, wanted) = valued.next_back()?;
    let (first, _) = valued.find(|(_, value)| *value != wanted)?;
    Some([last, first])
}

/// A cluster id, unless its value is a placeholder.
pub(crate) fn cluster_id<'p>(profile: &'p ClusterProfile, property: &str) -> Option<&'p str> {
    let id = profile.property(property)?.value.trim();
    (!is_placeholder(id)).then_some(id)
}

impl Identity {
    /// Whether two clusters never share it by chance.
    pub(crate) fn is_proof(&self) -> bool {
        match self {
            Self::Id { id, .. } => is_uuid(id),
            Self::Access { has_ca, .. } => *has_ca,
            Self::Endpoints(_) => false,
        }
    }

    /// A description for messages.
    pub(crate) fn describe(&self) -> &'static str {
        match self {
            Self::Id { .. } => "same cluster id",
            Self::Access { .. } => "same server and CA",
            Self::Endpoints(_) => "same endpoints",
        }
    }

    /// The field that has it, with its value in a profile.
    pub(crate) fn field(&self, profile: &ClusterProfile) -> (String, String) {
        let value_of = |property: &str| {
            profile
                .property(property)
                .map(|property| property.value.to_string())
        };
        match self {
            Self::Id { property, id, .. } => (format!("status.properties[{property}].value"), id.clone()),
            Self::Endpoints(_) => (
                format!("status.properties[{PROPERTY_ENDPOINTS}].value"),
                value_of(PROPERTY_ENDPOINTS).unwrap_or_default(),
            ),
            Self::Access { .. } => {
                let provider = providers(profile).next();
                let name = provider.map_or("", |provider| &provider.name);
                let server = provider.and_then(|provider| provider.cluster.server.as_deref());
                (
                    format!("status.accessProviders[{name}].cluster.server"),
                    server.unwrap_or_default().to_owned(),
                )
            }
        }
    }
}

/// Whether an id is a UUID, with or without dashes.
fn is_uuid(id: &str) -> bool {
    let digits: Vec<u8> = id.bytes().filter(|byte| *byte != b'-').collect();
    digits.len() == 32 && digits.iter().all(u8::is_ascii_hexdigit)
}

/// The access providers that consumers use: a deprecated entry counts unless a new one has its name.
fn providers(profile: &ClusterProfile) -> impl Iterator<Item = &AccessProvider> {
    let new = &profile.status.access_providers;
    let deprecated = profile.status.credential_providers.iter();
    new.iter()
        .chain(deprecated.filter(|old| !new.iter().any(|new| new.name == old.name)))
}

/// All access providers, if each has a server, and one has a CA or a public server.
fn access(profile: &ClusterProfile) -> Option<Identity> {
    let mut servers = Vec::new();
    let (mut has_ca, mut is_public) = (false, false);
    for provider in providers(profile) {
        let cluster = &provider.cluster;
        let place = Place::read(cluster.server.as_deref()?)?;
        let ca = cluster.certificate_authority_data.as_deref().unwrap_or_default();
        has_ca |= !ca.is_empty();
        is_public |= !place.is_private();
        servers.push(Server {
            place: place.to_string(),
            settings: settings(cluster),
        });
    }
    (has_ca || is_public).then_some(Identity::Access { servers, has_ca })
}

fn settings(cluster: &Cluster) -> u64 {
    let mut hasher = DefaultHasher::new();
    cluster.certificate_authority_data.hash(&mut hasher);
    cluster.tls_server_name.hash(&mut hasher);
    cluster.proxy_url.hash(&mut hasher);
    for extension in &cluster.extensions {
        (&extension.name, extension.extension.text()).hash(&mut hasher);
    }
    hasher.finish()
}

/// All endpoints of a profile without access providers, if each is readable and one is public.
fn endpoints(profile: &ClusterProfile) -> Option<Identity> {
    let property = profile.property(PROPERTY_ENDPOINTS)?;
    if providers(profile).next().is_some() {
        return None;
    }
    let list = Endpoints::read(&property.value);
    let places: Vec<Place> = list
        .entries()
        .iter()
        .map(|entry| Place::read(entry))
        .collect::<Option<_>>()?;
    let is_public = places.iter().any(|place| !place.is_private());
    is_public.then(|| Identity::Endpoints(places.iter().map(Place::to_string).collect()))
}
