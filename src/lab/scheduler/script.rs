//! The script: what happens to the workloads and the clusters, and when.

use std::time::Duration;

use serde_json::Value;

use super::{
    inventory::Health,
    placement::{Clusters, Placement},
};

/// A step of the script, at a time after the scheduler's start.
#[derive(Clone)]
pub(super) struct Step {
    pub at: Duration,
    pub action: Action,
}

/// An event of the world, or a request that a fault adds.
#[derive(Clone)]
pub(super) enum Action {
    /// A workload comes.
    Place(Placement),
    /// A workload asks for other clusters. The place is its name.
    Resize {
        workload: &'static str,
        clusters: Clusters,
    },
    /// A workload goes.
    Unplace { workload: &'static str },
    /// The profile of the first inventory that has this number is deleted.
    Delete { member: usize },
    /// The same profile tells another state.
    Report { member: usize, health: Health },
    /// A merge patch is sent for the first slice of the workload.
    Request {
        workload: &'static str,
        /// The user; `None` for the scheduler itself.
        user: Option<&'static str>,
        field_manager: &'static str,
        patch: Value,
    },
}

/// So many minutes.
pub(super) const fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}
