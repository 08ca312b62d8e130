//! Which slices need to be looked at together. A fleet has many decisions of a few slices each, and a change of one
//! decision need not cost a look at all others.

use std::{
    collections::{BTreeMap, HashMap},
    hash::Hash,
};

use evidence::{Evidence, SliceHistory, api::PlacementDecision};

/// Slices of one namespace.
#[derive(Default)]
pub(super) struct Group<'e> {
    /// Those of the window.
    pub(super) histories: Vec<&'e SliceHistory>,
    /// What was seen after it, if the run looked on.
    pub(super) later: Vec<&'e SliceHistory>,
}

/// The groups of slices. Two slices of different groups never had the same tie; a slice without one is a group by itself.
pub(super) fn related<'e, T: Eq + Hash>(
    evidence: &'e Evidence,
    tie: impl Fn(&'e PlacementDecision) -> Option<T>,
) -> Vec<Group<'e>> {
    let mut histories: Vec<&SliceHistory> = evidence.slice_histories().collect();
    let count = histories.len();
    histories.extend(evidence.later_slices());
    let mut groups = Groups::of(histories.len());
    let mut first_with: HashMap<(&str, T), usize> = HashMap::new();
    let mut named: HashMap<(&str, &str), usize> = HashMap::new();
    for (place, history) in histories.iter().enumerate() {
        let metadata = &history.last().metadata;
        let namespace = &*metadata.namespace;
        if histories.len() > count {
            let first = *named.entry((namespace, &metadata.name)).or_insert(place);
            groups.join(first, place);
        }
        for tie in history.versions.iter().filter_map(|version| tie(&version.object)) {
            let first = *first_with.entry((namespace, tie)).or_insert(place);
            groups.join(first, place);
        }
    }
    let mut members: BTreeMap<usize, Group> = BTreeMap::new();
    for (place, history) in histories.into_iter().enumerate() {
        let group = members.entry(groups.root(place)).or_default();
        if place < count {
            group.histories.push(history);
        } else {
            group.later.push(history);
        }
    }
    // What came after the window alone counts for nothing.
    members.retain(|_, group| !group.histories.is_empty());
    members.into_values().collect()
}

/// Disjoint sets of places, each with one of them as its root.
struct Groups(Vec<usize>);

impl Groups {
    fn of(count: usize) -> Self {
        Self((0..count).collect())
    }

    fn root(&mut self, mut place: usize) -> usize {
        while self.0[place] != place {
            self.0[place] = self.0[self.0[place]];
            place = self.0[place];
        }
        place
    }

    /// The root of a set is its first place, so that sets stay in the order of their first appearance.
    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.0[one.max(other)] = one.min(other);
    }
}
