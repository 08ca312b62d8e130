//! Lists the faults, and finds one by its id.

use std::{str::FromStr, sync::LazyLock};

use evidence::api::UnknownName;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::{fault::FaultInfo, labels, lifecycle, ownership, references, slices, updates};
use crate::{
    crd,
    scheduler::{workload, world::World},
};

/// A fault: a way in which the scheduler breaks a rule.
#[derive(Clone, Copy, Debug)]
pub struct Fault(&'static FaultInfo);

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

/// The definitions that the hub must serve for these faults: all of the suite's, with the changes that the faults need,
/// and that of the lab's workloads.
pub fn hub_definitions(faults: &[Fault]) -> Vec<CustomResourceDefinition> {
    let mut definitions = crd::all();
    let placement = crd::placement_decision().metadata.name;
    for definition in &mut definitions {
        if definition.metadata.name == placement {
            for fault in faults {
                fault.info().hub.make(&mut definition.spec.versions);
            }
        }
    }
    definitions.push(workload::definition());
    definitions
}

impl Fault {
    /// The fault of that id.
    ///
    /// # Errors
    /// When there is none; the error names the nearest one.
    pub fn parse(id: &str) -> Result<Self, UnknownName> {
        faults()
            .iter()
            .find(|fault| fault.id == id)
            .map(Self)
            .ok_or_else(|| UnknownName::among("fault", id, faults().iter().map(|fault| fault.id)))
    }

    /// Its description.
    pub fn info(&self) -> &'static FaultInfo {
        self.0
    }

    pub(in crate::scheduler) fn apply(&self, world: &mut World) {
        (self.0.apply)(world);
    }
}

impl FromStr for Fault {
    type Err = UnknownName;

    fn from_str(id: &str) -> Result<Self, UnknownName> {
        Self::parse(id)
    }
}
