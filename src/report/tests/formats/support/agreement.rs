//! All formats agree on the verdict of each rule, the counts of each level, and the decision.

use std::collections::BTreeMap;

use anstream::adapter::strip_str;
use evidence::{Evidence, api::Edition};
use report::{
    COMMAND, Report, headline, scope,
    submitted::{ConformanceReport, RuleGroup, SuiteResult},
    terminal,
};
use serde_json::{Value, json};

use super::{world::World, written_as, xml};
use crate::tests::assert_contains;

type Verdicts = BTreeMap<String, String>;

/// Judges by each edition, strictly, and cut short.
pub fn in_all_ways(what: &str, evidence: &Evidence) {
    let output = |what: &str, change: &dyn Fn(&mut Evidence)| {
        let mut evidence = evidence.clone();
        change(&mut evidence);
        World::of(evidence).report(|report| agree(what, report));
    };
    for edition in Edition::ALL {
        output(&format!("{what}, by {edition}"), &|evidence| {
            evidence.header.claim.edition = edition;
        });
    }
    output(&format!("{what}, strictly"), &|evidence| {
        evidence.header.claim.strict = true;
    });
    output(&format!("{what}, cut short"), &|evidence| {
        evidence.header.cut_short = Some("it was stopped".to_owned());
    });
}

/// Compares every format with the JSON report.
pub fn agree(what: &str, report: &Report) {
    let text = |name: &str| written_as(name, report);
    let json: Value = serde_json::from_str(&text("json")).expect("JSON");
    let junit = xml::read(&text("junit"));
    let submitted = ConformanceReport::parse(&text("submitted")).expect("a report");
    let (html, markdown) = (text("html"), text("markdown"));

    let verdicts: Verdicts = of_json(&json);
    assert_eq!(verdicts.len(), report.judgement.verdicts.len(), "{what}");
    let shown = shown_of_json(&json);
    assert_eq!(of_list(&terminal::list(report)), shown, "{what}: terminal");
    assert_eq!(of_junit(&junit), verdicts, "{what}: JUnit");
    assert_eq!(of_html(&html), shown, "{what}: HTML");
    assert_eq!(of_submitted(&submitted, &verdicts), verdicts, "{what}: submitted");

    counts_agree(what, &json, &junit, &submitted);
    let counts = counts_of_json(&json, &shown);
    assert_eq!(counts_of_markdown(&markdown), counts, "{what}: Markdown");

    let (headline, scope) = (headline(report), scope(report));
    let decision = &json["decision"];
    assert_eq!(submitted.decision.name(), decision, "{what}");
    let words = submitted.decision.name().replace('-', " ");
    assert!(headline.starts_with(&words), "{what}: {headline}");
    let badge = format!("{}: {words}", report.judgement.subject());
    assert_contains(&text("badge"), &[&badge]);
    let heading = markdown.lines().next().expect("a heading");
    assert!(heading.ends_with(&format!(": {headline}")), "{what}: {heading}");
    let last = strip_str(&terminal::verdicts(report, COMMAND, None, false)).to_string();
    let last = in_one_line(&last).replace(" to check the rest", "; to check the rest");
    assert!(last.ends_with(&format!("{headline} {scope}")), "{what}: {last}");
    let list = |row: &[&str; 3]| format!("| {} |", row.join(" | "));
    for of_edition in json["editions"].as_array().into_iter().flatten() {
        let words = |key: &str| of_edition[key].as_str().expect("a decision").replace('-', " ");
        let [all, explicit] = ["decision", "decisionExplicit"].map(words);
        let edition = of_edition["edition"].as_str().expect("an edition");
        if edition == json["edition"] {
            assert_eq!(of_edition["decision"], *decision, "{what}");
        }
        assert_contains(&markdown, &[&list(&[edition, &all, &explicit])]);
        let cells = format!("<th scope=\"row\">{edition}</th><td>{all}</td><td>{explicit}</td>");
        assert_contains(&html, &[&cells]);
    }
    let parts = [&*headline, &*scope];
    assert_contains(&html, &parts);
    let mut first = junit.children[0].children.iter();
    let out = first.find(|child| child.name == "system-out");
    assert_contains(&out.expect("an output").text, &parts);
}

fn counts_agree(what: &str, json: &Value, junit: &xml::Element, submitted: &ConformanceReport) {
    let [must, should, may] = ["must", "should", "may"].map(|level| numbers(&json["tally"][level]));
    let others = sum(should, may);
    let submitted = |group: fn(&SuiteResult) -> &Option<RuleGroup>| {
        let groups = submitted.suites.iter().filter_map(|suite| group(suite).as_ref());
        let counts = groups.map(|group| numbers(&json!(group.statistics)));
        counts.reduce(sum).unwrap_or_else(|| vec![0; 8])
    };
    assert_eq!(submitted(|suite| &suite.core), must, "{what}: submitted");
    assert_eq!(submitted(|suite| &suite.extended), others, "{what}: submitted");

    let total = |counts: &[&str]| -> u64 {
        let levels = ["must", "should", "may"].iter();
        let each = levels.flat_map(|level| counts.iter().map(move |count| &json["tally"][level][count]));
        each.map(|count| count.as_u64().expect("a number")).sum()
    };
    let expected = [
        total(&["rules"]),
        total(&["failed"]),
        total(&["inconclusive"]),
        total(&["warned", "waived", "notApplicable", "skipped"]),
    ];
    let in_suites = |attribute: &str| -> u64 {
        let suites = junit.children.iter();
        let numbers = suites.map(|suite| suite.attributes[attribute].parse::<u64>());
        numbers.map(|number| number.expect("a number")).sum()
    };
    let counts = ["tests", "failures", "errors", "skipped"].map(in_suites);
    assert_eq!(counts, expected, "{what}: JUnit");
}

const COUNTS: &str = "rules passed failed warned waived inconclusive notApplicable skipped";

fn numbers(tally: &Value) -> Vec<u64> {
    let counts = COUNTS.split(' ');
    counts.map(|count| tally[count].as_u64().expect(count)).collect()
}

fn sum(one: Vec<u64>, other: Vec<u64>) -> Vec<u64> {
    one.iter().zip(other).map(|(one, other)| one + other).collect()
}

fn text_of(value: &Value) -> String {
    let text = value.as_str();
    text.unwrap_or_else(|| panic!("not a text: {value}")).to_owned()
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn of_json(report: &Value) -> Verdicts {
    let verdicts = report["verdicts"].as_array().expect("a list").iter();
    let verdict = |verdict: &Value| (text_of(&verdict["rule"]), text_of(&verdict["verdict"]));
    verdicts.map(verdict).collect()
}

/// The verdicts for people: a rule about a feature that is not claimed does not apply.
fn shown_of_json(report: &Value) -> Verdicts {
    let mut shown = of_json(report);
    for verdict in report["verdicts"].as_array().expect("a list") {
        if verdict["verdict"] == "skipped" && verdict["reasonId"] == "feature-not-claimed" {
            shown.insert(text_of(&verdict["rule"]), "not-applicable".to_owned());
        }
    }
    shown
}

/// How many rules of each level have which verdict.
type Counts = BTreeMap<(String, String), usize>;

fn counts_of_json(report: &Value, shown: &Verdicts) -> Counts {
    let mut counts = Counts::new();
    for verdict in report["verdicts"].as_array().expect("a list") {
        let shown = shown[verdict["rule"].as_str().expect("an id")].replace('-', " ");
        for column in ["rules".to_owned(), shown] {
            *counts.entry((text_of(&verdict["level"]), column)).or_default() += 1;
        }
    }
    counts
}

/// Cells that are not zero.
fn counts_of_markdown(markdown: &str) -> Counts {
    let cells = |line: &str| -> Vec<String> {
        let cells = line.trim_matches('|').split('|');
        cells.map(|cell| cell.trim().to_owned()).collect()
    };
    let mut lines = markdown
        .lines()
        .skip_while(|line| !line.starts_with("| level | rules |"));
    let head = cells(lines.next().expect("the table"));
    let mut counts = Counts::new();
    for row in lines.skip(1).take_while(|line| line.starts_with('|')).map(cells) {
        for (column, number) in head.iter().zip(&row).skip(1) {
            let cell = (row[0].clone(), column.clone());
            counts.insert(cell, number.parse().expect("a number"));
        }
    }
    counts.retain(|_, number| *number > 0);
    counts
}

fn of_list(list: &str) -> Verdicts {
    let list = strip_str(list).to_string();
    let lines = list.lines().filter_map(|line| line.strip_prefix('['));
    let output = lines.map(|line| {
        let (head, outcome) = line.split_once(" ... ").expect("an outcome");
        let rule = head.split_whitespace().last().expect("a rule");
        let verdict = match outcome.split(':').next().expect("a word") {
            "ok" => "pass".to_owned(),
            "FAILED" => "fail".to_owned(),
            other => other.replace(' ', "-"),
        };
        (rule.to_owned(), verdict)
    });
    output.collect()
}

fn of_junit(root: &xml::Element) -> Verdicts {
    let cases = root.children.iter().flat_map(|suite| &suite.children);
    let output = cases.filter(|case| case.name == "testcase").map(|case| {
        let verdict = match case.children.first() {
            None => "pass",
            Some(child) => match child.name.as_str() {
                "failure" => "fail",
                "system-out" => "pass",
                _ => &child.attributes["type"],
            },
        };
        (case.attributes["name"].clone(), verdict.to_owned())
    });
    output.collect()
}

/// The squares of the rules.
fn of_html(page: &str) -> Verdicts {
    let (_, matrix) = page.split_once("<table class=\"matrix\">").expect("the rules");
    let (matrix, _) = matrix.split_once("</table>").expect("their end");
    let links = matrix.split("<a class=\"cell ").skip(1).filter_map(|link| {
        let (_, link) = link.split_once("href=\"#")?;
        let (rule, link) = link.split_once("\" title=\"")?;
        let (_, verdict) = link.strip_prefix(rule)?.split_once("): ")?;
        let end = verdict.find([',', ':', '"'])?;
        Some((rule.to_owned(), verdict[..end].replace(' ', "-")))
    });
    links.collect()
}

/// A rule that is not listed has passed.
fn of_submitted(report: &ConformanceReport, all: &Verdicts) -> Verdicts {
    let mut output: Verdicts = all.keys().map(|rule| (rule.clone(), "pass".to_owned())).collect();
    for suite in &report.suites {
        for level in [&suite.core, &suite.extended].into_iter().flatten() {
            let listed = [&level.failed_rules, &level.warned_rules, &level.skipped_rules];
            for rule in listed.into_iter().flatten() {
                output.insert(rule.rule.clone(), rule.verdict.name().to_owned());
            }
        }
    }
    output
}
