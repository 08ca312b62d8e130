//! Whether a report can be submitted. One that is not conformant can: it is honest.

use std::collections::BTreeMap;

use evidence::Implementation;
use judge::Verdict;
use url::Url;

use super::document::{Document, Entry};

/// What keeps a report from being submitted, and what to do; nothing where it is fit.
pub fn unfit(document: &Document) -> Vec<String> {
    let mut complaints = match &document.implementation {
        None => vec![
            "it does not say who made the implementation: name it under `implementation` in conformance.yaml"
                .to_owned(),
        ],
        Some(implementation) => incomplete(implementation),
    };
    if document.is_partial() {
        complaints.push("the run was cut short: let it end".to_owned());
    }
    let deselected = told(document).filter(|entry| entry.is_deselected()).count();
    if deselected > 0 {
        complaints.push(format!(
            "{deselected} of the edition's rules were deselected: judge all of them, or merge it with the reports that do"
        ));
    }
    if of_runs(document).any(|run| run.evidence.is_none()) {
        complaints.push(
            "it names no evidence file, so that nobody can verify it: add --record FILE to the run"
                .to_owned(),
        );
    }
    complaints
}

fn incomplete(implementation: &Implementation) -> Vec<String> {
    let Implementation {
        organization,
        project,
        url,
        version,
        contact,
    } = implementation;
    let mut complaints = Vec::new();
    let parts = [
        ("organization", organization),
        ("project", project),
        ("url", url),
        ("version", version),
    ];
    for (part, text) in parts {
        if text.trim().is_empty() {
            complaints.push(format!(
                "implementation.{part} is empty: fill it in in conformance.yaml"
            ));
        }
    }
    let is_web = |url: Url| matches!(url.scheme(), "http" | "https");
    if !url.trim().is_empty() && !Url::parse(url).is_ok_and(is_web) {
        complaints.push(format!("implementation.url is no address of a web page: {url}"));
    }
    if contact.iter().all(|contact| contact.trim().is_empty()) {
        complaints.push("implementation.contact names nobody: say who answers questions".to_owned());
    }
    complaints
}

/// Rules that shards of the same scope have judged differently: their evidence does not tell of the same world.
pub fn disagreements(document: &Document) -> Vec<String> {
    let mut judged: BTreeMap<(String, &str), (usize, Verdict)> = BTreeMap::new();
    let mut told = Vec::new();
    for (place, shard) in document.shards.iter().enumerate() {
        let scope = shard.scope.as_ref();
        let scope = scope.map(|scope| format!("{:?} {:?}", scope.namespaces, scope.cluster_manager));
        let entries = shard.entries().unwrap_or_default();
        let rules = entries.iter().filter(|entry| is_judged(entry.verdict));
        for entry in rules {
            // Rules outlive the report.
            let Some(rule) = judge::rules::find(&entry.rule) else {
                continue;
            };
            let key = (scope.clone().unwrap_or_default(), rule.id);
            let (other, verdict) = *judged.entry(key).or_insert((place, entry.verdict));
            if verdict != entry.verdict {
                told.push(format!(
                    "{}: shard {other} says {}, and shard {place} of the same scope says {}",
                    rule.id,
                    verdict.name(),
                    entry.verdict.name()
                ));
            }
        }
    }
    told
}

fn is_judged(verdict: Verdict) -> bool {
    !matches!(verdict, Verdict::Skipped | Verdict::NotApplicable)
}

fn told(document: &Document) -> impl Iterator<Item = &Entry> {
    document.suites.iter().flat_map(|suite| suite.entries())
}

/// The reports of single runs that it is made of: itself, or its shards.
fn of_runs(document: &Document) -> impl Iterator<Item = &Document> {
    let own = document.shards.is_empty().then_some(document);
    own.into_iter().chain(&document.shards)
}
