//! `list`: the rules of an edition, or all of them.

use std::fmt::Write;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use evidence::api::{Edition, Role};
use judge::rules::{self, Rule};
use serde_json::json;

use super::ledger;
use crate::command::{
    flags::{roles, rule::examples},
    terminal::{
        exit::{Exit, Failure},
        print::print,
    },
};

/// List the rules
#[derive(Debug, Args)]
pub struct List {
    /// The role whose rules to list [default: manager, or that of --edition; for markdown, all]
    #[arg(long, value_parser = roles::parser(Role::ALL))]
    role: Option<Role>,
    /// The edition whose rules to list [default: standard or placement-2025-09; for markdown, all]
    #[arg(long)]
    edition: Option<Edition>,
    /// How to list them
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Format {
    /// One line per rule
    #[default]
    Table,
    /// An array of objects
    Json,
    /// A document with a table for each suite
    Markdown,
}

impl List {
    /// Prints the list.
    ///
    /// # Errors
    /// When standard output cannot be written to.
    pub fn execute(self) -> Result<Exit, Failure> {
        if let (Some(role), Some(edition)) = (self.role, self.edition)
            && edition.role() != role
        {
            return Err(Failure::usage(anyhow!(
                "edition {edition} is for the role {}: leave out --role, or name another edition",
                edition.role()
            )));
        }
        let role = self.role.unwrap_or_default();
        let edition = self.edition.unwrap_or(role.default_edition());
        let text = match self.format {
            Format::Table => table(&rules_of(Some(edition)), edition),
            Format::Json => json(&rules_of(Some(edition)), edition),
            Format::Markdown => {
                let mut rules = rules_of(self.edition);
                rules.retain(|rule| self.role.is_none_or(|role| rule.role() == role));
                ledger::markdown(&rules, self.edition)
            }
        };
        print(&text).map(|()| Exit::Success)
    }
}

/// Returns the rules of an edition, or all rules.
fn rules_of(edition: Option<Edition>) -> Vec<&'static Rule> {
    let has = |rule: &&Rule| edition.is_none_or(|edition| rule.facts.in_edition(edition).is_some());
    rules::all().iter().filter(has).collect()
}

fn table(rules: &[&Rule], edition: Edition) -> String {
    let mut text = String::new();
    for rule in rules {
        let applies = rule.facts.in_edition(edition).unwrap_or(rule.facts.first());
        let _ = writeln!(text, "{:<6}  {:<8}  {}", applies.level, applies.basis, rule.id);
    }
    let _ = writeln!(
        text,
        "\n{} rules in edition {edition}; explain RULE shows one",
        rules.len()
    );
    text
}

fn json(rules: &[&Rule], edition: Edition) -> String {
    let rules: Vec<_> = rules
        .iter()
        .map(|rule| {
            let facts = &rule.facts;
            let applies = facts.in_edition(edition).unwrap_or(facts.first());
            let [passing, failing, other] = examples(facts);
            json!({
                "rule": rule.id,
                "title": facts.title,
                "level": applies.level,
                "basis": applies.basis,
                "reasoning": applies.reasoning,
                "editions": facts.editions.iter().map(|applies| applies.edition).collect::<Vec<_>>(),
                "source": applies.source,
                "needs": facts.needs,
                "needsOneOf": facts.needs_one_of,
                "helpedBy": facts.helped_by,
                "feature": facts.feature,
                "unjudged": facts.unjudged,
                "remedy": facts.remedy,
                "examples": {"passing": passing, "failing": failing, "other": other},
            })
        })
        .collect();
    format!("{:#}\n", serde_json::Value::Array(rules))
}
