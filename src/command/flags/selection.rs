//! The flags that pick rules, as `cargo test` picks tests, and the facts of a rule in a line.

use std::fmt::Display;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use evidence::{Claim, api::UnknownName};
use judge::{
    Selection,
    rules::{self, Applies, Basis, Facts, Rule},
};

use crate::command::terminal::exit::{Failure, bail_usage};

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
            return Err(Failure::usage(unknown_rule(given)));
        }
        if !matching.iter().any(|rule| has(rule, claim)) {
            let editions: Vec<&str> = matching[0]
                .facts
                .editions
                .iter()
                .map(|applies| applies.edition.name())
                .collect();
            bail_usage!(
                "edition {} has no rule like `{given}`: {} is one of {}; choose with --edition",
                claim.edition,
                matching[0].id,
                editions.join(", ")
            );
        }
        Ok(())
    }
}

fn has(rule: &Rule, claim: &Claim) -> bool {
    rule.facts.in_claim(claim).is_some()
}

/// A text that matches no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}{hint}", hint = if .0.nearest.is_none() { "; `list` prints all rules" } else { "" })]
pub struct NoRule(UnknownName);

/// The error for a text that matches no rule. People leave out the suite: the nearest name is among the short ones, too.
pub fn unknown_rule(given: &str) -> NoRule {
    let ids = || rules::all().iter().map(|rule| rule.id);
    let suites = rules::all().iter().map(|rule| rule.suite());
    let short = |id: &'static str| id.split_once('/').map_or(id, |(_, name)| name);
    let known = ids().chain(ids().map(short)).chain(suites);
    let known: Vec<&str> = known.filter(|name| *name != given).collect();
    let mut error = UnknownName::among("rule", given.trim_end_matches('/'), known);
    given.clone_into(&mut error.given);
    // An id can be given anywhere.
    if let Some(id) = ids().find(|id| Some(short(id)) == error.nearest.as_deref()) {
        error.nearest = Some(id.to_owned());
    }
    NoRule(error)
}

/// Lists the editions that have the rule.
pub fn editions(facts: &Facts) -> String {
    let names = facts.editions.iter().map(edition);
    names.collect::<Vec<_>>().join(", ")
}

/// Names an edition that has the rule.
pub fn edition(applies: &Applies) -> String {
    if applies.only_if_claimed {
        format!("{} (once claimed)", applies.edition)
    } else {
        applies.edition.to_string()
    }
}

/// Lists what stands in each edition: that of the first one, then each that differs from the one before.
pub fn by_edition<T: Display + PartialEq>(facts: &Facts, of: impl Fn(&Applies) -> T) -> Vec<String> {
    let mut listed: Vec<String> = Vec::new();
    let mut last = None;
    for applies in &facts.editions {
        let value = of(applies);
        if last.as_ref() != Some(&value) {
            listed.push(match &last {
                None => value.to_string(),
                Some(_) => format!("{value} (from edition {})", applies.edition),
            });
            last = Some(value);
        }
    }
    listed
}

/// Lists the evidence that the rule is judged from.
pub fn evidence(facts: &Facts) -> String {
    let mut parts = Vec::new();
    if !facts.needs.is_empty() {
        parts.push(format!("needs {}", joined(&facts.needs, " and ")));
    }
    if !facts.needs_one_of.is_empty() {
        parts.push(format!("needs {}", joined(&facts.needs_one_of, " or ")));
    }
    if !facts.helped_by.is_empty() {
        parts.push(format!("sharpened by {}", joined(&facts.helped_by, " and ")));
    }
    parts.join("; ")
}

fn joined(things: &[impl Display], between: &str) -> String {
    let names: Vec<String> = things.iter().map(ToString::to_string).collect();
    names.join(between)
}

/// Counts the examples that pass, those that fail, and the others: there the rule cannot decide or does not apply.
pub fn examples(facts: &Facts) -> [usize; 3] {
    let of = |kind: &str| {
        facts
            .examples
            .iter()
            .filter(|example| example.get(kind).is_some())
            .count()
    };
    let (passing, failing) = (of("passes"), of("fails"));
    [passing, failing, facts.examples.len() - passing - failing]
}
