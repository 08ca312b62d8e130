//! A decision's slices, and the clusters that they name, over time.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{
    Evidence, SliceHistory,
    api::{ClusterProfileReference, DecisionId, PlacementDecision},
};
use jiff::Timestamp;

use super::{
    axis::Axis,
    bars::{Bars, Track, missed, most_changing_first},
    state::State,
    text::brief,
};
use crate::text::number::count;

/// A decision: every slice that was one of its own for a time.
pub(super) struct Decision<'a> {
    pub(super) id: DecisionId<'a>,
    pub(super) slices: Vec<&'a SliceHistory>,
}

/// A cluster comes into a slice, or leaves it.
struct Move<'a> {
    at: Timestamp,
    comes: bool,
    slice: &'a str,
}

impl<'a> Decision<'a> {
    /// Draws the slices, then the clusters; nothing of a decision that names none.
    pub(super) fn draw(&self, evidence: &Evidence, axis: &Axis) -> Vec<Bars> {
        let drawings = [
            (("Slices", "slice"), self.slices_over_time(axis)),
            (("Clusters", "cluster"), self.clusters_over_time(axis)),
        ];
        let gaps = missed(evidence, &self.slices, axis);
        let drawn = drawings
            .into_iter()
            .filter_map(|(words, tracks)| Bars::draw(words, most_changing_first(tracks), gaps.clone(), axis));
        drawn.collect()
    }

    /// When slices came, changed and went, but for those that the run found.
    pub(super) fn changes(&self) -> Vec<Timestamp> {
        let mut changes = Vec::new();
        for history in &self.slices {
            let is_found = history.origin != evidence::Origin::Created;
            let seen = history.versions.iter().skip(usize::from(is_found));
            changes.extend(seen.map(|version| version.received()).chain(history.deleted));
        }
        changes.sort_unstable();
        changes
    }

    /// How many clusters it names in the end.
    pub(super) fn clusters(&self) -> usize {
        let slices = self.slices.iter().filter_map(|history| history.current());
        let own = slices.filter(|slice| self.holds(slice));
        own.flat_map(PlacementDecision::references)
            .collect::<BTreeSet<_>>()
            .len()
    }

    fn holds(&self, slice: &PlacementDecision) -> bool {
        DecisionId::of(slice) == self.id
    }

    fn slices_over_time(&self, axis: &Axis) -> Vec<Track> {
        let mut named: BTreeMap<&str, Vec<&SliceHistory>> = BTreeMap::new();
        for history in &self.slices {
            let name = &*history.last().metadata.name;
            named.entry(name).or_default().push(history);
        }
        let state = |slice: &PlacementDecision| {
            if self.holds(slice) {
                (State::There, count(slice.clusters().len(), "cluster"))
            } else {
                (State::NoSlice, String::new())
            }
        };
        let tracks = named.into_iter().map(|(name, histories)| {
            Track::of_histories(name.to_owned(), State::NoSlice, &histories, state, axis)
        });
        tracks.collect()
    }

    fn clusters_over_time(&self, axis: &Axis) -> Vec<Track> {
        let moves = self.moves();
        let namespaces: BTreeSet<&str> = moves.keys().map(|cluster| &*cluster.namespace).collect();
        let tracks = moves.iter().map(|(cluster, moves)| {
            let mut holding: Vec<&str> = Vec::new();
            let changes = moves.iter().map(|one| {
                if one.comes {
                    holding.push(one.slice);
                } else if let Some(place) = holding.iter().position(|slice| *slice == one.slice) {
                    holding.remove(place);
                }
                match holding.last() {
                    Some(slice) => (one.at, State::Chosen, format!("in {}", brief(slice, 60))),
                    None => (one.at, State::NotChosen, String::new()),
                }
            });
            let name = if namespaces.len() > 1 {
                format!("{}/{}", cluster.namespace, cluster.name)
            } else {
                cluster.name.to_string()
            };
            Track::of(name, State::NotChosen, changes, axis)
        });
        tracks.collect()
    }

    /// How each cluster comes and leaves, in order of time.
    fn moves(&self) -> BTreeMap<ClusterProfileReference, Vec<Move<'a>>> {
        let mut moves: BTreeMap<ClusterProfileReference, Vec<Move>> = BTreeMap::new();
        for history in &self.slices {
            let slice = &*history.last().metadata.name;
            let mut before = BTreeSet::new();
            let mut then = |at: Timestamp, now: BTreeSet<ClusterProfileReference>| {
                for (comes, clusters) in [(true, now.difference(&before)), (false, before.difference(&now))] {
                    for cluster in clusters {
                        let one = Move { at, comes, slice };
                        moves.entry(cluster.clone()).or_default().push(one);
                    }
                }
                before = now;
            };
            for version in &history.versions {
                let own = self.holds(&version.object).then_some(&version.object);
                then(
                    version.received(),
                    own.into_iter().flat_map(PlacementDecision::references).collect(),
                );
            }
            if let Some(deleted) = history.deleted {
                then(deleted, BTreeSet::new());
            }
        }
        for moves in moves.values_mut() {
            moves.sort_by_key(|one| (one.at, !one.comes));
        }
        moves
    }
}
