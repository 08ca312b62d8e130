//! Faults: ways in which a reference implementation breaks a rule.
//!
//! `faults.yaml` lists them. The first failing example of a rule on published objects is the rule's fault: the implementation
//! publishes its objects. The other faults are about behavior: the implementation asks [`Faults::has`] where it would do
//! the right thing. A fault breaks no rule but its own and those that its entry lists.

use std::{collections::BTreeMap, sync::LazyLock, time::Duration};

use evidence::api::{Edition, Role, UnknownName};
use jiff::Timestamp;
use judge::rules::{self, example::Violation};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::Deserialize;
use serde_json::Value;

use crate::crd;

/// The description of a fault.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FaultInfo {
    /// `suite/rule` or `suite/rule:variant`.
    pub id: &'static str,
    /// What the implementation does wrong, in a line.
    #[serde(default)]
    pub what: &'static str,
    /// The first edition that has the rule. Earlier editions do not detect the fault.
    #[serde(skip)]
    pub edition: Edition,
    /// Other rules that it inevitably breaks.
    #[serde(default)]
    pub also: Vec<&'static str>,
    /// Other rules that it inevitably breaks, by the API server's audit log only.
    #[serde(default)]
    pub also_in_audit_log: Vec<&'static str>,
    /// True if only the API server's audit log, with request bodies, shows it.
    #[serde(default, rename = "auditLogOnly")]
    pub needs_audit_log: bool,
    /// True if it shows only when the run drives the implementation.
    #[serde(default, rename = "driven")]
    pub needs_driver: bool,
    /// Rules that cannot be judged then, since their subject never appears.
    #[serde(default)]
    pub hides: Vec<&'static str>,
    /// Flags without which a run does not detect it: names, or what the user expects.
    #[serde(default)]
    pub flags: Vec<&'static str>,
    #[serde(default)]
    hub: Option<SchemaPatch>,
    /// What the implementation sends besides its usual requests.
    #[serde(default)]
    pub(crate) requests: Vec<FaultRequest>,
    /// The values of properties that the manager reports of one member instead of the right ones.
    #[serde(default)]
    properties: BTreeMap<&'static str, &'static str>,
    /// True if the implementation publishes the first failing example of the rule.
    #[serde(skip)]
    is_example: bool,
}

/// A merge patch of the schema in each version of a definition, without which the hub would refuse what a fault does.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SchemaPatch {
    plural: &'static str,
    schema: Value,
}

/// A merge patch that an implementation sends once, or several times.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FaultRequest {
    /// Seconds from the start to the first request.
    at: u64,
    /// Seconds from one request to the next.
    #[serde(default)]
    every: u64,
    #[serde(default)]
    times: Option<u64>,
    /// The name of the member or of the workload.
    pub of: &'static str,
    /// True if it is sent for the status.
    #[serde(default)]
    pub status: bool,
    /// The field manager, if it is not the implementation's own.
    #[serde(default)]
    pub by: Option<&'static str>,
    patch: Value,
}

impl FaultRequest {
    /// When each request is sent, counted from the start, and its patch.
    pub(crate) fn sent(&self) -> impl Iterator<Item = (Duration, Value)> {
        let text = self.patch.to_string();
        (0..self.times.unwrap_or(1)).map(move |turn| {
            let patch = text.replace("TURN", &(turn + 1).to_string());
            let at = Duration::from_secs(self.at + self.every * turn);
            (at, serde_json::from_str(&patch).unwrap_or_default())
        })
    }
}

/// A fault of a reference implementation.
#[derive(Clone, Copy, Debug)]
pub struct Fault(&'static FaultInfo);

/// All faults, in the order of the rules.
static FAULTS: LazyLock<Vec<FaultInfo>> = LazyLock::new(|| {
    let entries: BTreeMap<Edition, Vec<FaultInfo>> =
        serde_saphyr::from_str(include_str!("faults.yaml")).expect("the checked-in YAML lists faults");
    let mut all_faults: Vec<FaultInfo> = entries
        .into_iter()
        .flat_map(|(edition, faults)| {
            faults
                .into_iter()
                .map(move |fault| FaultInfo { edition, ..fault })
        })
        .collect();
    let mut faults = Vec::new();
    for rule in rules::all() {
        let (of_rule, remaining): (Vec<_>, Vec<_>) =
            all_faults.into_iter().partition(|fault| fault.rule() == rule.id);
        all_faults = remaining;
        let (mut amended, described): (Vec<_>, Vec<_>) =
            of_rule.into_iter().partition(|fault| fault.what.is_empty());
        if rule.role() != Role::Consumer
            && let Some(example) = Violation::of(rule, Timestamp::UNIX_EPOCH)
        {
            faults.push(FaultInfo {
                id: rule.id,
                what: example.name,
                edition: example.edition,
                is_example: true,
                ..amended.pop().unwrap_or_default()
            });
        }
        faults.extend(described);
    }
    faults
});

/// The faults of a role's reference implementation, in the order of the rules.
pub fn faults(role: Role) -> impl Iterator<Item = &'static FaultInfo> {
    FAULTS.iter().filter(move |fault| Role::of_rule(fault.id) == role)
}

impl FaultInfo {
    /// The rule that the fault breaks on purpose.
    pub fn rule(&self) -> &'static str {
        self.id.split(':').next().unwrap_or(self.id)
    }
}

impl Fault {
    /// The fault of that id.
    ///
    /// # Errors
    /// When there is none; the error names the nearest one of the same role.
    pub fn parse(id: &str) -> Result<Self, UnknownName> {
        let mut candidates = faults(Role::of_rule(id));
        candidates
            .find(|fault| fault.id == id)
            .map(Self)
            .ok_or_else(|| UnknownName::among("fault", id, faults(Role::of_rule(id)).map(|fault| fault.id)))
    }

    /// Its description.
    pub fn info(&self) -> &'static FaultInfo {
        self.0
    }

    /// The example of its rule that the implementation publishes, with times relative to `now`. None for a fault of behavior.
    pub(crate) fn example(&self, now: Timestamp) -> Option<Violation> {
        let rule = self.0.is_example.then_some(self.0.id)?;
        rules::find(rule).and_then(|rule| Violation::of(rule, now))
    }
}

/// The faults of a running implementation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults(Vec<Fault>);

impl Faults {
    pub(crate) fn new(faults: Vec<Fault>) -> Self {
        Self(faults)
    }

    /// True if the implementation has the fault of that id.
    pub(crate) fn has(&self, id: &str) -> bool {
        debug_assert!(FAULTS.iter().any(|fault| fault.id == id), "{id} is not a fault");
        self.0.iter().any(|fault| fault.0.id == id)
    }

    /// The values of properties that the manager reports instead of the right ones, by name.
    pub(crate) fn properties(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let properties = self.0.iter().flat_map(|fault| &fault.0.properties);
        properties.map(|(name, value)| (*name, *value))
    }

    /// The ids, in the order in which the user gave them.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|fault| fault.0.id)
    }
}

/// All of the suite's definitions, with the changes that these faults need.
pub fn hub_definitions(faults: &[Fault]) -> Vec<CustomResourceDefinition> {
    let mut definitions = crd::all();
    adapt_definitions(&mut definitions, faults);
    definitions
}

/// Makes the changes to a hub's definitions that these faults need.
pub fn adapt_definitions(definitions: &mut [CustomResourceDefinition], faults: &[Fault]) {
    for patch in faults.iter().filter_map(|fault| fault.0.hub.as_ref()) {
        let patched = definitions
            .iter_mut()
            .filter(|definition| definition.spec.names.plural == patch.plural);
        for version in patched.flat_map(|definition| &mut definition.spec.versions) {
            let mut schema = serde_json::to_value(&version.schema).unwrap_or_default();
            json_patch::merge(&mut schema["openAPIV3Schema"], &patch.schema);
            version.schema = serde_json::from_value(schema).expect("a patched schema is a schema");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn fault_ids_are_unique_and_a_typo_gets_a_suggestion() {
        let ids: BTreeSet<&str> = FAULTS.iter().map(|fault| fault.id).collect();
        assert_eq!(ids.len(), FAULTS.len());
        for id in ids {
            assert_eq!(Fault::parse(id).unwrap().info().id, id);
        }
        for (typo, nearest) in [
            ("identity/manager-label-mathces", "identity/manager-label-matches"),
            (
                "placement-slices/index-compleet",
                "placement-slices/index-complete",
            ),
        ] {
            let error = Fault::parse(typo).unwrap_err();
            assert_eq!(error.nearest.as_deref(), Some(nearest));
        }
    }

    #[test]
    fn every_entry_of_the_file_is_a_fault() {
        let entries: BTreeMap<Edition, Vec<FaultInfo>> =
            serde_saphyr::from_str(include_str!("faults.yaml")).unwrap();
        for fault in entries.into_values().flatten() {
            let known = Fault::parse(fault.id).unwrap();
            assert_eq!(known.info().is_example, fault.what.is_empty(), "{}", fault.id);
        }
    }

    #[test]
    fn the_hub_lacks_only_what_a_fault_needs_removed() {
        let text = |definition: &CustomResourceDefinition| serde_json::to_string(definition).unwrap();
        let usual = crd::all();
        for (id, index, gone) in [
            ("identity/manager-immutable", 0, "self == oldSelf"),
            ("placement-slices/size", 1, r#""maxItems":100"#),
            ("placement-slices/decisions-present", 1, r#"["decisions"]"#),
        ] {
            let changed = hub_definitions(&[Fault::parse(id).unwrap()]);
            for (at, (before, after)) in usual.iter().zip(&changed).enumerate() {
                let loses = text(before).contains(gone) && !text(after).contains(gone);
                assert!(
                    if at == index { loses } else { before == after },
                    "{id}, definition {at}"
                );
            }
        }
        assert_eq!(
            hub_definitions(&[Fault::parse("identity/manager-label-matches").unwrap()]),
            usual
        );
    }
}
