//! A placement: for which workload the scheduler selects how many clusters, and how it publishes them.

use std::{sync::Arc, time::Duration};

use evidence::api::ClusterProfileReference;

use super::slice::Slice;

/// The clusters that a workload asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clusters {
    /// So many of the lab's inventory.
    Count(usize),
    /// Those of the list that exist and are well, in its order. Each reference names its namespace.
    These(Vec<ClusterProfileReference>),
}

/// Changes the slices that the scheduler is about to publish; the time is that since its start.
pub(super) type Edit = Arc<dyn Fn(&mut Vec<Slice>, Duration) + Send + Sync>;

/// A workload that needs clusters.
#[derive(Clone)]
pub(super) struct Placement {
    /// The namespace of the workload and of its slices.
    pub namespace: String,
    /// The workload's name, and the decision's key.
    pub name: String,
    pub clusters: Clusters,
    /// The namespace of the profiles to count.
    pub inventory: &'static str,
    /// How many clusters of the inventory stand back for other workloads.
    pub skips: usize,
    /// True if the order of the clusters means something: slices then have an index.
    pub is_ordered: bool,
    /// The user and field manager that creates the slices; `None` for the scheduler's own.
    pub creator: Option<&'static str>,
    /// What faults change.
    pub edits: Vec<Edit>,
}

impl Placement {
    pub(super) fn new(namespace: &str, name: &str, clusters: Clusters, inventory: &'static str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            clusters,
            inventory,
            skips: 0,
            is_ordered: true,
            creator: None,
            edits: Vec::new(),
        }
    }

    /// The same, with an order that means nothing.
    pub(super) fn without_order(mut self) -> Self {
        self.is_ordered = false;
        self
    }

    /// The same, of later clusters of the inventory.
    pub(super) fn skipping(mut self, clusters: usize) -> Self {
        self.skips = clusters;
        self
    }
}
