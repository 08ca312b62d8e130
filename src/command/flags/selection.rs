//! The flags that pick rules, as `cargo test` picks tests.

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use evidence::Claim;
use judge::{
    Selection,
    rules::{self, Basis, Rule},
};

use super::rule;
use crate::command::terminal::exit::Failure;

/// Which rules to judge.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Rules")]
pub struct SelectionFlags {
    /// Judge only rules whose id contains one of these
    ///
    /// For example `identity/` or `label`.
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// Match FILTER and --skip against whole ids
    #[arg(long)]
    exact: bool,
    /// Skip rules whose id contains this
    #[arg(long, value_name = "FILTER")]
    skip: Vec<String>,
    /// Judge only rules of this basis
    ///
    /// `explicit` rules demand what the documents state in the keyword or in equal words.
    #[arg(long, value_enum)]
    basis: Option<OnlyBasis>,
}

/// The rules that can be selected by their basis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OnlyBasis {
    /// The documents use the keyword for this very demand
    Explicit,
}

impl SelectionFlags {
    /// Resolves the selection; each of its names has to match a rule of the edition.
    ///
    /// # Errors
    /// When a name matches no rule, or no rule is left.
    pub fn resolve(self, claim: &Claim) -> Result<Selection, Failure> {
        for given in self.filters.iter().chain(&self.skip) {
            self.check(given, claim)?;
        }
        let selection = Selection {
            filters: self.filters,
            skip: self.skip,
            exact: self.exact,
            basis: self.basis.map(|OnlyBasis::Explicit| Basis::Explicit),
        };
        let left = rules::all().iter().any(|rule| selection.selects(rule, claim));
        if left || selection == Selection::default() {
            return Ok(selection);
        }
        Err(Failure::usage(anyhow!(
            "no rule is left: --skip or --basis removes all rules that FILTER selects"
        )))
    }

    fn check(&self, given: &str, claim: &Claim) -> Result<(), Failure> {
        let alone = Selection {
            filters: vec![given.to_owned()],
            exact: self.exact,
            ..Selection::default()
        };
        let matching: Vec<&Rule> = rules::all().iter().filter(|rule| alone.holds(rule.id)).collect();
        if matching.is_empty() {
            return Err(Failure::usage(rule::unknown(given)));
        }
        if !matching.iter().any(|rule| has(rule, claim)) {
            let editions: Vec<&str> = matching[0]
                .facts
                .editions
                .iter()
                .map(|applies| applies.edition.name())
                .collect();
            return Err(Failure::usage(anyhow!(
                "edition {} has no rule like `{given}`: {} is one of {}; choose with --edition",
                claim.edition,
                matching[0].id,
                editions.join(", ")
            )));
        }
        Ok(())
    }
}

fn has(rule: &Rule, claim: &Claim) -> bool {
    rule.facts.in_claim(claim).is_some()
}
