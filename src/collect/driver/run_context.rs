//! What a run lends to its driver.

use evidence::api::PlacementDecision;

use crate::{
    Plan, Progress, call::TimedClient, clock::Clock, permissions::Permissions, target::Target, timeline,
};

/// What a run lends to its driver.
pub(crate) struct RunContext<'a> {
    pub client: &'a TimedClient,
    pub clock: Clock,
    pub progress: &'a dyn Progress,
    pub plan: &'a Plan,
    pub target: &'a Target,
    pub permissions: &'a Permissions,
    /// What the watch has brought so far.
    pub record: timeline::Shared,
    /// The same of slices.
    pub slices: timeline::Shared<PlacementDecision>,
}
