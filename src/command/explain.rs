//! `explain`: all that there is to know of a rule.

use clap::Args;
use clusterprofile_conformance::{
    report::page::Page,
    rules::{Applies, Facts, Findings, Rule, example::Example},
};
use owo_colors::Style;
use serde_json::Value;

use super::{Exit, Failure, print::print, rule};

/// Explain a rule: what it asks, where the documents say so, how to keep it, and an example of each kind
#[derive(Debug, Args)]
pub struct Explain {
    /// The rule's id, such as identity/manager-label-present
    rule: String,
}

impl Explain {
    /// Prints the explanation.
    ///
    /// # Errors
    /// When there is no such rule, or standard output cannot be written to.
    pub fn execute(self) -> Result<Exit, Failure> {
        let rule = rule::named(&self.rule).map_err(Failure::usage)?;
        print(&explanation(rule)).map(|()| Exit::Success)
    }
}

fn explanation(rule: &Rule) -> String {
    let facts = &rule.facts;
    let mut page = Page::default();
    page.marked(0, &format!("[{}]", facts.level), rule.id);
    page.gap();
    page.paragraph(2, &facts.title);
    page.gap();
    page.field(2, "source", &facts.source);
    for applies in &facts.editions {
        if let Applies::Specially(special) = applies
            && let Some(source) = &special.source
        {
            page.field(2, "", &format!("{} (edition {})", source, special.edition));
        }
    }
    page.field(2, "editions", &editions(facts));
    match &facts.reasoning {
        Some(reasoning) => page.field(2, "derived", reasoning),
        None => page.field(2, "explicit", "the documents say so in these or equal words"),
    }
    page.field(2, "evidence", &evidence(facts));
    if let Some(feature) = facts.feature {
        page.field(
            2,
            "feature",
            &format!("{feature}: skipped with --no-feature {feature}"),
        );
    }
    page.field(2, "remedy", &facts.remedy);
    for kind in ["passes", "fails"] {
        if let Some(place) = facts
            .examples
            .iter()
            .position(|example| example.get(kind).is_some())
        {
            show(&mut page, kind, &facts.examples[place]);
            if kind == "fails" {
                tell(&mut page, rule, place);
            }
        }
    }
    page.into_text()
}

fn editions(facts: &Facts) -> String {
    let names = facts
        .editions
        .iter()
        .map(|applies| match applies.only_if_claimed() {
            true => format!("{} (once claimed)", applies.edition()),
            false => applies.edition().to_string(),
        });
    names.collect::<Vec<_>>().join(", ")
}

fn evidence(facts: &Facts) -> String {
    let list = |kinds: &[_], between: &str| {
        kinds
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(between)
    };
    let mut parts = Vec::new();
    if !facts.needs.is_empty() {
        parts.push(format!("needs {}", list(&facts.needs, " and ")));
    }
    if !facts.needs_one_of.is_empty() {
        parts.push(format!("needs {}", list(&facts.needs_one_of, " or ")));
    }
    if !facts.helped_by.is_empty() {
        parts.push(format!("sharpened by {}", list(&facts.helped_by, " and ")));
    }
    parts.join("; ")
}

fn show(page: &mut Page, kind: &str, example: &Value) {
    let name = example.get("name").and_then(Value::as_str).unwrap_or_default();
    page.gap();
    page.marked(0, &format!("{kind}:"), name);
    page.gap();
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    let yaml = serde_saphyr::to_string_with_options(&example[kind], options)
        .expect("a value that came from YAML can be written as YAML");
    page.verbatim(4, &yaml);
}

/// What the rule says to one of its examples.
fn tell(page: &mut Page, rule: &Rule, place: usize) {
    let examples = Example::of(rule).expect("a test has read the examples of every rule");
    let mut findings = Findings::default();
    (rule.examine)(examples[place].evidence(), &mut findings);
    for finding in &findings.list {
        page.gap();
        page.styled(
            2,
            &format!("{}: {}", finding.object, finding.message),
            Style::new().bold(),
        );
        page.field(4, "path", &finding.path);
        page.field(4, "expected", &finding.expected);
        page.field(4, "observed", &finding.observed);
    }
}
