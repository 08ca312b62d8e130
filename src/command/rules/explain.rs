//! `explain`: everything about one rule.

use anyhow::anyhow;
use clap::Args;
use evidence::api::Edition;
use judge::{
    RuleVerdict, Selection, judge,
    rules::{self, Applies, Rule, example::Example},
};
use report::{page::Page, show_findings, yaml};
use serde_json::Value;

use crate::command::{
    flags::selection::{by_edition, edition, editions, evidence, unknown_rule},
    terminal::{
        exit::{Exit, Failure},
        print, width,
    },
};

/// Explain a rule: its requirement, reasoning and source, an example that passes, one that fails with its findings, and
/// the remedy
#[derive(Debug, Args)]
pub struct Explain {
    /// The rule's id, or a word to search ids and titles for
    rule: String,
    /// The edition to explain it by: its source there, and an example of it [default: all editions]
    #[arg(long, value_name = "EDITION")]
    edition: Option<Edition>,
}

const INDENT: usize = 4;

impl Explain {
    pub fn execute(self) -> Result<Exit, Failure> {
        let rule = match rules::find(&self.rule) {
            Some(rule) => rule,
            None => match &search(&self.rule)[..] {
                [] => return Err(Failure::usage(unknown_rule(&self.rule))),
                [rule] => rule,
                several => return print(&titles(several)).map(|()| Exit::Success),
            },
        };
        let applies = match self.edition {
            Some(edition) => Some(applies(rule, edition)?),
            None => None,
        };
        print(&explanation(rule, applies, width())).map(|()| Exit::Success)
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
    let failing = place_of_example(rule, "fails", only, None);
    let path = failing.and_then(|place| violated_path(rule, &examples[place]));
    let passing = place_of_example(rule, "passes", only, path.as_deref().map(field));
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

/// Finds an example of a kind, rather one that shows a field, and rather one of the edition itself.
fn place_of_example(rule: &Rule, kind: &str, only: Option<&Applies>, field: Option<&str>) -> Option<usize> {
    let edition = only.map(|applies| applies.edition.name());
    let places = rule.facts.examples.iter().enumerate();
    let of_kind = places.filter(|(_, example)| example.get(kind).is_some());
    let best = of_kind.min_by_key(|(place, example)| {
        let is_of_edition = edition.is_some() && example["edition"].as_str() == edition;
        // The plainest one that shows the field is the shortest.
        let text = field.map_or_else(String::new, |_| example[kind].to_string());
        let shows_field = field.is_none_or(|field| text.contains(field));
        (!shows_field, !is_of_edition, text.len(), *place)
    });
    best.map(|(place, _)| place)
}

fn violated_path(rule: &Rule, example: &Example) -> Option<String> {
    let verdict = judged(rule, example)?;
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
            let own = map.get(field).and_then(Value::as_str);
            own.or_else(|| map.values().find_map(|value| text_of(value, field)))
        }
        Value::Array(list) => list.iter().find_map(|value| text_of(value, field)),
        _ => None,
    }
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
    let reasoning = match only {
        Some(applies) => vec![basis(applies)],
        None => by_edition(facts, basis),
    };
    fields(page, only.unwrap_or(facts.first()).basis.name(), &reasoning);
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

fn show_example(page: &mut Page, rule: &Rule, judgeable: &Example, kind: &str, place: usize) {
    let example = &rule.facts.examples[place];
    let name = example.get("name").and_then(Value::as_str).unwrap_or_default();
    page.gap();
    page.marked(0, &format!("{kind}:"), name);
    page.gap();
    page.verbatim(INDENT, &yaml::block(&example[kind]));
    let Some(verdict) = judged(rule, judgeable) else {
        return;
    };
    if !verdict.findings.is_empty() {
        page.gap();
        page.paragraph(2, "and a report says");
        show_findings(page, &verdict);
    }
}

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

    use super::*;

    fn words(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_rule_is_explained_in_80_columns_with_the_findings_of_its_example() {
        for rule in rules::all() {
            let page = strip_str(&explanation(rule, None, Some(80))).to_string();
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
            let verdict = place.and_then(|place| judged(rule, &examples[place]));
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
            let text = strip_str(&explanation(rule, None, None)).to_string();
            let (passes, _) = text.split_once("fails:").expect("an example fails");
            assert!(passes.contains(shown), "{text}");
        }
    }

    #[test]
    fn an_edition_has_its_own_source_and_its_own_examples() {
        let rule = rules::find("consumers/secret-has-kubeconfig").expect("a rule");
        for applies in &rule.facts.editions {
            let page = strip_str(&explanation(rule, Some(applies), Some(80))).to_string();
            assert!(page.contains(&format!("edition   {}", applies.edition)), "{page}");
            assert!(words(&page).contains(&words(&applies.source)), "{page}");
            let first = &rule.facts.first().source;
            let is_first = applies.source == *first;
            assert!(is_first || !words(&page).contains(&words(first)), "{page}");
        }
    }
}
