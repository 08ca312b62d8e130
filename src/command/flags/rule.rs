//! Names of rules on the command line, and their facts in a line.

use std::fmt::Display;

use evidence::api::UnknownName;
use judge::rules::{self, Applies, Facts, Rule};

/// A name that is none of a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRule {
    /// It is not known; a slip gets the nearest one.
    #[error("{0}{hint}", hint = if .0.nearest.is_none() { "; `list` prints all rules" } else { "" })]
    Unknown(#[from] UnknownName),
    /// It is a suite's.
    #[error("`{suite}` is a suite: name one of its rules, {}", rules.join(", "))]
    Suite {
        /// The suite.
        suite: String,
        /// The ids of its rules.
        rules: Vec<&'static str>,
    },
}

/// Finds a rule by its id.
///
/// # Errors
/// When there is none; the error suggests the nearest.
pub fn named(id: &str) -> Result<&'static Rule, NoRule> {
    rules::find(id).ok_or_else(|| unknown(id))
}

/// Builds the error for an unknown rule: people leave out the suite, or give it alone.
pub fn unknown(given: &str) -> NoRule {
    let suite = given.strip_suffix('/').unwrap_or(given);
    let of_suite = rules::all().iter().filter(|rule| rule.suite() == suite);
    let of_suite: Vec<&str> = of_suite.map(|rule| rule.id).collect();
    if !of_suite.is_empty() {
        return NoRule::Suite {
            suite: suite.to_owned(),
            rules: of_suite,
        };
    }
    nearest(given).into()
}

fn nearest(given: &str) -> UnknownName {
    let ids = rules::all().iter().map(|rule| rule.id);
    if let Some((suite, name)) = given.split_once('/') {
        let mut error = UnknownName::among("rule", given, ids);
        if name.is_empty() {
            // It is a filter that selects a suite.
            let suites = rules::all().iter().map(|rule| rule.suite());
            let nearest = UnknownName::among("suite", suite, suites).nearest;
            error.nearest = nearest.map(|suite| format!("{suite}/"));
        }
        return error;
    }
    let short = |id: &'static str| id.split_once('/').map_or(id, |(_, name)| name);
    let suites = rules::all().iter().map(|rule| rule.suite());
    let mut error = UnknownName::among("rule", given, ids.clone().map(short).chain(suites));
    // Suggest an id where there is one: it can be given anywhere.
    if let Some(id) = ids
        .into_iter()
        .find(|id| Some(short(id)) == error.nearest.as_deref())
    {
        error.nearest = Some(id.to_owned());
    }
    error
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
