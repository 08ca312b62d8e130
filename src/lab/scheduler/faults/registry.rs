//! Lists the faults.

use std::sync::LazyLock;

use evidence::api::{Role, UnknownName};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::{
    fault::{Fault, FaultInfo},
    labels, lifecycle, ownership, references, slices, updates,
};
use crate::{
    fault::{HubChange, definitions_for, faults_by_example, sort_by_rule},
    scheduler::workload,
};

static FAULTS: LazyLock<Vec<FaultInfo>> = LazyLock::new(|| {
    let by_example = faults_by_example(Role::Scheduler).into_iter().map(with_effects);
    let mut faults: Vec<FaultInfo> = by_example.collect();
    for by_hand in [
        slices::FAULTS,
        references::FAULTS,
        labels::FAULTS,
        ownership::FAULTS,
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
        "placement-slices/size" => fault.on(HubChange::WithoutLimit),
        "placement-slices/decisions-present" => fault.on(HubChange::WithoutRequiredList),
        // No profile has that name.
        "placement-references/name-valid" => fault.also(&["placement-references/resolve"]),
        _ => fault,
    }
}

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
