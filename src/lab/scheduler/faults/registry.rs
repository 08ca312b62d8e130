//! Lists the faults.

use std::sync::LazyLock;

use evidence::api::UnknownName;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::{
    fault::{Fault, FaultInfo},
    labels, lifecycle, ownership, references, slices, updates,
};
use crate::{fault::definitions_for, scheduler::workload};

static FAULTS: LazyLock<Vec<FaultInfo>> = LazyLock::new(|| {
    [
        slices::FAULTS,
        references::FAULTS,
        labels::FAULTS,
        ownership::FAULTS,
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
    /// The scheduler's fault of that id.
    ///
    /// # Errors
    /// When there is none; the error names the nearest one.
    pub fn parse(id: &str) -> Result<Self, UnknownName> {
        Self::find(id, faults())
    }
}

/// The definitions that the hub must serve for these faults: all of the suite's, with the changes that the faults need,
/// and that of the lab's workloads.
pub fn hub_definitions(faults: &[Fault]) -> Vec<CustomResourceDefinition> {
    let mut definitions = definitions_for(faults);
    definitions.push(workload::definition());
    definitions
}
