//! Values by which two profiles may identify the same cluster.

use evidence::api::{ClusterProfile, names};

use super::{
    access::{are_told_apart, share_access, share_known_access, shared_access},
    relation::{Relation, by_all, by_endpoints, by_ids, cluster_id, is_public},
};
use crate::{subjects::sets::ClusterSets, text::redacted};

/// Maximum number of profiles compared per shared value: behind a gateway, thousands of different members may share
/// their endpoints.
pub(crate) const MAX_COMPARED: usize = 8;

/// A value that identifies a cluster, if two profiles share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SharedIdentity {
    /// The label `inventory-member-id`.
    MemberId,
    /// A cluster id property: which of [`names::PROPERTIES_CLUSTER_ID`].
    ClusterId(usize),
    /// All endpoints.
    Endpoints,
    /// Server, CA and settings of an access provider.
    Access,
}

impl SharedIdentity {
    /// All identities, the most reliable first.
    pub(crate) const ALL: [SharedIdentity; 6] = [
        SharedIdentity::MemberId,
        SharedIdentity::ClusterId(0),
        SharedIdentity::ClusterId(1),
        SharedIdentity::ClusterId(2),
        SharedIdentity::Endpoints,
        SharedIdentity::Access,
    ];

    /// Whether two profiles that share it describe one cluster. A more reliable value may contradict.
    pub(crate) fn joins<'a>(
        self,
        sets: &ClusterSets<'a>,
        one: &'a ClusterProfile,
        other: &'a ClusterProfile,
    ) -> bool {
        match self {
            SharedIdentity::MemberId => {
                let id = |profile: &'a ClusterProfile| profile.label(names::LABEL_MEMBER_ID);
                let within = one.metadata.namespace == other.metadata.namespace;
                let may_be_one =
                    || by_all(sets, one, other) != Relation::Different && !are_told_apart(one, other);
                id(one) == id(other) && (within || may_be_one())
            }
            SharedIdentity::ClusterId(_) => by_ids(sets, one, other) == Relation::Same,
            SharedIdentity::Endpoints => {
                by_ids(sets, one, other) != Relation::Different
                    && by_endpoints(one, other) == Relation::Same
                    && !are_told_apart(one, other)
            }
            SharedIdentity::Access => {
                by_all(sets, one, other) != Relation::Different
                    && share_access(one, other)
                    && !are_told_apart(one, other)
            }
        }
    }

    /// Whether a profile says anything there.
    pub(crate) fn is_told_by(self, profile: &ClusterProfile) -> bool {
        match self {
            SharedIdentity::MemberId => profile
                .label(names::LABEL_MEMBER_ID)
                .is_some_and(|id| !id.is_empty()),
            SharedIdentity::ClusterId(_) | SharedIdentity::Endpoints | SharedIdentity::Access => true,
        }
    }

    /// Whether two clusters may share it: nearly every cluster uses a private address, such as that of its own
    /// Service.
    pub(crate) fn may_be_shared(self, one: &ClusterProfile, other: &ClusterProfile) -> bool {
        match self {
            SharedIdentity::MemberId | SharedIdentity::ClusterId(_) => false,
            SharedIdentity::Endpoints => !is_public(one),
            SharedIdentity::Access => !share_known_access(one, other),
        }
    }

    /// The path of the field, its value, and a description. The `twin` is a profile that shares the value.
    pub(crate) fn describe<'a>(
        self,
        profile: &'a ClusterProfile,
        twin: &ClusterProfile,
    ) -> (String, Option<&'a str>, &'static str) {
        match self {
            SharedIdentity::MemberId => (
                format!("metadata.labels[{}]", names::LABEL_MEMBER_ID),
                profile.label(names::LABEL_MEMBER_ID),
                "same member id",
            ),
            SharedIdentity::ClusterId(which) => {
                let name = names::PROPERTIES_CLUSTER_ID[which];
                (
                    format!("status.properties[{name}].value"),
                    cluster_id(profile, name),
                    "same cluster id",
                )
            }
            SharedIdentity::Endpoints => (
                format!("status.properties[{}].value", names::PROPERTY_ENDPOINTS),
                profile
                    .property(names::PROPERTY_ENDPOINTS)
                    .map(|property| &*property.value),
                "same endpoints",
            ),
            SharedIdentity::Access => {
                let shared = shared_access(profile, twin)
                    .map(|provider| (&*provider.name, provider.cluster.server.as_deref()));
                let (name, server) = shared.unwrap_or_default();
                (
                    format!("status.accessProviders[{}].cluster.server", redacted(name)),
                    server,
                    "same server and CA",
                )
            }
        }
    }
}
