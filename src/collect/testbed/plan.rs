//! The plan of a testbed.

use std::{fmt, sync::Arc, time::Duration};

use evidence::ConsumerSpec;

use super::{Calls, ConsumerLog, Members, OutputPlace, Recorder};
use crate::driver::{Hooks, Journal};

/// The testbed of a run.
#[derive(Clone)]
pub struct TestbedPlan {
    /// The id of the run: what it creates bears it.
    pub run: String,
    /// What the consumer's author says of it.
    pub claims: ConsumerSpec,
    /// A namespace whose profiles the consumer does not read.
    pub unselected: Option<String>,
    /// Where the consumer makes something of profiles.
    pub outputs: Vec<OutputPlace>,
    /// Opens the addresses of members.
    pub members: Arc<dyn Members>,
    /// What they saw, and what the credential plugin saw.
    pub calls: Arc<Calls>,
    /// What the consumer says of what it does; none where it says so elsewhere.
    pub log: Option<Arc<dyn ConsumerLog>>,
    /// What has the consumer work on a member; none where it needs no hook.
    pub hooks: Option<Arc<dyn Hooks>>,
    /// How long the consumer may take to call a control.
    pub patience: Duration,
    /// Where the consumer's plugin reaches the run; none where it is in this process.
    pub recorder: Option<Arc<Recorder>>,
    /// Where it is written down what is to be undone; none where the hub goes with the run.
    pub journal: Option<Arc<Journal>>,
}

impl TestbedPlan {
    /// All namespaces in which profiles are published.
    pub fn namespaces(&self) -> Vec<String> {
        let selected = self.claims.namespaces.iter();
        selected.chain(&self.unselected).cloned().collect()
    }
}

impl fmt::Debug for TestbedPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestbedPlan")
            .field("run", &self.run)
            .field("claims", &self.claims)
            .field("unselected", &self.unselected)
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}
