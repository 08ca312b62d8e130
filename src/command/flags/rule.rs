//! Names of rules on the command line, and their facts in a line.

use std::fmt::Display;

use evidence::api::UnknownName;
use judge::rules::{self, Applies, Facts};

/// A text that matches no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}{hint}", hint = if .0.nearest.is_none() { "; `list` prints all rules" } else { "" })]
pub struct NoRule(UnknownName);

/// The error for a text that matches no rule. People leave out the suite: the nearest name is among the short ones, too.
pub fn unknown(given: &str) -> NoRule {
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
