//! Lists the faults.

use std::sync::LazyLock;

use evidence::api::UnknownName;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::{
    access, clustersets, conditions, consumers,
    fault::{Fault, FaultInfo},
    identity, lifecycle, properties, updates, version,
};
use crate::fault::{adapt, definitions_for};

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

/// All faults, in the order of the rules.
pub fn faults() -> &'static [FaultInfo] {
    &FAULTS
}

impl Fault {
    /// The manager's fault of that id.
    ///
    /// # Errors
    /// When there is none; the error names the nearest one.
    pub fn parse(id: &str) -> Result<Self, UnknownName> {
        Self::find(id, faults())
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
