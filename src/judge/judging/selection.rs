//! The rules that the user selected.

use evidence::Claim;

use crate::rules::{Basis, Rule};

/// The rules that the user selected, by substrings of their ids like `cargo test`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// A rule must match one of these; empty: all do.
    pub filters: Vec<String>,
    /// A rule must match none of these.
    pub skip: Vec<String>,
    /// Whether `filters` and `skip` are whole ids.
    pub exact: bool,
    /// The basis that a rule must have in the judged edition; none: any.
    pub basis: Option<Basis>,
}

impl Selection {
    /// Whether the user selected that rule of the claim's editions. Editions may differ in a rule's basis.
    pub fn selects(&self, rule: &Rule, claim: &Claim) -> bool {
        let applies = rule.facts.in_claim(claim);
        self.holds(rule.id) && applies.is_some_and(|applies| self.holds_basis(applies.basis))
    }

    /// Whether the user selected rules of that basis.
    pub(crate) fn holds_basis(&self, basis: Basis) -> bool {
        self.basis.is_none_or(|wanted| wanted == basis)
    }

    /// Whether the user selected rules of that id.
    pub fn holds(&self, id: &str) -> bool {
        let matches = |pattern: &String| {
            if self.exact {
                id == pattern
            } else {
                id.contains(pattern.as_str())
            }
        };
        (self.filters.is_empty() || self.filters.iter().any(matches)) && !self.skip.iter().any(matches)
    }
}
