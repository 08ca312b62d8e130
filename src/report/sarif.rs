//! The report in SARIF 2.1.0, for code scanning and editors.
//!
//! SARIF tells of files; here an object's `namespace/name` stands for one. Waived findings are suppressed results.

use std::io;

use serde_json::{Value, json};

use super::{Report, decision, inert, visible};
use crate::{
    evidence::ObjectRef,
    judge::{RuleVerdict, Verdict},
    rules::{Finding, Level},
};

/// Writes the report. Fails only when `into` does.
pub fn write(report: &Report, mut into: impl io::Write) -> io::Result<()> {
    let verdicts = &report.judgement.verdicts;
    let results: Vec<Value> = verdicts
        .iter()
        .enumerate()
        .flat_map(|(index, verdict)| results(report, index, verdict))
        .collect();
    let document = json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "clusterprofile-conformance",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": verdicts.iter().map(rule).collect::<Vec<_>>(),
            }},
            "invocations": [{
                "executionSuccessful": !report.judgement.partial,
                "endTimeUtc": report.judged_at,
            }],
            "columnKind": "unicodeCodePoints",
            "properties": {
                "decision": report.judgement.decision.name(),
                "partial": report.judgement.partial,
                "scope": decision::scope(report),
                "edition": report.judgement.edition,
            },
            "results": results,
        }],
    });
    visible::write(&document, &mut into)?;
    into.write_all(b"\n")
}

/// What is known of a rule.
fn rule(verdict: &RuleVerdict) -> Value {
    let facts = &verdict.rule.facts;
    json!({
        "id": verdict.rule.id,
        "shortDescription": {"text": facts.title},
        "fullDescription": {"text": facts.reasoning.as_deref().unwrap_or(&facts.title)},
        "help": {"text": format!("{}\n\nSource: {}", facts.remedy, facts.source)},
        "defaultConfiguration": {"level": level(facts.level)},
        "properties": {
            "level": facts.level,
            "verdict": verdict.verdict,
            "examined": verdict.examined,
            "tags": [verdict.rule.suite(), facts.level.name()],
        },
    })
}

fn results(report: &Report, index: usize, verdict: &RuleVerdict) -> Vec<Value> {
    let found = verdict
        .findings
        .iter()
        .map(|finding| result(index, verdict, finding));
    let waived = verdict.waived.iter().map(|(finding, place)| {
        let mut result = result(index, verdict, finding);
        let waiver = &report.judgement.waivers[*place].waiver;
        result["suppressions"] = json!([{
            "kind": "external",
            "status": "accepted",
            "justification": format!("{} ({}), until {}", waiver.reason, waiver.link, waiver.expires),
        }]);
        result
    });
    let doubt = (verdict.verdict == Verdict::Inconclusive).then(|| {
        let reason = verdict.reason.as_deref().unwrap_or("no reason is known");
        json!({
            "ruleId": verdict.rule.id,
            "ruleIndex": index,
            "kind": "open",
            "level": "none",
            "message": {"text": inert::line(reason)},
        })
    });
    found.chain(waived).chain(doubt).collect()
}

fn result(index: usize, verdict: &RuleVerdict, finding: &Finding) -> Value {
    let level = match (verdict.verdict, finding.advisory) {
        (Verdict::Fail, false) => "error",
        (Verdict::Warn, _) if verdict.rule.facts.level == Level::May => "note",
        _ => "warning",
    };
    json!({
        "ruleId": verdict.rule.id,
        "ruleIndex": index,
        "level": level,
        "message": {"text": message(finding)},
        "locations": [location(&finding.object, &finding.path)],
        "partialFingerprints": {
            "finding/v1": format!("{}|{}|{}", verdict.rule.id, finding.object, finding.path),
        },
    })
}

fn message(finding: &Finding) -> String {
    let mut message = inert::line(&finding.message).into_owned();
    for (name, value) in [("expected", &finding.expected), ("observed", &finding.observed)] {
        if !value.is_empty() {
            message += &format!("; {name}: {}", inert::line(value));
        }
    }
    message
}

fn location(object: &ObjectRef, field: &str) -> Value {
    let path = object.path();
    json!({
        "physicalLocation": {"artifactLocation": {"uri": uri(&path)}},
        "logicalLocations": [{
            "name": inert::line(field),
            "fullyQualifiedName": inert::line(&format!("{}/{path}", object.kind)),
            "kind": "resource",
        }],
    })
}

/// A path as a relative URI reference: what has a meaning in one is escaped.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'/' => uri.push(byte.into()),
            _ => uri += &format!("%{byte:02X}"),
        }
    }
    uri
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Must => "error",
        Level::Should => "warning",
        Level::May => "note",
    }
}
