//! Which slices need to be looked at together. A fleet has many decisions of a few slices each, and a change of one
//! decision need not cost a look at all others.

use std::{
    collections::{BTreeMap, HashMap},
    hash::Hash,
};

use evidence::{Evidence, SliceHistory, api::PlacementDecision};

/// The histories of each group of slices, all of one namespace. Two slices of different groups never had the same tie; a
/// slice without one is a group by itself.
pub(super) fn related<'e, T: Eq + Hash>(
    evidence: &'e Evidence,
    tie: impl Fn(&'e PlacementDecision) -> Option<T>,
) -> Vec<Vec<&'e SliceHistory>> {
    let histories: Vec<&SliceHistory> = evidence.slice_histories().collect();
    let mut groups = Groups::of(histories.len());
    let mut first_with: HashMap<(&str, T), usize> = HashMap::new();
    for (place, history) in histories.iter().enumerate() {
        let namespace = &*history.last().metadata.namespace;
        for tie in history.versions.iter().filter_map(|version| tie(&version.object)) {
            let first = *first_with.entry((namespace, tie)).or_insert(place);
            groups.join(first, place);
        }
    }
    let mut members: BTreeMap<usize, Vec<&SliceHistory>> = BTreeMap::new();
    for (place, history) in histories.into_iter().enumerate() {
        members.entry(groups.root(place)).or_default().push(history);
    }
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
