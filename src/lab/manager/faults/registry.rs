//! Lists the faults.

use std::sync::{
    LazyLock,
    atomic::{AtomicUsize, Ordering},
};

use evidence::api::{UnknownName, names::LABEL_MANAGER};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::{
    access, clustersets, conditions, consumers,
    fault::{Fault, FaultInfo},
    identity, lifecycle, properties, updates, version,
};
use crate::{
    fault::{adapt, definitions_for},
    manager::members::QUIET,
};

static FAULTS: LazyLock<Vec<FaultInfo>> = LazyLock::new(|| {
    [
        identity::FAULTS,
        clustersets::FAULTS,
        version::FAULTS,
        properties::FAULTS,
        conditions::FAULTS,
        access::FAULTS,
        consumers::FAULTS,
        updates::FAULTS,
        lifecycle::FAULTS,
    ]
    .concat()
});

/// Faults that show in some runs only: for trying what tells that. No matrix of faults has them.
static UNSTEADY: &[FaultInfo] = &[FaultInfo::new(
    "identity/manager-label-present:every-other-run",
    "publishes a profile without the manager label in every other run of this process",
    |world| {
        static RUNS: AtomicUsize = AtomicUsize::new(0);
        if RUNS.fetch_add(1, Ordering::Relaxed) % 2 == 1 {
            world.profile(QUIET).labels.remove(LABEL_MANAGER);
        }
    },
)];

/// All faults that show in each run, in the order of the rules.
pub fn faults() -> &'static [FaultInfo] {
    &FAULTS
}

impl Fault {
    /// The manager's fault of that id.
    ///
    /// # Errors
    /// When there is none; the error names the nearest one.
    pub fn parse(id: &str) -> Result<Self, UnknownName> {
        let unsteady = UNSTEADY.iter().any(|fault| fault.id == id);
        Self::find(id, if unsteady { UNSTEADY } else { faults() })
    }
}

/// The definitions that the hub must serve for these faults: all of the suite's, with the changes that the faults need.
pub fn hub_definitions(faults: &[Fault]) -> Vec<CustomResourceDefinition> {
    definitions_for(faults)
}

/// Makes the same changes to the definitions of a hub that serves another implementation, too.
pub fn adapt_definitions(definitions: &mut [CustomResourceDefinition], faults: &[Fault]) {
    adapt(definitions, faults);
}
