//! Checks whether a report can be submitted. It need not be conformant.

use std::collections::BTreeMap;

use evidence::{Implementation, Shard};
use judge::{Verdict, web_page};

use super::document::{Document, Entry};

/// What keeps a report from being submitted, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// It does not say who made the implementation.
    #[error(
        "it does not say who made the implementation: name it under `implementation` in conformance.yaml"
    )]
    NoImplementation,
    /// A part of the implementation says nothing.
    #[error("implementation.{0} is empty: fill it in in conformance.yaml")]
    Empty(&'static str),
    /// The implementation's address leads to no web page.
    #[error("implementation.url is no address of a web page: {0}")]
    Url(String),
    /// There is no contact.
    #[error("implementation.contact is empty: name who answers questions")]
    NoContact,
    /// The run ended early.
    #[error("the run was cut short: let it end")]
    CutShort,
    /// It is about a share of the fleet.
    #[error("it judges share {0} of the fleet alone: merge the evidence of all shares, and report on that")]
    Share(Shard),
    /// Rules were not judged, as the user picked others.
    #[error(
        "{0} of the edition's rules were deselected: judge all of them, or merge it with the reports that do"
    )]
    Deselected(usize),
    /// No evidence was kept.
    #[error("it names no evidence file, so it cannot be verified")]
    NoEvidence,
}

/// Lists what keeps a report from being submitted.
pub fn obstacles(document: &Document) -> Vec<Obstacle> {
    let mut obstacles = match &document.implementation {
        None => vec![Obstacle::NoImplementation],
        Some(implementation) => incomplete(implementation),
    };
    if document.is_partial() {
        obstacles.push(Obstacle::CutShort);
    }
    obstacles.extend(document.shard().map(Obstacle::Share));
    let deselected = entries(document).filter(|entry| entry.is_deselected()).count();
    if deselected > 0 {
        obstacles.push(Obstacle::Deselected(deselected));
    }
    if of_runs(document).any(|run| run.evidence.is_none()) {
        obstacles.push(Obstacle::NoEvidence);
    }
    obstacles
}

fn incomplete(implementation: &Implementation) -> Vec<Obstacle> {
    let Implementation {
        organization,
        project,
        url,
        version,
        contact,
    } = implementation;
    let parts = [
        ("organization", organization),
        ("project", project),
        ("url", url),
        ("version", version),
    ];
    let empty = parts.into_iter().filter(|(_, text)| text.trim().is_empty());
    let mut obstacles: Vec<Obstacle> = empty.map(|(part, _)| Obstacle::Empty(part)).collect();
    if !url.trim().is_empty() && web_page(url).is_none() {
        obstacles.push(Obstacle::Url(url.clone()));
    }
    if contact.iter().all(|contact| contact.trim().is_empty()) {
        obstacles.push(Obstacle::NoContact);
    }
    obstacles
}

/// Lists rules that shards of the same scope judged differently: their evidence does not describe the same state.
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

fn entries(document: &Document) -> impl Iterator<Item = &Entry> {
    document.suites.iter().flat_map(|suite| suite.entries())
}

/// The reports of single runs that it is made of: itself, or its shards.
fn of_runs(document: &Document) -> impl Iterator<Item = &Document> {
    let own = document.shards.is_empty().then_some(document);
    own.into_iter().chain(&document.shards)
}
