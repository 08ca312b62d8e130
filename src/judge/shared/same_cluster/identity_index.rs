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
pub(crate) struct IdentityIndex([(SharedIdentity, DigestIndex); SharedIdentity::ALL.len()]);

impl Default for IdentityIndex {
    fn default() -> Self {
        Self(SharedIdentity::ALL.map(|identity| (identity, DigestIndex::default())))
    }
}

impl IdentityIndex {
    /// The identities of these profiles, each with its inventory: only those of the same one are grouped, and `None` is
    /// one, too. For a comparison by [`Candidates`](super::Candidates): of a profile that its id tells from all others, the
    /// addresses are left out, which would take most of the time.
    pub(crate) fn of<'a>(
        members: impl Iterator<Item = (&'a ClusterProfile, Option<&'a str>)> + Clone,
    ) -> Self {
        let mut index = Self::default();
        for (place, (profile, inventory)) in members.clone().enumerate() {
            each_name(profile, |identity, value| {
                index.insert(identity, inventory, value, place)
            });
        }
        let are_told_apart = index.told_apart(members.clone().count());
        for ((place, (profile, inventory)), is_told_apart) in members.enumerate().zip(are_told_apart) {
            if !is_told_apart {
                each_address(profile, |identity, value| {
                    index.insert(identity, inventory, value, place)
                });
            }
        }
        index
    }

    /// Adds all identities of the profile at that position.
    pub(crate) fn add(&mut self, profile: &ClusterProfile, place: usize) {
        each_digest(profile, |identity, value| {
            self.insert(identity, None, value, place)
        });
    }

    fn insert(&mut self, identity: SharedIdentity, inventory: Option<&str>, value: u64, place: usize) {
        if let Some((_, index)) = self.0.iter_mut().find(|(known, _)| *known == identity) {
            index.add(digest((inventory, value)), place);
        }
    }

    /// For each of so many profiles whether it alone has its id, and all others have one of the same kind. Candidates for a
    /// profile have all its ids, or none of the same kind: there are none of either.
    fn told_apart(&mut self, count: usize) -> Vec<bool> {
        let mut told_apart = vec![false; count];
        for (identity, index) in &mut self.0 {
            if matches!(identity, SharedIdentity::ClusterId(_)) && index.len() == count {
                let mut is_alone = vec![true; count];
                for place in index.groups().into_iter().flatten() {
                    is_alone[place] = false;
                }
                let both = told_apart.iter_mut().zip(is_alone);
                both.for_each(|(told, alone)| *told |= alone);
            }
        }
        told_apart
    }

    /// The identities, the most reliable first, each with its groups ([`DigestIndex::groups`]).
    pub(crate) fn groups(self) -> impl Iterator<Item = (SharedIdentity, Vec<Vec<usize>>)> {
        self.0
            .into_iter()
            .map(|(identity, mut index)| (identity, index.groups()))
    }
}

/// Digests of the identities of a profile in an inventory: profiles without a common one are not grouped.
pub(crate) fn identities(profile: &ClusterProfile, inventory: Option<&str>) -> Vec<u64> {
    let mut identities = Vec::new();
    each_digest(profile, |identity, value| {
        let kind = SharedIdentity::ALL.iter().position(|known| *known == identity);
        identities.push(digest((inventory, kind, value)));
    });
    identities
}

/// Whether a profile identifies its cluster.
pub(crate) fn is_identified(profile: &ClusterProfile) -> bool {
    // Nearly every profile has one of the first, which are found without reading any address.
    let member_id = profile.label(names::LABEL_MEMBER_ID);
    member_id.is_some_and(|id| !id.is_empty())
        || cluster_ids(profile).next().is_some()
        || !identities(profile, None).is_empty()
}

/// Calls `take` with each identity of a profile, and the digest of its value.
fn each_digest(profile: &ClusterProfile, mut take: impl FnMut(SharedIdentity, u64)) {
    each_name(profile, &mut take);
    each_address(profile, take);
}

/// The same for what names the cluster.
fn each_name(profile: &ClusterProfile, mut take: impl FnMut(SharedIdentity, u64)) {
    let member_id = profile.label(names::LABEL_MEMBER_ID);
    if let Some(id) = member_id.filter(|id| !id.is_empty()) {
        take(SharedIdentity::MemberId, digest(id));
    }
    for (which, id) in cluster_ids(profile) {
        take(SharedIdentity::ClusterId(which), digest(id));
    }
}

/// The same for what leads to the cluster.
fn each_address(profile: &ClusterProfile, mut take: impl FnMut(SharedIdentity, u64)) {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The groups by endpoints of profiles with these ids behind one gateway.
    fn by_endpoints(ids: &[Option<&str>]) -> Vec<Vec<usize>> {
        let profile = |id: &Option<&str>| -> ClusterProfile {
            let mut properties =
                vec![json!({"name": "cluster-endpoints.k8s.io", "value": r#"["gateway.example:443"]"#})];
            properties.extend(id.map(|id| json!({"name": "cluster.clusterset.k8s.io", "value": id})));
            serde_json::from_value(json!({"status": {"properties": properties}})).expect("a profile")
        };
        let profiles: Vec<ClusterProfile> = ids.iter().map(profile).collect();
        let index = IdentityIndex::of(profiles.iter().map(|profile| (profile, None)));
        let mut groups = index.groups();
        let of_endpoints = groups.find(|(identity, _)| *identity == SharedIdentity::Endpoints);
        of_endpoints.expect("one of each identity").1
    }

    #[test]
    fn addresses_are_read_of_those_that_no_id_tells_apart() {
        assert_eq!(by_endpoints(&[Some("a"), Some("b"), Some("c")]), [[0; 0]; 0]);
        assert_eq!(by_endpoints(&[Some("a"), Some("b"), Some("a")]), [[0, 2]]);
        // Whoever has no id may be anybody.
        assert_eq!(by_endpoints(&[Some("a"), Some("b"), None]), [[0, 1, 2]]);
    }
}
