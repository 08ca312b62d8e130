//! What a run lends to its driver.

use evidence::{Claim, Scope, api::PlacementDecision};

use super::writes::Touched;
use crate::{
    clock::Clock,
    connect::call::TimedClient,
    hub::{permissions::Permissions, target::Target, wanted::Wish},
    progress::Progress,
    watch::timeline,
};

/// What a run lends to its driver.
pub(crate) struct RunContext<'a> {
    pub client: &'a TimedClient,
    pub clock: Clock,
    pub progress: &'a dyn Progress,
    pub claim: &'a Claim,
    pub scope: &'a Scope,
    pub secrets: &'a Wish,
    pub target: &'a Target,
    pub permissions: &'a Permissions,
    /// What the run has written to.
    pub touched: Touched,
    /// What the watch has brought so far.
    pub record: timeline::Shared,
    /// The same of slices.
    pub slices: timeline::Shared<PlacementDecision>,
}
