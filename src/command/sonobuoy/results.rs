//! The tree that Sonobuoy calls manual results: a leaf for each rule. Its statuses `passed`, `failed` and `skipped` are
//! Sonobuoy's own; the others are shown and counted as they are.

use std::{collections::BTreeMap, io, path::Path};

use evidence::{ObjectRef, read_bounded};
use report::escape;
use serde::{Deserialize, Serialize};

/// Status of a leaf that passed.
const PASSED: &str = "passed";
/// Status of a leaf that failed.
pub(super) const FAILED: &str = "failed";
const INCONCLUSIVE: &str = "inconclusive";

/// What the tree takes from the JSON report.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Judged {
    edition: String,
    profiles: usize,
    partial: bool,
    decision: String,
    verdicts: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
struct Rule {
    rule: String,
    title: String,
    level: String,
    source: String,
    verdict: String,
    examined: usize,
    reason: Option<String>,
    findings: Vec<Finding>,
    #[serde(default)]
    waived: Vec<Finding>,
    #[serde(default)]
    notes: Vec<String>,
    remedy: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Finding {
    object: ObjectRef,
    path: String,
    expected: String,
    observed: String,
    message: String,
}

/// The most bytes of a JSON report.
const LARGEST: u64 = 1 << 30;

impl Judged {
    /// Reads a JSON report.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&read_bounded(path, LARGEST)?)?)
    }
}

/// An item of the tree (Sonobuoy: site/content/docs/main/results.md).
#[derive(Debug, Default, Serialize)]
pub(super) struct Item {
    name: String,
    /// Sonobuoy computes that of an item with items.
    status: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    meta: BTreeMap<&'static str, &'static str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    details: BTreeMap<&'static str, Detail>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    items: Vec<Item>,
}

/// Sonobuoy prints details as JSON, but reads YAML in a way that cannot print maps in them.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Detail {
    Number(usize),
    Text(String),
    Lines(Vec<String>),
}

impl Item {
    /// The results of a run that did not begin, or did not come back.
    pub(super) fn of_failure(error: &str) -> Self {
        Self::of_failed_run(error, None)
    }

    /// The results of a run that failed. Its report, if there is one, gives the failure as the reason of each rule.
    pub(super) fn of_failed_run(error: &str, judged: Option<&Judged>) -> Self {
        let mut root = judged.map(Self::of_verdicts).unwrap_or_default();
        root.insert_run(FAILED, error);
        root
    }

    /// The results of a run.
    pub(super) fn of_run(judged: &Judged) -> Self {
        let mut root = Self::of_verdicts(judged);
        if judged.partial {
            root.insert_run(INCONCLUSIVE, "the run was cut short, so evidence may be missing");
        }
        root
    }

    fn of_verdicts(judged: &Judged) -> Self {
        let mut suites: Vec<Item> = Vec::new();
        for rule in &judged.verdicts {
            let suite = rule.rule.split('/').next().unwrap_or(&rule.rule);
            if suites.last().is_none_or(|last| last.name != suite) {
                suites.push(Item {
                    name: suite.to_owned(),
                    ..Item::default()
                });
            }
            if let Some(last) = suites.last_mut() {
                last.items.push(Item::of_rule(rule));
            }
        }
        let details = [
            ("decision", Detail::text(&judged.decision)),
            ("edition", Detail::text(&judged.edition)),
            ("profiles", Detail::Number(judged.profiles)),
        ];
        Item {
            name: env!("CARGO_PKG_NAME").to_owned(),
            status: status_of_decision(&judged.decision).to_owned(),
            meta: BTreeMap::from([("type", "summary")]),
            details: details.into(),
            items: suites,
        }
    }

    fn of_rule(rule: &Rule) -> Self {
        let mut details = BTreeMap::from([
            ("level", Detail::text(&rule.level)),
            ("title", Detail::text(&rule.title)),
            ("source", Detail::text(&rule.source)),
            ("examined", Detail::Number(rule.examined)),
        ]);
        for (name, text) in [("reason", &rule.reason), ("remedy", &rule.remedy)] {
            details.extend(text.as_deref().map(|text| (name, Detail::text(text))));
        }
        for (name, findings) in [("findings", &rule.findings), ("waived", &rule.waived)] {
            if !findings.is_empty() {
                details.insert(name, Detail::Lines(findings.iter().map(in_one_line).collect()));
            }
        }
        if !rule.notes.is_empty() {
            let notes = rule.notes.iter().map(|note| escape::line(note).into_owned());
            details.insert("notes", Detail::Lines(notes.collect()));
        }
        Item {
            name: rule.rule.clone(),
            status: status(&rule.verdict).to_owned(),
            details,
            ..Item::default()
        }
    }

    /// Puts a leaf about the run itself in front of the rules.
    fn insert_run(&mut self, status: &str, why: &str) {
        env!("CARGO_PKG_NAME").clone_into(&mut self.name);
        status.clone_into(&mut self.status);
        let leaf = Item {
            name: "run".to_owned(),
            status: status.to_owned(),
            details: BTreeMap::from([("reason", Detail::text(why))]),
            ..Item::default()
        };
        self.items.insert(0, leaf);
    }

    /// Lists the leaves.
    pub(super) fn leaves(&self) -> Vec<&Item> {
        if self.items.is_empty() {
            return vec![self];
        }
        self.items.iter().flat_map(Item::leaves).collect()
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn is_passed(&self) -> bool {
        self.status == PASSED
    }

    pub(super) fn is_failed(&self) -> bool {
        self.status == FAILED
    }
}

impl Detail {
    fn text(text: &str) -> Self {
        Detail::Text(escape::line(text).into_owned())
    }
}

/// Sonobuoy's word for a verdict, or ours where it has none.
fn status(verdict: &str) -> &str {
    match verdict {
        "pass" => PASSED,
        "fail" => FAILED,
        other => other,
    }
}

fn status_of_decision(decision: &str) -> &str {
    match decision {
        "conformant" | "no-violation" => PASSED,
        "not-conformant" => FAILED,
        _ => INCONCLUSIVE,
    }
}

fn in_one_line(finding: &Finding) -> String {
    let mut line = format!("{}: {}", finding.object, finding.message);
    for (name, value) in [
        ("path", &finding.path),
        ("expected", &finding.expected),
        ("observed", &finding.observed),
    ] {
        if !value.is_empty() {
            line += &format!("; {name} {value}");
        }
    }
    escape::line(&line).into_owned()
}

#[cfg(test)]
mod tests {
    use judge::Verdict;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_verdict_has_a_status_of_its_own() {
        let rules: Vec<_> = Verdict::ALL
            .map(|verdict| {
                json!({"rule": "suite/rule", "title": "t", "level": "MUST", "source": "s", "verdict": verdict,
                       "examined": 1, "findings": []})
            })
            .into();
        let report = json!({"edition": "standard", "profiles": 1, "partial": false, "decision": "inconclusive",
                            "verdicts": rules});
        let judged: Judged = serde_json::from_value(report).expect("a report");
        let results = Item::of_run(&judged);
        let statuses: Vec<&str> = results.leaves().iter().map(|leaf| leaf.status.as_str()).collect();
        assert_eq!(
            statuses,
            [
                "passed",
                "failed",
                "warn",
                "waived",
                "inconclusive",
                "not-applicable",
                "skipped"
            ]
        );
        assert_eq!(results.status, "inconclusive");
        assert_eq!(results.items.len(), 1, "a suite's rules are together");
    }

    #[test]
    fn text_from_the_hub_stays_on_its_line() {
        let finding = json!({"object": {"kind": "ClusterProfile", "namespace": "n", "name": "x\ny"}, "path": "",
                             "expected": "", "observed": "\u{1b}[2J", "message": "m"});
        let finding: Finding = serde_json::from_value(finding).expect("a finding");
        assert_eq!(
            in_one_line(&finding),
            r"ClusterProfile n/x\ny: m; observed \u{1b}[2J"
        );
    }
}
