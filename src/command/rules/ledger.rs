//! The ledger as a document.

use std::fmt::Write;

use evidence::api::Edition;
use judge::rules::Rule;

use crate::command::flags::rule::{by_edition, editions, evidence, examples};

const HEAD: &str = "\
| Rule | Level | Basis | Editions | Evidence | What holds | Source | Examples |
|---|---|---|---|---|---|---|---|
";

/// Writes all facts of these rules, suite by suite, as Markdown.
pub(crate) fn markdown(rules: &[&Rule], edition: Option<Edition>) -> String {
    let mut text = "# The rules\n\n".to_owned();
    let of_edition = edition.map_or_else(String::new, |edition| format!(" of edition {edition}"));
    let option = edition.map_or_else(String::new, |edition| format!(" --edition {edition}"));
    let _ = writeln!(
        text,
        "The {} rules{of_edition} that the suite knows, in the order in which it judges them, as \
         `clusterprofile-conformance list --format markdown{option}` prints them. *Explicit* rules stand in the \
         documents in these or equal words, *derived* ones follow from them, a *guide* alone asks for others, which never fail a run; `clusterprofile-conformance explain RULE` \
         tells how, and shows what passes and what fails. The examples are counted as those that pass, those that fail, \
         and those that show when the rule does not tell.",
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
