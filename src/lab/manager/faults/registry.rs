//! Lists the faults, and finds one by its id.

use std::{str::FromStr, sync::LazyLock};

use evidence::api::UnknownName;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::{
    access, clustersets, conditions, consumers, fault::FaultInfo, identity, lifecycle, properties, updates,
    version,
};
use crate::{crd, manager::world::World};

/// A fault: a way in which the manager breaks a rule.
#[derive(Clone, Copy, Debug)]
pub struct Fault(&'static FaultInfo);

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

/// The definitions that the hub must serve for these faults: all of the suite's, with the changes that the faults need.
pub fn hub_definitions(faults: &[Fault]) -> Vec<CustomResourceDefinition> {
    let mut profile = crd::cluster_profile();
    for fault in faults {
        fault.info().hub.make(&mut profile.spec.versions);
    }
    vec![profile, crd::placement_decision(), crd::cluster_property()]
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

    pub(in crate::manager) fn apply(&self, world: &mut World) {
        (self.0.apply)(world);
    }
}

impl FromStr for Fault {
    type Err = UnknownName;

    fn from_str(id: &str) -> Result<Self, UnknownName> {
        Self::parse(id)
    }
}
