//! Describes a fault, and finds one by its id.

use evidence::api::{Edition, Role, UnknownName};
use jiff::Timestamp;
use judge::rules::{self, example::Violation};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::HubChange;
use crate::crd;

/// The description of a fault. `Edit` says how the implementation misbehaves.
#[derive(Clone, Copy, Debug)]
pub struct FaultInfo<Edit> {
    /// `suite/rule` or `suite/rule:variant`.
    pub id: &'static str,
    /// What the implementation does wrong, in a line.
    pub what: &'static str,
    /// The first edition that has the rule. Earlier editions do not detect the fault.
    pub edition: Edition,
    /// Other rules that it inevitably breaks.
    pub also: &'static [&'static str],
    /// Other rules that it inevitably breaks, by the API server's audit log only.
    pub also_in_audit_log: &'static [&'static str],
    /// What the hub must lack for the fault to be possible.
    pub hub: HubChange,
    /// True if only the API server's audit log, with request bodies, shows it.
    pub needs_audit_log: bool,
    /// True if it shows only when the run drives the implementation.
    pub needs_driver: bool,
    /// Rules that cannot be judged then, since their subject never appears.
    pub hides: &'static [&'static str],
    /// Flags without which a run does not detect it: names, or what the user expects.
    pub flags: &'static [&'static str],
    /// None: the implementation publishes the first failing example of the rule.
    edit: Option<Edit>,
}

/// A fault: a way in which a reference implementation breaks a rule.
#[derive(Clone, Copy, Debug)]
pub struct Fault<Edit: 'static>(&'static FaultInfo<Edit>);

impl<Edit> FaultInfo<Edit> {
    pub(crate) const fn first_in(edition: Edition, id: &'static str, what: &'static str, edit: Edit) -> Self {
        Self::new_in(edition, id, what, Some(edit))
    }

    const fn new_in(edition: Edition, id: &'static str, what: &'static str, edit: Option<Edit>) -> Self {
        Self {
            id,
            what,
            edition,
            also: &[],
            also_in_audit_log: &[],
            hub: HubChange::None,
            needs_audit_log: false,
            needs_driver: false,
            hides: &[],
            flags: &[],
            edit,
        }
    }

    pub(crate) const fn since(mut self, edition: Edition) -> Self {
        self.edition = edition;
        self
    }

    pub(crate) const fn also(mut self, rules: &'static [&'static str]) -> Self {
        self.also = rules;
        self
    }

    pub(crate) const fn also_in_audit_log(mut self, rules: &'static [&'static str]) -> Self {
        self.also_in_audit_log = rules;
        self
    }

    pub(crate) const fn on(mut self, hub: HubChange) -> Self {
        self.hub = hub;
        self
    }

    pub(crate) const fn in_audit_log_only(mut self) -> Self {
        self.needs_audit_log = true;
        self
    }

    pub(crate) const fn driven(mut self) -> Self {
        self.needs_driver = true;
        self
    }

    pub(crate) const fn hides(mut self, rules: &'static [&'static str]) -> Self {
        self.hides = rules;
        self
    }

    pub(crate) const fn flags(mut self, flags: &'static [&'static str]) -> Self {
        self.flags = flags;
        self
    }

    /// The rule that the fault breaks on purpose.
    pub fn rule(&self) -> &'static str {
        self.id.split(':').next().unwrap_or(self.id)
    }
}

impl<Edit> Fault<Edit> {
    /// Finds a fault by its id. The error names the nearest one.
    pub(crate) fn find(id: &str, faults: &'static [FaultInfo<Edit>]) -> Result<Self, UnknownName> {
        faults
            .iter()
            .find(|fault| fault.id == id)
            .map(Self)
            .ok_or_else(|| UnknownName::among("fault", id, faults.iter().map(|fault| fault.id)))
    }

    /// What it changes in the implementation. None for an example of its rule.
    pub(crate) fn edit(&self) -> Option<Edit>
    where
        Edit: Copy,
    {
        self.0.edit
    }

    /// The example of its rule that the implementation publishes, with times relative to `now`. None for a fault of behavior.
    pub(crate) fn example(&self, now: Timestamp) -> Option<Violation> {
        let rule = self.0.edit.is_none().then_some(self.0.id)?;
        rules::find(rule).and_then(|rule| Violation::of(rule, now))
    }

    /// Its description.
    pub fn info(&self) -> &'static FaultInfo<Edit> {
        self.0
    }
}

impl<World> Fault<fn(&mut World)> {
    pub(crate) fn apply(&self, world: &mut World) {
        if let Some(edit) = self.0.edit {
            edit(world);
        }
    }
}

/// A fault for each rule of the role that judges published objects: the rule's first failing example.
pub(crate) fn faults_by_example<Edit>(role: Role) -> Vec<FaultInfo<Edit>> {
    let rules = rules::all().iter().filter(|rule| rule.role() == role);
    let faults = rules.filter_map(|rule| {
        let example = Violation::of(rule, Timestamp::UNIX_EPOCH)?;
        Some(FaultInfo::new_in(example.edition, rule.id, example.name, None))
    });
    faults.collect()
}

/// Sorts faults by their rules, in the order of the reports.
pub(crate) fn sort_by_rule<Edit>(faults: &mut [FaultInfo<Edit>]) {
    let place = |fault: &FaultInfo<Edit>| rules::all().iter().position(|rule| rule.id == fault.rule());
    faults.sort_by_cached_key(place);
}

/// All of the suite's definitions, with the changes that these faults need.
pub(crate) fn definitions_for<Edit>(faults: &[Fault<Edit>]) -> Vec<CustomResourceDefinition> {
    let mut definitions = crd::all();
    adapt(&mut definitions, faults);
    definitions
}

/// Makes the changes to definitions that these faults need.
pub(crate) fn adapt<Edit>(definitions: &mut [CustomResourceDefinition], faults: &[Fault<Edit>]) {
    for fault in faults {
        fault.info().hub.make(definitions);
    }
}
