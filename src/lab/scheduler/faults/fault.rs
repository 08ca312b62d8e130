//! Describes a fault of the scheduler, and what it changes on the hub.

use evidence::api::Edition;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinitionVersion, JSONSchemaProps,
};

use crate::scheduler::world::World;

/// The description of a fault.
#[derive(Clone, Copy, Debug)]
pub struct FaultInfo {
    /// `suite/rule` or `suite/rule:variant`.
    pub id: &'static str,
    /// What the scheduler does wrong, in a line.
    pub what: &'static str,
    /// The first edition that has the rule. Earlier editions do not detect the fault.
    pub edition: Edition,
    /// Other rules that it inevitably breaks.
    pub also: &'static [&'static str],
    /// What the hub must lack for the fault to be possible.
    pub hub: HubChange,
    /// True if only the API server's audit log, with request bodies, shows it.
    pub needs_audit_log: bool,
    /// True if it shows only when the run drives the scheduler.
    pub needs_driver: bool,
    pub(super) apply: fn(&mut World),
}

/// What the hub's definition of PlacementDecision lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HubChange {
    /// Nothing.
    #[default]
    None,
    /// The limit of 100 decisions: it allows 200.
    WithoutLimit,
    /// The demand for a list of decisions.
    WithoutRequiredList,
}

impl FaultInfo {
    pub(super) const fn new(id: &'static str, what: &'static str, apply: fn(&mut World)) -> Self {
        Self {
            id,
            what,
            edition: Edition::Placement2025M09,
            also: &[],
            hub: HubChange::None,
            needs_audit_log: false,
            needs_driver: false,
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

    /// The rule that the fault breaks on purpose.
    pub fn rule(&self) -> &'static str {
        self.id.split(':').next().unwrap_or(self.id)
    }
}

impl HubChange {
    pub(super) fn make(self, versions: &mut [CustomResourceDefinitionVersion]) {
        let schemas = versions.iter_mut().filter_map(|version| version.schema.as_mut());
        for root in schemas.filter_map(|schema| schema.open_api_v3_schema.as_mut()) {
            match self {
                HubChange::None => {}
                HubChange::WithoutLimit => {
                    if let Some(decisions) = decisions(root) {
                        decisions.max_items = Some(200);
                    }
                }
                HubChange::WithoutRequiredList => root.required = None,
            }
        }
    }
}

/// The schema of `decisions`.
fn decisions(root: &mut JSONSchemaProps) -> Option<&mut JSONSchemaProps> {
    root.properties.as_mut()?.get_mut("decisions")
}
