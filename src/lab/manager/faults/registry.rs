//! What a fault is, and which there are.

use std::{str::FromStr, sync::LazyLock};

use evidence::api::{Edition, UnknownName};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion, JSONSchemaProps,
};

use super::{
    super::world::World, access, clustersets, conditions, consumers, identity, lifecycle, properties,
    updates, version,
};
use crate::crd;

/// What is known of a fault.
#[derive(Clone, Copy, Debug)]
pub struct FaultInfo {
    /// `suite/rule` or `suite/rule:variant`.
    pub id: &'static str,
    /// What the manager does wrong, in a line.
    pub what: &'static str,
    /// The first edition that has the rule; the fault shows where the suite judges by one that has it.
    pub edition: Edition,
    /// Other rules that it breaks as well, because it cannot be helped.
    pub also: &'static [&'static str],
    /// What the hub has to lack for the fault to be possible.
    pub hub: HubChange,
    /// Whether only the API server's audit log, with request bodies, shows it.
    pub needs_audit_log: bool,
    /// Whether it shows only where the run drives the manager.
    pub needs_driver: bool,
    /// Rules that cannot be judged then, since what they are about does not come to be.
    pub hides: &'static [&'static str],
    apply: fn(&mut World),
}

/// What the hub's definition of ClusterProfile lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HubChange {
    /// Nothing.
    #[default]
    None,
    /// The rule that keeps `spec.clusterManager` as it is.
    WithoutImmutability,
}

/// A way in which the manager breaks a rule.
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

/// The definitions that the hub has to serve so that these faults are possible: all of the suite's, ClusterProfile's
/// without what the faults need gone.
pub fn hub_definitions(faults: &[Fault]) -> Vec<CustomResourceDefinition> {
    let mut profile = crd::cluster_profile();
    for fault in faults {
        fault.info().hub.make(&mut profile.spec.versions);
    }
    vec![profile, crd::cluster_property()]
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

    /// What is known of it.
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

impl FaultInfo {
    pub(super) const fn new(id: &'static str, what: &'static str, apply: fn(&mut World)) -> Self {
        Self {
            id,
            what,
            edition: Edition::Standard,
            also: &[],
            hub: HubChange::None,
            needs_audit_log: false,
            needs_driver: false,
            hides: &[],
            apply,
        }
    }

    pub(super) const fn since(mut self, edition: Edition) -> Self {
        self.edition = edition;
        self
    }

    pub(super) const fn also(mut self, rules: &'static [&'static str]) -> Self {
        self.also = rules;
        self
    }

    pub(super) const fn on(mut self, hub: HubChange) -> Self {
        self.hub = hub;
        self
    }

    pub(super) const fn in_audit_log_only(mut self) -> Self {
        self.needs_audit_log = true;
        self
    }

    pub(super) const fn driven(mut self) -> Self {
        self.needs_driver = true;
        self
    }

    pub(super) const fn hides(mut self, rules: &'static [&'static str]) -> Self {
        self.hides = rules;
        self
    }

    /// The rule that the fault is there to break.
    pub fn rule(&self) -> &'static str {
        self.id.split(':').next().unwrap_or(self.id)
    }
}

impl HubChange {
    fn make(self, versions: &mut [CustomResourceDefinitionVersion]) {
        match self {
            HubChange::None => {}
            HubChange::WithoutImmutability => {
                for manager in versions.iter_mut().filter_map(cluster_manager) {
                    manager.x_kubernetes_validations = None;
                }
            }
        }
    }
}

/// The schema of `spec.clusterManager`.
fn cluster_manager(version: &mut CustomResourceDefinitionVersion) -> Option<&mut JSONSchemaProps> {
    let root = version.schema.as_mut()?.open_api_v3_schema.as_mut()?;
    let spec = root.properties.as_mut()?.get_mut("spec")?;
    spec.properties.as_mut()?.get_mut("clusterManager")
}
