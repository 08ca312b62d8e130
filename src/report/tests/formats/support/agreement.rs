//! All formats agree on the verdict of each rule, the counts of each level, and the decision.

use std::collections::BTreeMap;

use anstream::adapter::strip_str;
use evidence::{Evidence, api::Edition};
use report::{
    COMMAND, Report, headline, scope,
    submitted::{Document, Group, SuiteResult},
    terminal,
};
use serde_json::Value;

use super::{world::World, written_as, xml};

/// Of each rule its verdict, by its name in reports.
type Verdicts = BTreeMap<String, String>;

/// By each edition, strictly, and cut short.
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

/// Holds every format against the JSON report.
pub fn agree(what: &str, report: &Report) {
    let text = |name: &str| written_as(name, report);
    let json: Value = serde_json::from_str(&text("json")).expect("JSON");
    let junit = xml::read(&text("junit"));
    let submitted = Document::parse(&text("submitted")).expect("a report");
    let (html, markdown) = (text("html"), text("markdown"));

    let verdicts: Verdicts = of_json(&json);
    assert_eq!(verdicts.len(), report.judgement.verdicts.len(), "{what}");
    let shown = shown_of_json(&json);
    assert_eq!(of_list(&terminal::list(report)), shown, "{what}: terminal");
    assert_eq!(of_junit(&junit), verdicts, "{what}: JUnit");
    assert_eq!(of_html(&html), shown, "{what}: HTML");
    assert_eq!(of_submitted(&submitted, &verdicts), verdicts, "{what}: submitted");

    counts_agree(what, &json, &junit, &submitted);
    assert_eq!(
        counts_of_markdown(&markdown),
        counts_of_json(&json, &shown),
        "{what}: Markdown"
    );

    let (headline, scope) = (headline(report), scope(report));
    let decision = &json["decision"];
    assert_eq!(submitted.decision.name(), decision, "{what}");
    let words = submitted.decision.name().replace('-', " ");
    assert!(headline.starts_with(&words), "{what}: {headline}");
    assert!(
        text("badge").contains(&format!("{}: {words}", report.judgement.subject())),
        "{what}"
    );
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
        assert!(
            markdown.contains(&list(&[edition, &all, &explicit])),
            "{what}: Markdown"
        );
        let cells = format!("<th scope=\"row\">{edition}</th><td>{all}</td><td>{explicit}</td>");
        assert!(html.contains(&cells), "{what}: HTML");
    }
    for output in [&headline, &scope] {
        assert!(html.contains(output.as_str()), "{what}: HTML without {output:?}");
        let mut first = junit.children[0].children.iter();
        let out = first.find(|child| child.name == "system-out");
        assert!(
            out.is_some_and(|out| out.text.contains(output.as_str())),
            "{what}: JUnit without {output:?}"
        );
    }
}

/// Holds the counts against the JSON report's tally.
fn counts_agree(what: &str, json: &Value, junit: &xml::Element, submitted: &Document) {
    let tally =
        |level: &str| -> Vec<u64> { COUNTS.map(|count| number(&json["tally"][level][count])).to_vec() };
    let sum_of = |group: fn(&SuiteResult) -> &Option<Group>| -> Vec<u64> {
        let groups = submitted.suites.iter().filter_map(|suite| group(suite).as_ref());
        let counts = groups.map(|group| serde_json::to_value(group.statistics).expect("JSON"));
        let counts: Vec<Value> = counts.collect();
        COUNTS
            .map(|name| counts.iter().map(|count| number(&count[name])).sum())
            .to_vec()
    };
    let core = sum_of(|suite| &suite.core);
    let extended = sum_of(|suite| &suite.extended);
    assert_eq!(core, tally("must"), "{what}: submitted");
    let others: Vec<u64> = tally("should")
        .iter()
        .zip(tally("may"))
        .map(|(one, other)| one + other)
        .collect();
    assert_eq!(extended, others, "{what}: submitted");

    let all: Vec<u64> = tally("must")
        .iter()
        .zip(&others)
        .map(|(one, other)| one + other)
        .collect();
    let [
        rules,
        _,
        failed,
        warned,
        waived,
        inconclusive,
        not_applicable,
        skipped,
    ] = all[..]
    else {
        panic!("{all:?}");
    };
    let sum = |attribute: &str| -> u64 {
        let suites = junit.children.iter();
        suites
            .map(|suite| suite.attributes[attribute].parse::<u64>().expect("a number"))
            .sum()
    };
    assert_eq!(
        ["tests", "failures", "errors", "skipped"].map(sum),
        [
            rules,
            failed,
            inconclusive,
            warned + waived + not_applicable + skipped
        ],
        "{what}: JUnit"
    );
}

/// The keys of a tally.
const COUNTS: [&str; 8] = [
    "rules",
    "passed",
    "failed",
    "warned",
    "waived",
    "inconclusive",
    "notApplicable",
    "skipped",
];

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn text_of(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("{value} is no text"))
        .to_owned()
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn of_json(report: &Value) -> Verdicts {
    let verdicts = report["verdicts"].as_array().expect("a list");
    let output = verdicts
        .iter()
        .map(|verdict| (text_of(&verdict["rule"]), text_of(&verdict["verdict"])));
    output.collect()
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
            counts.insert(
                (row[0].clone(), column.clone()),
                number.parse().expect("a number"),
            );
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
fn of_submitted(report: &Document, all: &Verdicts) -> Verdicts {
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
