//! Whose words a rule has stands beside its level in every format that names rules.

use judge::{RuleVerdict, Verdict};
use report::{COMMAND, Report, github, terminal, trials};
use serde_json::Value;

use super::support::{world::World, written_as, xml};

/// What a rule's level and basis look like for people.
fn weight(verdict: &RuleVerdict) -> String {
    format!("[{} {}]", verdict.level(), verdict.basis())
}

fn of(report: &Report, which: &[Verdict]) -> Vec<RuleVerdict> {
    let verdicts = report.judgement.verdicts.iter();
    let found = verdicts.filter(|verdict| which.contains(&verdict.verdict));
    found.cloned().collect()
}

#[test]
fn people_see_it_beside_the_level() {
    let mut world = World::violating();
    // A list of what to fix needs more than one rule.
    world.evidence.header.claim.strict = true;
    World::of(world.evidence).report(|report| {
        let both: Vec<&str> = report
            .judgement
            .verdicts
            .iter()
            .map(|verdict| verdict.basis().name())
            .collect();
        assert!(both.contains(&"explicit") && both.contains(&"derived"));
        let plain = |text: String| anstream::adapter::strip_str(&text).to_string();
        let listed = plain(trials::list(report));
        for verdict in &report.judgement.verdicts {
            let line = format!("test {:<17} {}", weight(verdict), verdict.rule.id);
            assert!(listed.contains(&line), "{line}: {listed}");
        }
        let told = plain(terminal::after_list(report, COMMAND, None));
        for verdict in of(report, &[Verdict::Fail]) {
            let line = format!("{} {}", weight(&verdict), verdict.rule.facts.title);
            assert!(told.contains(&line), "{line}: {told}");
            let line = format!("{} {} (", weight(&verdict), verdict.rule.id);
            assert!(
                told.contains("fix in this order:") && told.contains(&line),
                "{line}: {told}"
            );
        }
        let annotations = github::annotations(report);
        let markdown = written_as("markdown", report);
        for verdict in of(report, &[Verdict::Fail, Verdict::Warn]) {
            let title = format!("title={} {}::", verdict.rule.id, weight(&verdict));
            assert!(annotations.contains(&title), "{title}: {annotations}");
            let summary = format!("<b>{}</b> {} ", verdict.rule.id, weight(&verdict));
            assert!(markdown.contains(&summary), "{summary}: {markdown}");
        }
        for verdict in of(report, &[Verdict::Inconclusive, Verdict::Skipped]) {
            let row = format!(
                "| {} | {} | {} |",
                verdict.rule.id,
                verdict.level(),
                verdict.basis()
            );
            assert!(markdown.contains(&row), "{row}: {markdown}");
        }
    });
}

#[test]
fn programs_find_it_for_every_rule() {
    World::violating().report(|report| {
        let json: Value = serde_json::from_str(&written_as("json", report)).expect("JSON");
        let junit = xml::read(&written_as("junit", report));
        let verdicts = &report.judgement.verdicts;
        for (place, verdict) in verdicts.iter().enumerate() {
            let (id, applies) = (verdict.rule.id, verdict.applies);
            let basis = applies.basis.name();
            assert_eq!(json["verdicts"][place]["basis"], basis, "{id}");
            let suite = junit
                .children
                .iter()
                .find(|suite| suite.attributes["name"] == verdict.rule.suite())
                .expect("its suite");
            let properties = &suite.children[0].children;
            for (name, value) in [
                ("level", applies.level.name()),
                ("basis", basis),
                ("source", &applies.source),
            ] {
                let name = format!("{id}.{name}");
                let property = properties
                    .iter()
                    .find(|property| property.attributes["name"] == name);
                let property = property.unwrap_or_else(|| panic!("no property {name}"));
                assert_eq!(property.attributes["value"], value, "{name}");
            }
        }
    });
}
