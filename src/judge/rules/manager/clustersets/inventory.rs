//! Determines from profiles which inventories represent a ClusterSet.

use std::collections::BTreeMap;

use evidence::{Evidence, ProfileHistory, api::ClusterProfile};

use crate::{
    shared::{
        clocks::is_settled,
        presence::lasts,
        same_cluster::{IdentityIndex, MAX_COMPARED},
    },
    subjects::sets::{ClusterSets, claims},
};

/// The profiles of one namespace.
#[derive(Default)]
pub(super) struct Inventory<'a> {
    /// Whether at least one of them is judged.
    pub(super) is_judged: bool,
    /// Whether at least one of them may be about to change its ClusterSet.
    pub(super) is_moving: bool,
    /// Whether at least one of the steady ones names a ClusterSet.
    pub(super) has_members: bool,
    /// Whether at least one of the steady ones names none.
    has_others: bool,
    /// Those that are neither new nor terminating, and have named the same ClusterSet for longer than the grace
    /// period.
    steady: Vec<&'a ClusterProfile>,
}

/// All inventories on the hub by namespace, without the profiles that the run itself touched.
pub(super) fn inventories(evidence: &Evidence) -> BTreeMap<&str, Inventory<'_>> {
    let mut inventories: BTreeMap<&str, Inventory> = BTreeMap::new();
    for history in &evidence.profiles {
        let touched = |profile: &&ClusterProfile| {
            evidence.is_touched(&profile.metadata.namespace, &profile.metadata.name)
        };
        let Some(profile) = history.current().filter(|profile| !touched(profile)) else {
            continue;
        };
        let inventory = inventories.entry(&*profile.metadata.namespace).or_default();
        inventory.is_judged |= evidence.judges_history(history);
        let speaks = speaks(profile);
        if is_steady(evidence, history) {
            inventory.steady.push(profile);
            inventory.has_members |= speaks;
            inventory.has_others |= !speaks;
        } else {
            inventory.is_moving |= speaks;
        }
    }
    inventories
}

/// Whether a profile names its ClusterSet.
pub(super) fn speaks(profile: &ClusterProfile) -> bool {
    claims(profile).next().is_some()
}

/// Whether a profile is neither new nor terminating, and has named the same ClusterSet for longer than the grace
/// period.
pub(super) fn is_steady(evidence: &Evidence, history: &ProfileHistory) -> bool {
    let profile = history.last();
    let says_the_same = |earlier: &ClusterProfile| {
        let (earlier, now) = (claims(earlier), claims(profile));
        earlier.map(|(_, set)| set).eq(now.map(|(_, set)| set))
    };
    is_settled(evidence, history)
        && (history.versions.len() == 1 || lasts(evidence, history, &[], says_the_same))
}

impl<'a> Inventory<'a> {
    /// The ClusterSet that all its profiles name. An inventory with several ClusterSets, or with profiles that name
    /// none, is a plain one.
    pub(super) fn set(&self) -> Option<&'a str> {
        if self.has_others {
            return None;
        }
        let mut claims = self.steady.iter().flat_map(|profile| claims(profile));
        let (_, set) = claims.next()?;
        claims.all(|(_, other)| other == set).then_some(set)
    }

    /// Whether each of its clusters is also in one of the `others`. Then it may be a plain inventory, and its
    /// ClusterSets have namespaces of their own.
    pub(super) fn is_within(&self, others: &[&Inventory<'a>], sets: &ClusterSets<'a>) -> bool {
        let here = &self.steady;
        let there: Vec<&ClusterProfile> = others.iter().flat_map(|other| &other.steady).copied().collect();
        let all: Vec<&ClusterProfile> = here.iter().chain(&there).copied().collect();
        let mut is_there = vec![false; here.len()];
        let mut index = IdentityIndex::default();
        for (place, profile) in all.iter().enumerate() {
            index.add(profile, place);
        }
        for (kind, groups) in index.groups() {
            for group in groups {
                let (ours, theirs) = group.split_at(group.partition_point(|place| *place < here.len()));
                for place in ours {
                    let mut theirs = theirs.iter().take(MAX_COMPARED);
                    is_there[*place] |= theirs.any(|their| kind.joins(sets, all[*place], all[*their]));
                }
            }
        }
        is_there.into_iter().all(|is_there| is_there)
    }
}
