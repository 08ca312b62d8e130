//! When a slice named which profiles.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use evidence::{
    Evidence, SliceHistory,
    api::{ClusterDecision, ClusterProfileReference, PlacementDecision},
};

use crate::time::{Change, Lasting, Together, While};

/// Namespace and name of a profile.
pub(super) type Key<'e> = (&'e str, &'e str);

/// One profile that a slice named.
pub(super) struct Named<'e> {
    /// The profile.
    pub(super) key: Key<'e>,
    /// What the rule reads of the reference.
    pub(super) sort: bool,
    /// When the slice named it so.
    pub(super) when: While,
    /// The last version that named it.
    pub(super) slice: &'e PlacementDecision,
    /// Its place in that version.
    pub(super) index: usize,
}

/// The profiles that a slice named.
pub(super) struct Naming<'e> {
    /// How many lives of the slice named any.
    pub(super) lives: usize,
    /// Those that the rule asked for.
    pub(super) wanted: Vec<Named<'e>>,
}

/// The profile that a reference is to: without a namespace, it is in that of the slice.
pub(super) fn key_of<'e>(slice: &'e PlacementDecision, reference: &'e ClusterProfileReference) -> Key<'e> {
    match &*reference.namespace {
        "" => (&slice.metadata.namespace, &reference.name),
        namespace => (namespace, &reference.name),
    }
}

/// Finds when each slice named the profiles of which `sort` returns something. One slice is one namespace and name, however
/// often it is made anew. A slice that waits for its finalizers is on its way out: its scheduler has dropped all that it names.
pub(super) fn namings<'e>(
    evidence: &'e Evidence,
    sort: impl Fn(Key<'e>, &ClusterDecision) -> Option<bool>,
) -> Vec<Naming<'e>> {
    let mut slices: Vec<Vec<&SliceHistory>> = Vec::new();
    let mut places: HashMap<Key, usize> = HashMap::new();
    for history in evidence.slice_histories() {
        let metadata = &history.last().metadata;
        let place = *places
            .entry((&metadata.namespace, &metadata.name))
            .or_insert(slices.len());
        match slices.get_mut(place) {
            Some(lives) => lives.push(history),
            None => slices.push(vec![history]),
        }
    }
    let namings = slices.into_iter().map(|lives| {
        let names_any = |life: &&&SliceHistory| {
            let mut versions = life.versions.iter().map(|version| &version.object);
            versions.any(|slice| references(slice).next().is_some())
        };
        let mut references = lives
            .iter()
            .flat_map(|life| &life.versions)
            .flat_map(|version| references(&version.object));
        // Nearly no slice names one that a rule asks for.
        let is_any_wanted = references.any(|(_, key, decision)| sort(key, decision).is_some());
        Naming {
            lives: lives.iter().filter(names_any).count(),
            wanted: if is_any_wanted {
                wanted(evidence, &lives, &sort)
            } else {
                Vec::new()
            },
        }
    });
    namings.collect()
}

fn wanted<'e>(
    evidence: &'e Evidence,
    lives: &[&'e SliceHistory],
    sort: impl Fn(Key<'e>, &ClusterDecision) -> Option<bool>,
) -> Vec<Named<'e>> {
    let metadata = &lives[0].last().metadata;
    let later: Vec<&SliceHistory> = evidence
        .later_of(&metadata.namespace, &metadata.name)
        .iter()
        .collect();
    let together = Together::settled(evidence, lives, &later);
    let found = together.whiles(|present: &BTreeMap<usize, &PlacementDecision>, changes| {
        if changes.iter().all(keeps_its_list) {
            return None;
        }
        let all = present.values().flat_map(|slice| {
            references(slice).filter_map(|(index, key, decision)| {
                let sort = sort(key, decision)?;
                Some(((key, sort), (*slice, index)))
            })
        });
        Some(all.collect())
    });
    let named = found
        .into_iter()
        .map(|((key, sort), Lasting { when, last, .. })| Named {
            key,
            sort,
            when,
            slice: last.0,
            index: last.1,
        });
    named.collect()
}

/// What a slice names that its scheduler has not dropped.
fn references<'e>(
    slice: &'e PlacementDecision,
) -> impl Iterator<Item = (usize, Key<'e>, &'e ClusterDecision)> {
    let is_leaving = slice.metadata.deletion_timestamp.is_some();
    let decisions = slice.clusters().iter().enumerate().filter(move |_| !is_leaving);
    decisions.filter_map(move |(index, decision)| {
        let reference = decision.cluster_profile_ref.as_ref()?;
        Some((index, key_of(slice, reference), decision))
    })
}

/// Whether a change leaves the list of clusters as it was.
fn keeps_its_list(change: &Change<'_, PlacementDecision>) -> bool {
    let Some((before, after)) = change.before.zip(change.after) else {
        return false;
    };
    let lists = before.decisions.as_ref().zip(after.decisions.as_ref());
    lists.is_some_and(|(one, other)| Arc::ptr_eq(one, other))
        && before.metadata.deletion_timestamp == after.metadata.deletion_timestamp
}
