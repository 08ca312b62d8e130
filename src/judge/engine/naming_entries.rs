//! The slices of a decision, and the profiles that they name.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{
    SliceHistory,
    api::{ClusterDecision, PlacementDecision, names::LABEL_DECISION_KEY},
};

use super::{Hub, Judged, judged::has_unknown_publisher, named_profiles::ProfileName};
use crate::{owners::owner_uid, timeline::Timeline};

/// What the slices of a decision have in common: namespace, scheduler, and the key, the owner, or the name.
type SharedBy<'e> = (&'e str, &'e str, &'e str);

pub(super) struct DecisionSlices<'e> {
    shared: SharedBy<'e>,
    pub(super) lives: Vec<&'e SliceHistory>,
}

/// An entry of a slice that names a profile.
#[derive(Clone, Copy)]
pub(super) struct NamingEntry<'e> {
    pub(super) slice: &'e PlacementDecision,
    pub(super) index: usize,
    pub(super) decision: &'e ClusterDecision,
    pub(super) name: ProfileName<'e>,
}

impl<'e> DecisionSlices<'e> {
    /// The judged slices by decision.
    pub(super) fn all(hub: &Hub<'e>) -> Vec<Self> {
        let mut decisions: BTreeMap<SharedBy, Vec<&SliceHistory>> = BTreeMap::new();
        for life in hub.slices().iter().flat_map(|object| &object.lives) {
            let shared: BTreeSet<SharedBy> = life
                .versions
                .iter()
                .map(|version| shared_by(&version.object))
                .collect();
            for shared in shared {
                decisions.entry(shared).or_default().push(life);
            }
        }
        decisions
            .into_iter()
            .map(|(shared, lives)| Self { shared, lives })
            .collect()
    }

    fn holds(&self, slice: &PlacementDecision) -> bool {
        !slice.is_terminating() && shared_by(slice) == self.shared
    }

    pub(super) fn current(&self) -> impl Iterator<Item = &'e PlacementDecision> {
        self.lives.iter().filter_map(|life| life.current())
    }

    pub(super) fn names_any(&self, life: &'e SliceHistory) -> bool {
        let mut versions = life.versions.iter().map(|version| &version.object);
        versions.any(|slice| self.holds(slice) && naming_entries(slice).next().is_some())
    }

    /// An entry for each profile and each reason for choosing it.
    pub(super) fn distinct_entries(&self) -> impl Iterator<Item = NamingEntry<'e>> {
        let versions = self.lives.iter().flat_map(|life| &life.versions);
        let slices = versions
            .map(|version| &version.object)
            .filter(|slice| self.holds(slice));
        let entries = slices.flat_map(naming_entries);
        let distinct: BTreeMap<(ProfileName, &str), NamingEntry> = entries
            .map(|entry| ((entry.name, entry.reason()), entry))
            .collect();
        distinct.into_values()
    }

    /// The first entry that names each of some profiles in each moment.
    pub(super) fn entries_of(
        &self,
        timeline: &Timeline<'e, PlacementDecision>,
        wanted: &BTreeSet<ProfileName<'e>>,
    ) -> BTreeMap<ProfileName<'e>, Vec<Option<NamingEntry<'e>>>> {
        let count = timeline.moments().len();
        let mut by_name: BTreeMap<_, _> = wanted.iter().map(|name| (*name, vec![None; count])).collect();
        for place in 0..count {
            let versions = timeline.objects(place).unwrap_or_default().iter();
            let slices = versions
                .map(|version| &version.object)
                .filter(|slice| self.holds(slice));
            for entry in slices.flat_map(naming_entries) {
                let Some(places) = by_name.get_mut(&entry.name) else {
                    continue;
                };
                let is_first = |first: &NamingEntry| entry.place() < first.place();
                if places[place].as_ref().is_none_or(is_first) {
                    places[place] = Some(entry);
                }
            }
        }
        by_name
    }

    pub(super) fn has_unknown_publisher(&self, hub: &Hub<'e>, slice: &PlacementDecision) -> bool {
        let life = self
            .lives
            .iter()
            .find(|life| life.last().metadata.uid == slice.metadata.uid);
        life.is_some_and(|life| has_unknown_publisher(hub.slice_authors(), life))
    }
}

impl<'e> NamingEntry<'e> {
    /// Why the scheduler chose the cluster; empty if it does not say.
    pub(super) fn reason(&self) -> &'e str {
        self.decision.reason.as_deref().unwrap_or_default()
    }

    fn place(&self) -> (&'e str, usize) {
        (&self.slice.metadata.name, self.index)
    }
}

/// The entries of a slice that name a profile. Without a namespace, the profile is in that of the slice.
pub(super) fn naming_entries(slice: &PlacementDecision) -> impl Iterator<Item = NamingEntry<'_>> {
    let decisions = slice.clusters().iter().enumerate();
    decisions.filter_map(move |(index, decision)| {
        let reference = decision.cluster_profile_ref.as_ref()?;
        if reference.name.is_empty() {
            return None;
        }
        let namespace = match &*reference.namespace {
            "" => &slice.metadata.namespace,
            _ => &reference.namespace,
        };
        Some(NamingEntry {
            slice,
            index,
            decision,
            name: (namespace, &reference.name),
        })
    })
}

fn shared_by(slice: &PlacementDecision) -> SharedBy<'_> {
    let key = slice.label(LABEL_DECISION_KEY).filter(|key| !key.is_empty());
    let shared = key.or_else(|| owner_uid(slice)).unwrap_or(&slice.metadata.name);
    (&slice.metadata.namespace, slice.scheduler(), shared)
}
