//! The report in SARIF 2.1.0, for code scanning and editors.
//!
//! SARIF describes files, and GitHub shows nothing without one: a result is in the file with the evidence, or where none was
//! kept in that of the driver or the configuration; its logical location is the object. Without any file, the object's
//! `namespace/name` stands for one.
//! Waived findings are suppressed results. Rules that were not judged are notifications, not results: GitHub refuses a
//! whole file for one result without a location. [`RESULTS`] is another limit of GitHub's.

use std::{
    collections::{BTreeMap, HashMap},
    env, io,
    path::{Component, Path},
};

use evidence::ObjectRef;
use judge::{
    RuleVerdict, Verdict,
    rules::{Applies, Finding, Level},
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{
    Report, decision, escape, json_escape, number, of_edition::OfEdition, sources::first_address, unread,
};

/// The most results in a file; GitHub refuses more.
const RESULTS: usize = 25_000;

/// GitHub's limit for a rule's description, in characters.
const DESCRIPTION: usize = 1000;

/// The most bytes of an object's path in its URI.
const LONGEST_URI: usize = 2000;

/// The number of unreadable objects to list.
const UNREAD: usize = 20;

/// Writes the report. Fails only when `into` does.
pub fn write(report: &Report, mut into: impl io::Write) -> io::Result<()> {
    let verdicts = &report.judgement.verdicts;
    let mut results = Vec::new();
    let mut twins = HashMap::new();
    for (index, verdict) in verdicts.iter().enumerate() {
        results.extend(results_of(report, index, verdict, &mut twins));
    }
    if let Some(artifact) = report.file.and_then(artifact).or_else(|| artifact(report.place?)) {
        for result in &mut results {
            result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] = artifact.clone().into();
        }
    }
    let left_out = fit(&mut results);
    let tried: BTreeMap<&str, Value> = verdicts
        .iter()
        .map(|verdict| {
            let told = json!({"verdict": verdict.verdict, "examined": verdict.examined});
            (verdict.rule.id, told)
        })
        .collect();
    let mut properties = json!({
        "decision": report.judgement.decision.name(),
        "headline": decision::headline(report),
        "partial": report.judgement.partial,
        "scope": decision::scope(report),
        "roles": report.judgement.roles().collect::<Vec<_>>(),
        "edition": report.judgement.editions(),
        "verdicts": tried,
    });
    let of_editions = OfEdition::each(report.judgement);
    if !of_editions.is_empty() {
        properties["decisions"] = json!(of_editions);
    }
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
                "toolExecutionNotifications": notifications(report, left_out),
            }],
            "columnKind": "unicodeCodePoints",
            "properties": properties,
            "results": results,
        }],
    });
    json_escape::write(&document, &mut into)?;
    into.write_all(b"\n")
}

/// Describes a rule independently of its verdict: readers identify rules across runs.
fn rule(verdict: &RuleVerdict) -> Value {
    let facts = &verdict.rule.facts;
    let Applies {
        edition,
        level: of_level,
        basis,
        reasoning,
        source,
        ..
    } = verdict.applies;
    let meaning = reasoning.as_deref().unwrap_or(&facts.title);
    let mut described = json!({
        "id": verdict.rule.id,
        "name": name(verdict.rule.id),
        "shortDescription": {"text": escape::short(&facts.title, DESCRIPTION)},
        "fullDescription": {"text": escape::short(meaning, DESCRIPTION)},
        "help": {
            "text": format!("{}\n\nSource: {}", facts.remedy, source),
            "markdown": format!("**Remedy**: {}\n\n**Source**: {}", facts.remedy, source),
        },
        "defaultConfiguration": {"level": level(*of_level)},
        "properties": {
            "level": of_level,
            "basis": basis,
            "source": source,
            "precision": "very-high",
            "problem.severity": match of_level {
                Level::Must => "error",
                Level::Should => "warning",
                Level::May => "recommendation",
            },
            "tags": [verdict.rule.suite(), of_level.name(), basis.name()],
        },
    });
    if let Some(address) = first_address(source, *edition) {
        described["helpUri"] = address.into();
    }
    described
}

/// A rule's id as a name, such as `IdentityManagerLabelPresent`.
fn name(id: &str) -> String {
    let words = id.split(['/', '-']).filter(|word| !word.is_empty());
    words
        .map(|word| word[..1].to_ascii_uppercase() + &word[1..])
        .collect()
}

/// Keeps the gravest results, as many as GitHub accepts, and counts the others.
fn fit(results: &mut Vec<Value>) -> usize {
    let left_out = results.len().saturating_sub(RESULTS);
    if left_out > 0 {
        let gravity = |result: &Value| match result["level"].as_str() {
            Some("error") => 0,
            Some("warning") => 1,
            _ => 2,
        };
        results.sort_by_key(gravity);
        results.truncate(RESULTS);
        results.sort_by_key(|result| result["ruleIndex"].as_u64());
    }
    left_out
}

/// Lists what limits the report.
fn notifications(report: &Report, left_out: usize) -> Vec<Value> {
    let note = |level: &str, text: &str| json!({"level": level, "message": {"text": escape::line(text)}});
    let mut notes = Vec::new();
    if let Some(why) = decision::partial(report) {
        notes.push(note("error", &format!("the run was cut short: {why}")));
    }
    for (index, verdict) in report.judgement.verdicts.iter().enumerate() {
        if verdict.verdict == Verdict::Inconclusive {
            let reason = report
                .reason(verdict)
                .unwrap_or_else(|| "no reason is known".to_owned());
            let mut note = note(
                "warning",
                &format!("{} is inconclusive: {reason}", verdict.rule.id),
            );
            note["associatedRule"] = json!({"id": verdict.rule.id, "index": index});
            notes.push(note);
        }
    }
    let complaints = report.judgement.waivers.iter();
    let complaints = complaints.filter_map(|outcome| outcome.complaint());
    notes.extend(complaints.map(|complaint| note("warning", &complaint)));
    notes.extend(
        unread::lines(report, UNREAD)
            .iter()
            .map(|line| note("warning", line)),
    );
    if left_out > 0 {
        let more = number::count(left_out, "more finding");
        notes.push(note("warning", &format!("{more}: a JSON report has them all")));
    }
    notes
}

fn results_of(
    report: &Report,
    index: usize,
    verdict: &RuleVerdict,
    twins: &mut HashMap<String, usize>,
) -> Vec<Value> {
    let mut results = Vec::new();
    for finding in &verdict.findings {
        results.push(result(index, verdict, finding, twins));
    }
    for (finding, place) in &verdict.waived {
        let waiver = &report.judgement.waivers[*place].waiver;
        let justification = format!("{} ({}), until {}", waiver.reason, waiver.link, waiver.expires);
        let mut result = result(index, verdict, finding, twins);
        result["suppressions"] = json!([{
            "kind": "external",
            "status": "accepted",
            "justification": escape::line(&justification),
        }]);
        results.push(result);
    }
    results
}

fn result(
    index: usize,
    verdict: &RuleVerdict,
    finding: &Finding,
    twins: &mut HashMap<String, usize>,
) -> Value {
    json!({
        "ruleId": verdict.rule.id,
        "ruleIndex": index,
        "level": if finding.advisory { "warning" } else { level(verdict.level()) },
        "message": {"text": message(finding)},
        "locations": [location(&finding.object, &finding.path)],
        "partialFingerprints": {"primaryLocationLineHash": fingerprint(verdict, finding, twins)},
    })
}

/// Stable fingerprint: digest of rule, object and field, plus an ordinal among equals. GitHub reads only a fingerprint
/// of this name and form.
fn fingerprint(verdict: &RuleVerdict, finding: &Finding, twins: &mut HashMap<String, usize>) -> String {
    let object = &finding.object;
    let parts = [
        verdict.rule.id,
        &object.kind,
        &object.namespace,
        &object.name,
        &finding.path,
    ];
    // No part contains this separator.
    let parts = json!(parts).to_string();
    let digest = Sha256::digest(parts);
    let digest: String = digest[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    let number = twins.entry(digest.clone()).or_default();
    *number += 1;
    format!("{digest}:{number}")
}

fn message(finding: &Finding) -> String {
    let mut message = escape::line(&finding.message).into_owned();
    for (name, value) in [("expected", &finding.expected), ("observed", &finding.observed)] {
        if !value.is_empty() {
            message += &format!("; {name}: {}", escape::line(value));
        }
    }
    escaped(&message)
}

/// Escapes a message's text: brackets would be links, and braces arguments.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '[' | ']' => escaped.extend(['\\', c]),
            '{' | '}' => escaped.extend([c, c]),
            c => escaped.push(c),
        }
    }
    escaped
}

fn location(object: &ObjectRef, field: &str) -> Value {
    let path = object.path();
    let region = json!({"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 1});
    let mut location = json!({
        "physicalLocation": {"artifactLocation": {"uri": uri(&path)}, "region": region},
        "logicalLocations": [{
            "name": escape::line(&path),
            "fullyQualifiedName": escape::line(&format!("{}/{path}", object.kind)),
            "kind": "resource",
        }],
    });
    if !field.is_empty() {
        location["message"] = json!({"text": escaped(&escape::line(field))});
    }
    location
}

/// Formats a path as a relative URI reference, escaped. It is never empty, as GitHub refuses that.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes().take(LONGEST_URI) {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'/' => uri.push(byte.into()),
            _ => uri += &format!("%{byte:02X}"),
        }
    }
    match uri.trim_matches(['.', '/']) {
        "" => "unnamed".to_owned(),
        _ => uri.trim_start_matches('/').to_owned(),
    }
}

/// A file, relative to the folder in which the suite runs: in a pipeline that is the repository.
/// `None` for standard input.
fn artifact(file: &str) -> Option<String> {
    let path = Path::new(file);
    let folder = env::current_dir().unwrap_or_default();
    let inside = path.strip_prefix(&folder).unwrap_or(path);
    let is_inside = |part: Component| matches!(part, Component::Normal(_) | Component::CurDir);
    let inside = if inside.components().all(is_inside) {
        inside
    } else {
        // A reader has no use for folders of another machine.
        Path::new(path.file_name()?)
    };
    let parts = inside.components().filter_map(|part| match part {
        Component::Normal(part) => Some(part.to_string_lossy()),
        _ => None,
    });
    let parts: Vec<_> = parts.collect();
    let is_file = !parts.is_empty() && file != "-";
    is_file.then(|| uri(&parts.join("/")))
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Must => "error",
        Level::Should => "warning",
        Level::May => "note",
    }
}
