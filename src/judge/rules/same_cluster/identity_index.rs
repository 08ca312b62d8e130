//! Finds the profiles that share an identity.

use evidence::api::{ClusterProfile, names};

use super::{
    access::access_digests,
    digest_index::{DigestIndex, digest},
    relation::{cluster_ids, each_place},
    shared_identity::SharedIdentity,
};

/// A digest index for each identity, the most reliable first.
#[derive(Debug)]
pub(in crate::rules) struct IdentityIndex([(SharedIdentity, DigestIndex); SharedIdentity::ALL.len()]);

impl Default for IdentityIndex {
    fn default() -> Self {
        Self(SharedIdentity::ALL.map(|identity| (identity, DigestIndex::default())))
    }
}

impl IdentityIndex {
    /// Adds all identities of the profile at that position. Only profiles of the same inventory are grouped; `None` is an
    /// inventory, too. Returns whether the profile identifies its cluster.
    pub(in crate::rules) fn add(
        &mut self,
        profile: &ClusterProfile,
        place: usize,
        inventory: Option<&str>,
    ) -> bool {
        let mut is_identified = false;
        each_digest(profile, |identity, value| {
            if let Some((_, index)) = self.0.iter_mut().find(|(known, _)| *known == identity) {
                index.add(digest((inventory, value)), place);
                is_identified = true;
            }
        });
        is_identified
    }

    /// The identities, the most reliable first, each with its groups ([`DigestIndex::groups`]).
    pub(in crate::rules) fn groups(self) -> impl Iterator<Item = (SharedIdentity, Vec<Vec<usize>>)> {
        self.0
            .into_iter()
            .map(|(identity, index)| (identity, index.groups()))
    }
}

/// Digests of the identities of a profile in an inventory: profiles without a common one are not grouped.
pub(in crate::rules) fn identities(profile: &ClusterProfile, inventory: Option<&str>) -> Vec<u64> {
    let mut identities = Vec::new();
    each_digest(profile, |identity, value| {
        let kind = SharedIdentity::ALL.iter().position(|known| *known == identity);
        identities.push(digest((inventory, kind, value)));
    });
    identities
}

/// Whether a profile identifies its cluster.
pub(in crate::rules) fn is_identified(profile: &ClusterProfile) -> bool {
    // Nearly every profile has one of the first, which are found without reading any address.
    let member_id = profile.label(names::LABEL_MEMBER_ID);
    member_id.is_some_and(|id| !id.is_empty())
        || cluster_ids(profile).next().is_some()
        || !identities(profile, None).is_empty()
}

/// Calls `take` with each identity of a profile, and the digest of its value.
fn each_digest(profile: &ClusterProfile, mut take: impl FnMut(SharedIdentity, u64)) {
    let member_id = profile.label(names::LABEL_MEMBER_ID);
    if let Some(id) = member_id.filter(|id| !id.is_empty()) {
        take(SharedIdentity::MemberId, digest(id));
    }
    for (which, id) in cluster_ids(profile) {
        take(SharedIdentity::ClusterId(which), digest(id));
    }
    let mut places = Vec::new();
    let is_readable = each_place(profile, |place| places.push(digest(place)));
    let endpoints = (is_readable && !places.is_empty()).then(|| {
        places.sort_unstable();
        places.dedup();
        digest(&places)
    });
    if let Some(endpoints) = endpoints {
        take(SharedIdentity::Endpoints, endpoints);
    }
    for provider in access_digests(profile) {
        take(SharedIdentity::Access, provider.access);
        // Behind a gateway, thousands of members have its endpoints: these are few.
        if let Some(endpoints) = endpoints {
            take(SharedIdentity::Endpoints, digest((endpoints, provider.member)));
        }
    }
}
