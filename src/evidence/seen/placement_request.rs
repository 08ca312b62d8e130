//! What a run asks a scheduler for, and the slices that answer.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ObjectKey, Scope, SliceHistory,
    api::{ClusterProfileReference, DecisionId, PlacementDecision, names},
    runs::{names_any_placement, names_placement},
};

/// A placement that a run asks a scheduler for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PlacementRequest {
    /// Its name: unique to the run.
    pub name: String,
    /// How many clusters the run asks for.
    pub clusters: usize,
    /// The namespace and the decision key (as its name), if the hook reports them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<ObjectKey>,
}

/// The slices of a placement.
#[derive(Clone, Debug)]
pub struct PlacementSlices<'h> {
    /// The histories of those that were its own at any time.
    pub histories: Vec<&'h SliceHistory>,
    request: &'h PlacementRequest,
    keys: BTreeSet<DecisionId<'h>>,
}

impl PlacementRequest {
    /// Its slices in scope: those that name it or have the key that the hook reported, and others of the same key.
    pub fn slices<'h>(&'h self, all: &'h [SliceHistory], scope: &Scope) -> PlacementSlices<'h> {
        let is_named = |history: &&SliceHistory| {
            let mut versions = history.versions.iter();
            versions.any(|version| self.names(&version.object))
        };
        let keys = self.keys(all);
        let has_key = |history: &SliceHistory| {
            let shares = DecisionId::of_keyed(history.last()).is_some_and(|key| keys.contains(&key));
            shares && !names_any_placement(history.last())
        };
        let is_judged = |history: &SliceHistory| {
            let mut versions = history.versions.iter();
            versions.any(|version| scope.holds_slice(&version.object))
        };
        let histories = all.iter();
        let histories =
            histories.filter(|history| (is_named(history) || has_key(history)) && is_judged(history));
        PlacementSlices {
            histories: histories.collect(),
            request: self,
            keys,
        }
    }

    /// The keys of its decision: those of the versions that name it.
    fn keys<'h>(&self, all: &'h [SliceHistory]) -> BTreeSet<DecisionId<'h>> {
        let versions = all.iter().flat_map(|history| &history.versions);
        let its = versions.filter(|version| self.names(&version.object));
        its.filter_map(|version| DecisionId::of_keyed(&version.object))
            .collect()
    }

    /// Whether a slice names it, or has the key that the hook reported.
    fn names(&self, slice: &PlacementDecision) -> bool {
        names_placement(slice, &self.name) || self.has_reported_key(slice)
    }

    /// Whether these slices hold as many clusters as asked for, and no slice is needless.
    pub fn is_met_by(&self, slices: &[&PlacementDecision]) -> bool {
        let count = clusters_of(slices).len();
        // A decision of another key may hold no cluster, and a copy is in another namespace.
        let is_beside = |one: &PlacementDecision, other: &PlacementDecision| {
            !std::ptr::eq(one, other)
                && one.metadata.namespace == other.metadata.namespace
                && one.label(names::LABEL_DECISION_KEY) == other.label(names::LABEL_DECISION_KEY)
        };
        let is_needless = |slice: &&PlacementDecision| {
            slice.clusters().is_empty() && slices.iter().any(|other| is_beside(slice, other))
        };
        // Without a cluster, a slice says so, or there is none.
        count == self.clusters && (count == 0 || !slices.iter().any(is_needless))
    }

    /// Whether a slice is of the decision that the hook reported.
    fn has_reported_key(&self, slice: &PlacementDecision) -> bool {
        self.decision.as_ref().is_some_and(|decision| {
            *decision.namespace == *slice.metadata.namespace
                && slice.label(names::LABEL_DECISION_KEY) == Some(&decision.name)
        })
    }
}

impl PlacementSlices<'_> {
    /// Whether a version of a slice is of the placement's decision: a slice may be given to another one later.
    pub fn hold(&self, slice: &PlacementDecision) -> bool {
        self.request.names(slice) || DecisionId::of_keyed(slice).is_some_and(|key| self.keys.contains(&key))
    }
}

/// The clusters that slices select together.
pub fn clusters_of(slices: &[&PlacementDecision]) -> BTreeSet<ClusterProfileReference> {
    slices.iter().flat_map(|slice| slice.references()).collect()
}
