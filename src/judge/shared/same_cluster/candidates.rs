//! Picks the few profiles of a group that a later one is compared with.

use std::collections::HashMap;

use evidence::api::{ClusterProfile, names};

use super::{
    digest_index::digest,
    relation::cluster_ids,
    shared_identity::{MAX_COMPARED, SharedIdentity},
};
use crate::subjects::{name, sets::ClusterSets};

/// One bit for each kind of cluster id.
const ID_KINDS: usize = 1 << names::PROPERTIES_CLUSTER_ID.len();

/// The earlier profiles of a group that shares an identity, a few of each sort. Ids of one kind decide whether two
/// profiles describe one cluster, so a profile need not be compared with those whose ids differ from its own.
#[derive(Default)]
pub(crate) struct Candidates<'a> {
    by_id_kinds: [Sample<'a>; ID_KINDS],
    by_ids: HashMap<u64, Sample<'a>>,
    by_ids_in_set: HashMap<(u64, Option<&'a str>), Sample<'a>>,
}

/// The first few profiles of a sort.
#[derive(Default)]
struct Sample<'a> {
    profiles: Vec<&'a ClusterProfile>,
    is_cut: bool,
}

impl<'a> Candidates<'a> {
    /// The profiles to compare a profile with, and whether others were left out that may describe its cluster.
    pub(crate) fn of(
        &self,
        kind: SharedIdentity,
        sets: &ClusterSets<'a>,
        profile: &'a ClusterProfile,
    ) -> (Vec<&'a ClusterProfile>, bool) {
        let (kinds, ids) = ids(profile);
        let is_by_name = matches!(kind, SharedIdentity::MemberId | SharedIdentity::ClusterId(_));
        let others = self.by_id_kinds.iter().enumerate();
        let others = others.filter(move |(other, _)| is_by_name || other & kinds == 0);
        let own = self.by_ids_in_set.get(&(ids, sets.of_profile(profile)));
        let samples: Vec<&Sample<'a>> = own
            .into_iter()
            .chain(self.by_ids.get(&ids))
            .chain(others.map(|(_, sample)| sample))
            .collect();
        let profiles = samples.iter().flat_map(|sample| &sample.profiles);
        (
            profiles.copied().collect(),
            samples.iter().any(|sample| sample.is_cut),
        )
    }

    /// Adds a profile, for those that come later.
    pub(crate) fn add(&mut self, sets: &ClusterSets<'a>, profile: &'a ClusterProfile) {
        let (kinds, ids) = ids(profile);
        self.by_id_kinds[kinds].add(profile);
        self.by_ids.entry(ids).or_default().add(profile);
        self.by_ids_in_set
            .entry((ids, sets.of_profile(profile)))
            .or_default()
            .add(profile);
    }
}

impl<'a> Sample<'a> {
    /// Adds a version, unless the sample has one of that profile: profiles are compared in all versions.
    fn add(&mut self, profile: &'a ClusterProfile) {
        if self.profiles.iter().any(|known| name(known) == name(profile)) {
            return;
        }
        if self.profiles.len() < MAX_COMPARED {
            self.profiles.push(profile);
        } else {
            self.is_cut = true;
        }
    }
}

/// The kinds of a profile's cluster ids, and a digest of the ids.
fn ids(profile: &ClusterProfile) -> (usize, u64) {
    let ids: Vec<(usize, &str)> = cluster_ids(profile).collect();
    let kinds = ids.iter().fold(0, |kinds, (place, _)| kinds | 1 << place);
    (kinds, digest(ids))
}
