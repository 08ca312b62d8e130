//! The flags that pick rules, as `cargo test` picks tests.

use anyhow::anyhow;
use clap::Args;
use evidence::{Claim, api::UnknownName};
use judge::{
    Selection,
    rules::{self, Basis, Rule},
};

use crate::command::{Failure, bail_usage};

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
    #[arg(long, value_parser = [Basis::Explicit.name()])]
    basis: Option<String>,
}

impl SelectionFlags {
    /// Resolves the selection; each of its names has to match a rule of the edition.
    pub fn resolve(self, claim: &Claim) -> Result<Selection, Failure> {
        for filter in self.filters.iter().chain(&self.skip) {
            self.check(filter, claim)?;
        }
        let selection = Selection {
            filters: self.filters,
            skip: self.skip,
            exact: self.exact,
            basis: self.basis.map(|_| Basis::Explicit),
        };
        let is_any_left = rules::all().iter().any(|rule| selection.selects(rule, claim));
        if !is_any_left && selection != Selection::default() {
            bail_usage!("no rule is left: --skip or --basis removes all rules that FILTER selects");
        }
        Ok(selection)
    }

    fn check(&self, filter: &str, claim: &Claim) -> Result<(), Failure> {
        let alone = Selection {
            filters: vec![filter.to_owned()],
            exact: self.exact,
            ..Selection::default()
        };
        let matching: Vec<&Rule> = rules::all().iter().filter(|rule| alone.holds(rule.id)).collect();
        if matching.is_empty() {
            return Err(unknown_rule(filter));
        }
        if !matching.iter().any(|rule| rule.facts.in_claim(claim).is_some()) {
            let editions = matching[0].facts.editions.iter();
            let editions: Vec<&str> = editions.map(|applies| applies.edition.name()).collect();
            bail_usage!(
                "edition {} has no rule like `{filter}`: {} is one of {}; choose with --edition",
                claim.edition,
                matching[0].id,
                editions.join(", ")
            );
        }
        Ok(())
    }
}

/// The error for a text that matches no rule. People leave out the suite: the nearest name is among the short ones, too.
pub fn unknown_rule(text: &str) -> Failure {
    let ids = || rules::all().iter().map(|rule| rule.id);
    let suites = rules::all().iter().map(|rule| rule.suite());
    let short = |id: &'static str| id.split_once('/').map_or(id, |(_, name)| name);
    let names = ids().chain(ids().map(short)).chain(suites);
    let names: Vec<&str> = names.filter(|name| *name != text).collect();
    let mut error = UnknownName::among("rule", text.trim_end_matches('/'), names);
    text.clone_into(&mut error.input);
    // An id can be given anywhere.
    if let Some(id) = ids().find(|id| Some(short(id)) == error.nearest.as_deref()) {
        error.nearest = Some(id.to_owned());
    }
    let hint = if error.nearest.is_none() {
        "; `list` prints all rules"
    } else {
        ""
    };
    Failure::usage(anyhow!("{error}{hint}"))
}
