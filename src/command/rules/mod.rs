//! `list`: the rules of an edition, or all of them as a document; and the facts of a rule in a line.

pub mod explain;

use std::fmt::{Display, Write};

use clap::{Args, ValueEnum};
use evidence::api::{Edition, Role};
use judge::rules::{self, Applies, Facts, Rule};
use serde_json::json;

use crate::command::{Exit, Failure, bail_usage, print, role_parser};

/// List the rules
#[derive(Debug, Args)]
pub struct List {
    /// The role whose rules to list [default: manager, or that of --edition; for markdown, all]
    #[arg(long, value_parser = role_parser())]
    role: Option<Role>,
    /// The edition whose rules to list [default: standard or placement-2025-09; for markdown, all]
    #[arg(long)]
    edition: Option<Edition>,
    /// How to list them
    #[arg(long, value_enum, default_value_t)]
    format: ListFormat,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum ListFormat {
    /// One line per rule
    #[default]
    Table,
    /// An array of objects
    Json,
    /// A document with a table for each suite
    Markdown,
}

impl List {
    pub fn execute(self) -> Result<Exit, Failure> {
        if let (Some(role), Some(edition)) = (self.role, self.edition)
            && edition.role() != role
        {
            bail_usage!(
                "edition {edition} is for the role {}: leave out --role, or name another edition",
                edition.role()
            );
        }
        let role = self.role.unwrap_or_default();
        let edition = self.edition.unwrap_or(role.default_edition());
        let text = match self.format {
            ListFormat::Table => table(&rules_of(Some(edition)), edition),
            ListFormat::Json => json(&rules_of(Some(edition)), edition),
            ListFormat::Markdown => {
                let mut rules = rules_of(self.edition);
                rules.retain(|rule| self.role.is_none_or(|role| rule.role() == role));
                markdown(&rules, self.edition)
            }
        };
        print(&text)
    }
}

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
    let number = rules.len();
    let _ = writeln!(
        text,
        "\n{number} rules in edition {edition}; explain RULE shows one"
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

const HEAD: &str = "\
| Rule | Level | Basis | Editions | Evidence | What holds | Source | Examples |
|---|---|---|---|---|---|---|---|
";

/// Writes all facts of these rules, suite by suite, as Markdown.
fn markdown(rules: &[&Rule], edition: Option<Edition>) -> String {
    let mut text = "# The rules\n\n".to_owned();
    let of_edition = edition.map_or_else(String::new, |edition| format!(" of edition {edition}"));
    let option = edition.map_or_else(String::new, |edition| format!(" --edition {edition}"));
    let _ = writeln!(
        text,
        "The {} rules{of_edition}, in the order in which the suite judges them, as `clusterprofile-conformance list \
         --format markdown{option}` prints them. The documents state *explicit* rules in these or equal words; *derived* \
         rules follow from them; a *guide* alone asks for the others, which never fail a run. \
         `clusterprofile-conformance explain RULE` shows the reasoning, what passes, and what fails. The last column counts \
         the examples that pass, those that fail, and those that the rule does not decide.",
        rules.len()
    );
    let mut suite = "";
    for rule in rules {
        if rule.suite() != suite {
            suite = rule.suite();
            let _ = write!(text, "\n## {suite}\n\n{HEAD}");
        }
        row(&mut text, rule);
    }
    text
}

fn row(text: &mut String, rule: &Rule) {
    let facts = &rule.facts;
    let title = match &facts.unjudged {
        Some(why) => format!("{} (cannot be judged yet: {why})", facts.title),
        None => facts.title.clone(),
    };
    let evidence = match facts.feature {
        Some(feature) => format!("{}; feature {feature}", evidence(facts)),
        None => evidence(facts),
    };
    let [passing, failing, other] = examples(facts);
    let cells = [
        format!("`{}`", rule.id),
        by_edition(facts, |applies| applies.level).join("; "),
        by_edition(facts, |applies| applies.basis).join("; "),
        editions(facts),
        evidence,
        title,
        by_edition(facts, |applies| applies.source.clone()).join("; "),
        format!("{passing} + {failing} + {other}"),
    ];
    let cells = cells.map(|cell| cell.replace('|', "\\|"));
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

/// Lists the editions that have the rule.
fn editions(facts: &Facts) -> String {
    let names = facts.editions.iter().map(edition);
    names.collect::<Vec<_>>().join(", ")
}

/// Names an edition that has the rule.
fn edition(applies: &Applies) -> String {
    if applies.only_if_claimed {
        format!("{} (once claimed)", applies.edition)
    } else {
        applies.edition.to_string()
    }
}

/// Lists the values by edition: the first one, then each that differs from the one before.
fn by_edition<T: Display + PartialEq>(facts: &Facts, of: impl Fn(&Applies) -> T) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut last = None;
    for applies in &facts.editions {
        let value = of(applies);
        if last.as_ref() != Some(&value) {
            lines.push(match &last {
                None => value.to_string(),
                Some(_) => format!("{value} (from edition {})", applies.edition),
            });
            last = Some(value);
        }
    }
    lines
}

/// Lists the evidence that the rule is judged from.
fn evidence(facts: &Facts) -> String {
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
fn examples(facts: &Facts) -> [usize; 3] {
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
