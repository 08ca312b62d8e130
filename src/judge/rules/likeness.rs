//! What two profiles can have in common that tells that they describe one cluster.

use evidence::api::{ClusterProfile, names};

use super::{
    alike::digest,
    sameness::{
        Relation, by_all, by_endpoints, by_ids, cluster_id, each_place, is_public, server, share_access,
        share_known_access,
    },
    sets::ClusterSets,
    text::shown,
};

/// With how many earlier profiles that have a trait in common a profile is compared: behind a gateway, thousands may
/// share one server and still be different members.
pub(super) const COMPARED: usize = 8;

/// What two profiles have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trait {
    /// The label `inventory-member-id`.
    MemberId,
    /// A cluster id property: which of [`names::PROPERTIES_CLUSTER_ID`].
    ClusterId(usize),
    /// All endpoints.
    Endpoints,
    /// Server, CA and settings of an access provider.
    Access,
}

impl Trait {
    /// All of them, the most telling first.
    pub(super) const ALL: [Trait; 6] = [
        Trait::MemberId,
        Trait::ClusterId(0),
        Trait::ClusterId(1),
        Trait::ClusterId(2),
        Trait::Endpoints,
        Trait::Access,
    ];

    /// Calls with the digest of each value that a profile has of it.
    pub(super) fn each_digest(self, profile: &ClusterProfile, mut take: impl FnMut(u64)) {
        match self {
            Trait::MemberId => {
                let id = profile.label(names::LABEL_MEMBER_ID);
                id.filter(|id| !id.is_empty())
                    .map(digest)
                    .into_iter()
                    .for_each(take);
            }
            Trait::ClusterId(which) => {
                let id = cluster_id(profile, names::PROPERTIES_CLUSTER_ID[which]);
                id.map(digest).into_iter().for_each(take);
            }
            Trait::Endpoints => {
                let mut places = Vec::new();
                if each_place(profile, |place| places.push(digest(place))) && !places.is_empty() {
                    places.sort_unstable();
                    places.dedup();
                    take(digest(places));
                }
            }
            Trait::Access => {
                let servers = profile.access().filter_map(|provider| server(&provider.cluster));
                servers.map(digest).for_each(take);
            }
        }
    }

    /// Whether two profiles that have it in common describe one cluster: a stronger trait can say that they do not.
    pub(super) fn joins<'a>(
        self,
        sets: &ClusterSets<'a>,
        one: &'a ClusterProfile,
        other: &'a ClusterProfile,
    ) -> bool {
        match self {
            Trait::MemberId => {
                let id = |profile: &'a ClusterProfile| profile.label(names::LABEL_MEMBER_ID);
                let within = one.metadata.namespace == other.metadata.namespace;
                id(one) == id(other) && (within || by_all(sets, one, other) != Relation::Different)
            }
            Trait::ClusterId(_) => by_ids(sets, one, other) == Relation::Same,
            Trait::Endpoints => {
                by_ids(sets, one, other) != Relation::Different && by_endpoints(one, other) == Relation::Same
            }
            Trait::Access => by_all(sets, one, other) != Relation::Different && share_access(one, other),
        }
    }

    /// Whether two profiles may share it though they describe two clusters: nearly every cluster knows itself by an
    /// address for private use, such as that of its own Service.
    pub(super) fn may_be_shared(self, one: &ClusterProfile, other: &ClusterProfile) -> bool {
        match self {
            Trait::MemberId | Trait::ClusterId(_) => false,
            Trait::Endpoints => !is_public(one),
            Trait::Access => !share_known_access(one, other),
        }
    }

    /// Where a profile tells it, the value there, and how to call it. The `twin` is a profile that shares it.
    pub(super) fn told<'a>(
        self,
        profile: &'a ClusterProfile,
        twin: &ClusterProfile,
    ) -> (String, Option<&'a str>, &'static str) {
        match self {
            Trait::MemberId => (
                format!("metadata.labels[{}]", names::LABEL_MEMBER_ID),
                profile.label(names::LABEL_MEMBER_ID),
                "same member id",
            ),
            Trait::ClusterId(which) => {
                let name = names::PROPERTIES_CLUSTER_ID[which];
                (
                    format!("status.properties[{name}].value"),
                    cluster_id(profile, name),
                    "same cluster id",
                )
            }
            Trait::Endpoints => (
                format!("status.properties[{}].value", names::PROPERTY_ENDPOINTS),
                profile
                    .property(names::PROPERTY_ENDPOINTS)
                    .map(|property| &*property.value),
                "same endpoints",
            ),
            Trait::Access => {
                let shared = profile
                    .access()
                    .find(|provider| {
                        let ours = server(&provider.cluster);
                        ours.is_some() && twin.access().any(|theirs| server(&theirs.cluster) == ours)
                    })
                    .map(|provider| (&*provider.name, provider.cluster.server.as_deref()));
                let (name, server) = shared.unwrap_or_default();
                (
                    format!("status.accessProviders[{}].cluster.server", shown(name)),
                    server,
                    "same server and CA",
                )
            }
        }
    }
}
