//! The rules as admission policies: `ValidatingAdmissionPolicy` objects that judge each write when it is made.
//!
//! What a policy says of a rule stands in the rule's file ([`PolicyFacts`]); this module puts it
//! together. There is one policy for each suite, resource and action, and one binding for each policy.

mod message;
mod policy;
mod variables;

use std::collections::BTreeMap;

use evidence::{
    Scope,
    api::{Edition, Feature},
};
use serde_json::Value;

use crate::{
    Selection,
    rules::{self, Level, PolicyFacts, Resource, Rule},
};

/// Which rules become policies, and what happens to a write that breaks one.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The edition of the rules.
    pub edition: Edition,
    /// The lowest level of a rule that becomes a policy; none for all levels.
    pub level: Option<Level>,
    /// Whether the API server denies what breaks a MUST rule. Else it warns, and notes it in the audit log.
    pub denies: bool,
    /// The features that the implementation claims: some rules count only then.
    pub features: Vec<Feature>,
    /// Which rules by their ids.
    pub selection: Selection,
    /// The namespaces and the manager whose writes are judged.
    pub scope: Scope,
}

/// A rule, and what a policy says of it.
pub type PolicyRule = (&'static Rule, &'static PolicyFacts);

/// What happens to a write that breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Action {
    Warn,
    Deny,
}

/// Returns the policies, each with its binding, as objects of the API `admissionregistration.k8s.io/v1`. They come in the
/// order of the rules. None if no rule is left.
pub fn manifests(options: &Options) -> Vec<Value> {
    let mut groups: BTreeMap<(usize, Resource, Action), Vec<PolicyRule>> = BTreeMap::new();
    let mut suites: Vec<&str> = Vec::new();
    for (rule, facts) in rules_of(options) {
        if suites.last() != Some(&rule.suite()) {
            suites.push(rule.suite());
        }
        let key = (suites.len(), facts.of, options.action(rule));
        groups.entry(key).or_default().push((rule, facts));
    }
    let groups = groups.iter();
    groups
        .flat_map(|((_, resource, action), rules)| policy::with_binding(options, *resource, *action, rules))
        .collect()
}

/// The rules that become policies, in the order of the reports. With the scope of one manager, none on Secrets: they
/// do not say whose profile theirs is, and the API server looks up no other object.
pub fn rules_of(options: &Options) -> impl Iterator<Item = PolicyRule> {
    let rules = rules::all().iter();
    rules
        .filter(|rule| options.holds(rule))
        .filter_map(|rule| Some((rule, rule.facts.policy.as_ref()?)))
        .filter(|(_, facts)| facts.is_of(options.edition))
        .filter(|(_, facts)| options.scope.cluster_manager.is_none() || facts.of != Resource::Secrets)
}

impl Options {
    fn holds(&self, rule: &Rule) -> bool {
        let claimed = |feature: &Feature| self.features.contains(feature);
        let counts = rule.facts.in_edition(self.edition).is_some_and(|applies| {
            let is_required = !applies.only_if_claimed || rule.facts.feature.is_some_and(|f| claimed(&f));
            // A MUST is the least level.
            let is_of_basis = self.selection.holds_basis(applies.basis);
            is_required && is_of_basis && self.level.is_none_or(|level| applies.level <= level)
        });
        counts && self.selection.holds(rule.id)
    }

    /// The level of a rule in the edition.
    fn level_of(&self, rule: &Rule) -> Level {
        let applies = rule.facts.in_edition(self.edition);
        applies.expect("only rules of the edition become policies").level
    }

    fn action(&self, rule: &Rule) -> Action {
        if self.denies && self.level_of(rule) == Level::Must {
            Action::Deny
        } else {
            Action::Warn
        }
    }
}
