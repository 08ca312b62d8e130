//! Lists the faults.

use std::sync::LazyLock;

use evidence::api::{Role, UnknownName};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::{
    access, clustersets, conditions, consumers,
    fault::{Fault, FaultInfo},
    identity, lifecycle, properties, updates, version,
};
use crate::fault::{HubChange, adapt, definitions_for, faults_by_example, sort_by_rule};

static FAULTS: LazyLock<Vec<FaultInfo>> = LazyLock::new(|| {
    let by_example = faults_by_example(Role::Manager).into_iter().map(with_effects);
    let mut faults: Vec<FaultInfo> = by_example.collect();
    for by_hand in [
        identity::FAULTS,
        clustersets::FAULTS,
        version::FAULTS,
        properties::FAULTS,
        conditions::FAULTS,
        access::FAULTS,
        consumers::FAULTS,
        updates::FAULTS,
        lifecycle::FAULTS,
    ] {
        faults.extend(by_hand);
    }
    sort_by_rule(&mut faults);
    faults
});

/// What the first failing examples of some rules break or need besides.
fn with_effects(fault: FaultInfo) -> FaultInfo {
    match fault.id {
        // The name begins with the first manager's, and the conditions stay when the spec changes.
        "identity/manager-immutable" => fault
            .also(&[
                "identity/name-follows-guidance",
                "conditions/observed-generation-current",
            ])
            .on(HubChange::WithoutImmutability),
        // Profiles can tie only if they share an id.
        "identity/member-id-no-tie" => fault.also(&["identity/member-id-unique"]),
        // One cluster in two namespaces has two profiles.
        "clustersets/one-set-per-cluster" => fault.also(&["identity/one-profile-per-cluster"]),
        // A healthy member is joined, and a joined member's status has a version.
        "version/reported" => fault.also(&["conditions/status-follows-joined"]),
        _ => fault,
    }
}

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
