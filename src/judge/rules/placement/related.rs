//! Which slices may belong to one decision at any time. Slices that never do need not be compared: a fleet has many
//! decisions of a few slices each.

use std::collections::{BTreeMap, HashMap};

use evidence::{
    Evidence, SliceHistory,
    api::{PlacementDecision, names},
};

use super::numbered_name;

/// What may tie a slice to others of its namespace.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Link<'e> {
    DecisionKey(&'e str),
    PlacementKey(&'e str),
    Owner(&'e str),
    Base(&'e str),
}

/// The histories of each group of slices with its namespace. Two slices of different groups never had a decision key, a
/// placement key, an owner or the base of a name in common.
pub(super) fn related(evidence: &Evidence) -> Vec<(&str, Vec<&SliceHistory>)> {
    let histories: Vec<&SliceHistory> = evidence.slice_histories().collect();
    let mut groups = Groups::of(histories.len());
    let mut first_with: HashMap<(&str, Link), usize> = HashMap::new();
    for (place, history) in histories.iter().enumerate() {
        let namespace = &*history.last().metadata.namespace;
        for version in &history.versions {
            for link in links(&version.object) {
                let first = *first_with.entry((namespace, link)).or_insert(place);
                groups.join(first, place);
            }
        }
    }
    let mut members: BTreeMap<usize, Vec<&SliceHistory>> = BTreeMap::new();
    for (place, history) in histories.into_iter().enumerate() {
        members.entry(groups.root(place)).or_default().push(history);
    }
    members
        .into_values()
        .map(|members| (&*members[0].last().metadata.namespace, members))
        .collect()
}

fn links(slice: &PlacementDecision) -> impl Iterator<Item = Link<'_>> {
    let labels = [
        slice.label(names::LABEL_DECISION_KEY).map(Link::DecisionKey),
        slice.label(names::LABEL_PLACEMENT_KEY).map(Link::PlacementKey),
    ];
    let owners = &slice.metadata.owner_references;
    let base = numbered_name(slice).map(|(base, _)| Link::Base(base));
    labels
        .into_iter()
        .flatten()
        .chain(owners.iter().map(|owner| Link::Owner(&owner.uid)))
        .chain(base)
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
