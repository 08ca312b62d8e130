//! The kinds of objects that have stories.

use evidence::{
    DriverStep, Tracked,
    api::{ClusterProfile, PlacementDecision, names},
    runs::names_placement,
};
use serde::Serialize;

/// A kind of objects whose stories are told.
pub(super) trait StoryObject: Tracked + Serialize {
    /// The servers and proxies that it names, for a consumer to call.
    fn servers(&self) -> Vec<&str>;

    /// Whether the object is of the placement that a step is about.
    fn is_placed_by(&self, step: &DriverStep) -> bool;
}

impl StoryObject for ClusterProfile {
    fn servers(&self) -> Vec<&str> {
        let entries = self.access();
        let addresses = entries.flat_map(|entry| [&entry.cluster.server, &entry.cluster.proxy_url]);
        addresses.filter_map(|address| address.as_deref()).collect()
    }

    fn is_placed_by(&self, _: &DriverStep) -> bool {
        false
    }
}

impl StoryObject for PlacementDecision {
    fn servers(&self) -> Vec<&str> {
        Vec::new()
    }

    fn is_placed_by(&self, step: &DriverStep) -> bool {
        step.placement.as_ref().is_some_and(|placement| {
            let is_told = placement.decision.as_ref().is_some_and(|decision| {
                *decision.namespace == *self.metadata.namespace
                    && self.label(names::LABEL_DECISION_KEY) == Some(&decision.name)
            });
            is_told || names_placement(self, &placement.name)
        })
    }
}
