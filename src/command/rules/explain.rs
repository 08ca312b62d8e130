//! `explain`: everything about one rule.

use clap::Args;
use judge::{
    RuleVerdict, Selection, judge,
    rules::{self, Applies, Facts, Rule, example::Example},
};
use report::{page::Page, show_findings, yaml};
use serde_json::Value;

use super::{by_edition, editions, evidence};
use crate::command::{Exit, Failure, flags::selection::unknown_rule, print, width};

/// Explain a rule: its requirement, reasoning and source, an example that passes, one that fails with its findings, and
/// the remedy
#[derive(Debug, Args)]
pub struct Explain {
    /// The rule's id, or a word to search ids and titles for
    rule: String,
}

const INDENT: usize = 4;

impl Explain {
    pub fn execute(self) -> Result<Exit, Failure> {
        let rule = match rules::find(&self.rule) {
            Some(rule) => rule,
            None => match &search(&self.rule)[..] {
                [] => return Err(unknown_rule(&self.rule)),
                [rule] => rule,
                several => return print(&titles(several)),
            },
        };
        print(&explanation(rule, width()))
    }
}

fn search(text: &str) -> Vec<&'static Rule> {
    let text = text.to_lowercase();
    let contains = |rule: &&Rule| rule.id.contains(&text) || rule.facts.title.to_lowercase().contains(&text);
    rules::all().iter().filter(contains).collect()
}

fn titles(rules: &[&Rule]) -> String {
    let mut page = Page::new(width());
    for rule in rules {
        page.marked(0, rule.id, &rule.facts.title);
    }
    page.into_text()
}

fn explanation(rule: &Rule, width: Option<usize>) -> String {
    let mut page = Page::new(width);
    page.marked(0, &format!("[{}]", rule.facts.first().weight()), rule.id);
    page.gap();
    page.paragraph(2, &rule.facts.title);
    page.gap();
    show_facts(&mut page, &rule.facts);
    page.gap();
    let note = "The examples show only what matters; everything else in them conforms.";
    page.paragraph(2, note);
    let examples = Example::of(rule).expect("a test has read the examples of every rule");
    let failing = place_of_example(rule, "fails", None);
    let path = failing.and_then(|place| violated_path(rule, &examples[place]));
    let passing = place_of_example(rule, "passes", path.as_deref().map(field));
    if let Some(place) = passing {
        show_example(&mut page, rule, &examples[place], "passes", place);
        let example = &rule.facts.examples[place]["passes"];
        // An example says only what differs from a profile that conforms. Scenarios have no single profile.
        if let Some(path) =
            path.filter(|path| example.is_array() && !example.to_string().contains(field(path)))
            && let Some(history) = examples[place].evidence().histories().next()
            && let Ok(profile) = serde_json::to_value(history.last())
            && let Some(text) = text_of(&profile, field(&path))
        {
            page.gap();
            page.paragraph(2, &format!("and {path} is {text}"));
        }
    }
    if let Some(place) = failing {
        show_example(&mut page, rule, &examples[place], "fails", place);
    }
    page.gap();
    page.field(2, "remedy", &rule.facts.remedy);
    page.into_text()
}

/// Finds the plainest example of a kind: the first one, or the shortest one that shows a field.
fn place_of_example(rule: &Rule, kind: &str, field: Option<&str>) -> Option<usize> {
    let places = rule.facts.examples.iter().enumerate();
    let of_kind = places.filter(|(_, example)| example.get(kind).is_some());
    let best = of_kind.min_by_key(|(place, example)| {
        let text = field.map_or_else(String::new, |_| example[kind].to_string());
        let shows_field = field.is_none_or(|field| text.contains(field));
        (!shows_field, text.len(), *place)
    });
    best.map(|(place, _)| place)
}

fn violated_path(rule: &Rule, example: &Example) -> Option<String> {
    let verdict = judge_example(rule, example)?;
    verdict.findings.first().map(|finding| finding.path.clone())
}

/// The last part of a path: of `metadata.labels[x-k8s.io/cluster-manager]` the label.
fn field(path: &str) -> &str {
    match path.strip_suffix(']') {
        Some(path) => path.rsplit('[').next().unwrap_or(path),
        None => path.rsplit('.').next().unwrap_or(path),
    }
}

/// The text of a field in a profile.
fn text_of<'v>(profile: &'v Value, field: &str) -> Option<&'v str> {
    match profile {
        Value::Object(map) => {
            let text = map.get(field).and_then(Value::as_str);
            text.or_else(|| map.values().find_map(|value| text_of(value, field)))
        }
        Value::Array(list) => list.iter().find_map(|value| text_of(value, field)),
        _ => None,
    }
}

fn show_facts(page: &mut Page, facts: &Facts) {
    let mut levels = by_edition(facts, Applies::weight);
    if levels.len() == 1 {
        levels.clear();
    }
    let reasoning = by_edition(facts, |applies| match &applies.reasoning {
        Some(reasoning) => reasoning.clone(),
        None => "the documents state this demand, in the keyword or in equal words".to_owned(),
    });
    let feature = facts.feature.iter();
    let feature = feature.map(|feature| format!("{feature}: skipped with --no-feature {feature}"));
    for (name, values) in [
        ("source", by_edition(facts, |applies| applies.source.clone())),
        ("editions", vec![editions(facts)]),
        ("levels", levels),
        ("keywords", vec![facts.keywords.join(", ")]),
        (facts.first().basis.name(), reasoning),
        ("evidence", vec![evidence(facts)]),
        ("feature", feature.collect()),
        ("unjudged", facts.unjudged.iter().cloned().collect()),
    ] {
        let values = values.iter().filter(|value| !value.is_empty());
        for (place, value) in values.enumerate() {
            page.field(2, if place == 0 { name } else { "" }, value);
        }
    }
}

fn show_example(page: &mut Page, rule: &Rule, judgeable: &Example, kind: &str, place: usize) {
    let example = &rule.facts.examples[place];
    let name = example.get("name").and_then(Value::as_str).unwrap_or_default();
    page.gap();
    page.marked(0, &format!("{kind}:"), name);
    page.gap();
    page.verbatim(INDENT, &yaml::block(&example[kind]));
    let Some(verdict) = judge_example(rule, judgeable) else {
        return;
    };
    if !verdict.findings.is_empty() {
        page.gap();
        page.paragraph(2, "and a report says");
        show_findings(page, &verdict);
    }
}

fn judge_example(rule: &Rule, example: &Example) -> Option<RuleVerdict> {
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
    use std::thread;

    use anstream::adapter::strip_str;

    use super::*;

    fn words(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_rule_is_explained_in_80_columns_with_the_findings_of_its_example() {
        let rules = rules::all();
        let share = rules
            .len()
            .div_ceil(thread::available_parallelism().map_or(2, usize::from));
        thread::scope(|scope| {
            for rules in rules.chunks(share) {
                scope.spawn(move || rules.iter().for_each(assert_is_explained));
            }
        });
    }

    fn assert_is_explained(rule: &Rule) {
        let page = strip_str(&explanation(rule, Some(80))).to_string();
        for line in page.lines() {
            // A path or a command stays whole, and the YAML of an example is not wrapped.
            let is_yaml = line.starts_with("    ") && (line.contains(": ") || line.contains("- "));
            let is_whole = line.split_whitespace().count() <= 2 || line.contains("conformance explain ");
            let fits = line.chars().count() <= 80 || is_whole || is_yaml;
            assert!(fits, "{}: too wide: {line}", rule.id);
            assert!(!line.chars().any(char::is_control), "{}: {line:?}", rule.id);
        }
        let mut examples = rule.facts.examples.iter();
        let place = examples.position(|example| example.get("fails").is_some());
        let examples = Example::of(rule).expect("examples");
        let verdict = place.and_then(|place| judge_example(rule, &examples[place]));
        let verdict = verdict.expect("an example fails");
        let page = words(&page);
        for text in [
            &verdict.findings[0].message,
            &rule.facts.title,
            &rule.facts.remedy,
            &rule.facts.first().source,
        ] {
            assert!(
                page.contains(&words(text)),
                "{}: {text} is not in: {page}",
                rule.id
            );
        }
    }

    #[test]
    fn a_passing_example_shows_what_the_rule_looks_at() {
        let label = "metadata.labels[x-k8s.io/cluster-manager] is Fleet_Manager.v2";
        for (rule, shown) in [
            ("identity/manager-label-matches", label),
            (
                "identity/member-id-set",
                "multicluster.x-k8s.io/inventory-member-id",
            ),
        ] {
            let rule = rules::find(rule).expect("a rule");
            let text = strip_str(&explanation(rule, None)).to_string();
            let (passes, _) = text.split_once("fails:").expect("an example fails");
            assert!(passes.contains(shown), "{text}");
        }
    }
}
