//! `list`: the rules of an edition.

use std::fmt::Write;

use clap::{Args, ValueEnum};
use clusterprofile_conformance::{
    api::Edition,
    rules::{self, Rule},
};
use serde_json::json;

use super::{Exit, Failure, print::print};

/// List the rules
#[derive(Debug, Args)]
pub struct List {
    /// The edition whose rules to list
    #[arg(long, default_value_t)]
    edition: Edition,
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
    /// A table for a document
    Markdown,
}

impl List {
    /// Prints the list.
    ///
    /// # Errors
    /// When standard output cannot be written to.
    pub fn execute(self) -> Result<Exit, Failure> {
        let rules: Vec<&Rule> = rules::all()
            .iter()
            .filter(|rule| rule.facts.in_edition(self.edition).is_some())
            .collect();
        let text = match self.format {
            Format::Table => table(&rules, self.edition),
            Format::Json => json(&rules),
            Format::Markdown => markdown(&rules),
        };
        print(&text).map(|()| Exit::Success)
    }
}

fn table(rules: &[&Rule], edition: Edition) -> String {
    let mut text = String::new();
    for rule in rules {
        let _ = writeln!(text, "{:<6}  {}", rule.facts.level, rule.id);
    }
    let _ = writeln!(
        text,
        "\n{} rules in edition {edition}; explain RULE tells of one",
        rules.len()
    );
    text
}

fn json(rules: &[&Rule]) -> String {
    let rules: Vec<_> = rules
        .iter()
        .map(|rule| {
            let facts = &rule.facts;
            json!({
                "rule": rule.id,
                "title": facts.title,
                "level": facts.level,
                "basis": facts.basis,
                "editions": facts.editions.iter().map(|applies| applies.edition()).collect::<Vec<_>>(),
                "source": facts.source,
                "needs": facts.needs,
                "needsOneOf": facts.needs_one_of,
                "helpedBy": facts.helped_by,
                "feature": facts.feature,
            })
        })
        .collect();
    format!("{:#}\n", serde_json::Value::Array(rules))
}

fn markdown(rules: &[&Rule]) -> String {
    let cell = |text: &str| text.replace('|', "\\|");
    let mut text = "| rule | level | what must hold | source |\n|---|---|---|---|\n".to_owned();
    for rule in rules {
        let facts = &rule.facts;
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            rule.id,
            facts.level,
            cell(&facts.title),
            cell(&facts.source)
        );
    }
    text
}
