//! `explain`: everything about one rule.

use anyhow::anyhow;
use clap::Args;
use evidence::api::Edition;
use judge::{
    RuleVerdict, Selection, judge,
    rules::{Applies, Rule, example::Example},
};
use report::{page::Page, show_findings, yaml};
use serde_json::Value;

use crate::command::{
    flags::rule::{by_edition, edition, editions, evidence, named},
    terminal::{
        exit::{Exit, Failure},
        print::{print, width},
    },
};

/// Explain a rule: its requirement, reasoning and source, an example that passes, one that fails with its findings, and
/// the remedy
#[derive(Debug, Args)]
pub struct Explain {
    /// The rule's id, such as identity/manager-label-present
    rule: String,
    /// The edition to explain it by: its source there, and an example of it [default: all editions]
    #[arg(long, value_name = "EDITION")]
    edition: Option<Edition>,
}

/// The indent of examples.
const INDENT: usize = 4;

impl Explain {
    /// Prints the explanation.
    ///
    /// # Errors
    /// When there is no such rule, or standard output cannot be written to.
    pub fn execute(self) -> Result<Exit, Failure> {
        let rule = named(&self.rule).map_err(Failure::usage)?;
        let applies = match self.edition {
            Some(edition) => Some(applies(rule, edition)?),
            None => None,
        };
        print(&explanation(rule, applies, width())).map(|()| Exit::Success)
    }
}

fn applies(rule: &Rule, edition: Edition) -> Result<&Applies, Failure> {
    rule.facts.in_edition(edition).ok_or_else(|| {
        Failure::usage(anyhow!(
            "edition {edition} has no rule {}: it is in {}",
            rule.id,
            editions(&rule.facts)
        ))
    })
}

/// Explains a rule in all its editions, or in one.
fn explanation(rule: &Rule, only: Option<&Applies>, width: Option<usize>) -> String {
    let mut page = Page::new(width);
    let weight = only.unwrap_or(rule.facts.first()).weight();
    page.marked(0, &format!("[{weight}]"), rule.id);
    page.gap();
    page.paragraph(2, &rule.facts.title);
    page.gap();
    show_facts(&mut page, rule, only);
    page.gap();
    page.paragraph(
        2,
        "The examples show only what matters; everything else in them conforms.",
    );
    let examples = Example::of(rule).expect("a test has read the examples of every rule");
    for kind in ["passes", "fails"] {
        if let Some(place) = place_of_example(rule, kind, only) {
            show_example(&mut page, rule, &examples, kind, place);
        }
    }
    page.gap();
    page.field(2, "remedy", &rule.facts.remedy);
    page.into_text()
}

/// Finds the first example of a kind, rather one of the edition itself.
fn place_of_example(rule: &Rule, kind: &str, only: Option<&Applies>) -> Option<usize> {
    let edition = only.map(|applies| applies.edition.to_string());
    let examples = || rule.facts.examples.iter();
    let of_edition = |example: &Value| edition.is_some() && example["edition"].as_str() == edition.as_deref();
    let is_one = |example: &Value| example.get(kind).is_some();
    examples()
        .position(|example| is_one(example) && of_edition(example))
        .or_else(|| examples().position(is_one))
}

fn show_facts(page: &mut Page, rule: &Rule, only: Option<&Applies>) {
    let facts = &rule.facts;
    match only {
        Some(applies) => {
            page.field(2, "source", &applies.source);
            page.field(2, "edition", &edition(applies));
        }
        None => {
            fields(
                page,
                "source",
                &by_edition(facts, |applies| applies.source.clone()),
            );
            page.field(2, "editions", &editions(facts));
            let levels = by_edition(facts, Applies::weight);
            if levels.len() > 1 {
                fields(page, "levels", &levels);
            }
        }
    }
    if !facts.keywords.is_empty() {
        page.field(2, "keywords", &facts.keywords.join(", "));
    }
    let basis = |applies: &Applies| match &applies.reasoning {
        Some(reasoning) => reasoning.clone(),
        None => "the documents state this demand, in the keyword or in equal words".to_owned(),
    };
    let told = match only {
        Some(applies) => vec![basis(applies)],
        None => by_edition(facts, basis),
    };
    fields(page, only.unwrap_or(facts.first()).basis.name(), &told);
    page.field(2, "evidence", &evidence(facts));
    if let Some(feature) = facts.feature {
        page.field(
            2,
            "feature",
            &format!("{feature}: skipped with --no-feature {feature}"),
        );
    }
    if let Some(why) = &facts.unjudged {
        page.field(2, "unjudged", why);
    }
}

/// Shows a field of several lines.
fn fields(page: &mut Page, name: &str, values: &[String]) {
    for (place, value) in values.iter().enumerate() {
        page.field(2, if place == 0 { name } else { "" }, value);
    }
}

fn show_example(page: &mut Page, rule: &Rule, examples: &[Example], kind: &str, place: usize) {
    let example = &rule.facts.examples[place];
    let name = example.get("name").and_then(Value::as_str).unwrap_or_default();
    page.gap();
    page.marked(0, &format!("{kind}:"), name);
    page.gap();
    page.verbatim(INDENT, &yaml::block(&example[kind]));
    if let Some((path, value)) = conforming(rule, examples, kind, place) {
        page.gap();
        page.paragraph(2, &format!("and {path} is {value}"));
    }
    let Some(verdict) = judged(rule, &examples[place]) else {
        return;
    };
    if !verdict.findings.is_empty() {
        page.gap();
        page.paragraph(2, "and a report says");
        show_findings(page, &verdict);
    }
}

/// Where the first example that fails has its fault, and what the profile of a passing example has there. An example says only
/// what differs from a profile that conforms, so that may be all that the rule looks at.
fn conforming(rule: &Rule, examples: &[Example], kind: &str, place: usize) -> Option<(String, String)> {
    let example = &rule.facts.examples[place];
    // Others change their profiles over time.
    if kind != "passes" || !example[kind].is_array() {
        return None;
    }
    let failing = &examples[place_of_example(rule, "fails", None)?];
    let path = judged(rule, failing)?.findings.first()?.path.clone();
    let history = examples[place].evidence().histories().next()?;
    let profile = serde_json::to_value(history.last()).ok()?;
    let value = at_path(&profile, &path)?.as_str()?.to_owned();
    // A label's key has dots.
    let field = match path.strip_suffix(']') {
        Some(path) => path.rsplit('[').next()?,
        None => path.rsplit('.').next()?,
    };
    let is_shown = example[kind].to_string().contains(field);
    (!is_shown).then_some((path, value))
}

/// The value at the path of a finding, such as `metadata.labels[x-k8s.io/cluster-manager]` or `status.conditions[Joined].status`.
fn at_path<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    let Some(key_begins) = path.find(['.', '[']) else {
        return value.get(path);
    };
    let (field, rest) = path.split_at(key_begins);
    let value = if field.is_empty() {
        value
    } else {
        value.get(field)?
    };
    let (value, rest) = match rest.strip_prefix('[') {
        None => (value, &rest[1..]),
        Some(rest) => {
            let (key, rest) = rest.split_once(']')?;
            let is_named = |entry: &&Value| ["name", "type"].iter().any(|field| entry[field] == key);
            let value = match value {
                Value::Array(list) => list.iter().find(is_named)?,
                other => other.get(key)?,
            };
            (value, rest.strip_prefix('.').unwrap_or(rest))
        }
    };
    if rest.is_empty() {
        Some(value)
    } else {
        at_path(value, rest)
    }
}

/// Judges one of the rule's examples.
fn judged(rule: &Rule, example: &Example) -> Option<RuleVerdict> {
    let selection = Selection {
        filters: vec![rule.id.to_owned()],
        exact: true,
        ..Selection::default()
    };
    let judgement = judge(example.evidence(), &selection);
    let mut verdicts = judgement.verdicts.into_iter();
    verdicts.find(|verdict| verdict.rule.id == rule.id)
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use judge::rules;

    use super::*;

    #[test]
    fn every_rule_is_explained_in_80_columns_with_the_findings_of_its_example() {
        for rule in rules::all() {
            let told = strip_str(&explanation(rule, None, Some(80))).to_string();
            for line in told.lines() {
                // A path or a command stays whole.
                let is_whole = line.split_whitespace().count() <= 2 || line.contains("conformance explain ");
                assert!(
                    line.chars().count() <= 80 || is_whole,
                    "{}: too wide: {line}",
                    rule.id
                );
                assert!(!line.chars().any(char::is_control), "{}: {line:?}", rule.id);
            }
            let place = rule
                .facts
                .examples
                .iter()
                .position(|example| example.get("fails").is_some());
            let examples = Example::of(rule).expect("examples");
            let verdict = place
                .and_then(|place| judged(rule, &examples[place]))
                .expect("an example fails");
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            let told = words(&told);
            for text in [
                &verdict.findings[0].message,
                &rule.facts.title,
                &rule.facts.remedy,
                &rule.facts.first().source,
            ] {
                assert!(
                    told.contains(&words(text)),
                    "{}: {text} is not in: {told}",
                    rule.id
                );
            }
        }
    }

    #[test]
    fn a_passing_example_shows_what_the_rule_looks_at() {
        for (rule, shown) in [
            (
                "identity/manager-label-matches",
                "metadata.labels[x-k8s.io/cluster-manager] is Fleet_Manager.v2",
            ),
            (
                "identity/member-id-set",
                "metadata.labels[multicluster.x-k8s.io/inventory-member-id] is ",
            ),
        ] {
            let rule = rules::find(rule).expect("a rule");
            let told = strip_str(&explanation(rule, None, None)).to_string();
            assert!(told.contains(shown), "{told}");
        }
    }

    #[test]
    fn an_edition_has_its_own_source_and_its_own_examples() {
        let rule = rules::find("consumers/secret-has-kubeconfig").expect("a rule");
        for applies in &rule.facts.editions {
            let told = strip_str(&explanation(rule, Some(applies), Some(80))).to_string();
            assert!(told.contains(&format!("edition   {}", applies.edition)), "{told}");
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words(&told).contains(&words(&applies.source)), "{told}");
            let first = &rule.facts.first().source;
            assert!(
                applies.source == *first || !words(&told).contains(&words(first)),
                "{told}"
            );
        }
    }
}
