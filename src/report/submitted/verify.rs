//! Verifying a report: judging its evidence again.

use evidence::{Checksum, Evidence};
use judge::{Selection, Waivers, judge, rules};

use super::{
    change::{Change, changes},
    compose::compose_as_of,
    document::{Document, Picked, Waived},
    eligibility::{Obstacle, not_real},
    merge::merge,
};
use crate::{Report, no_advice, text::number::count};

/// An evidence file, read.
#[derive(Debug)]
pub struct Held {
    /// What it holds.
    pub evidence: Evidence,
    /// What it is known by.
    pub sum: Checksum,
}

/// Whether a report holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verified {
    /// What the report says (old), and what its evidence says (new).
    pub differences: Vec<Change>,
    /// What keeps the report from being submitted, as its evidence shows.
    pub obstacles: Vec<Obstacle>,
    /// Notes for a person.
    pub notes: Vec<String>,
}

/// Judges the evidence again with the report's edition, claims, scope, rules, waivers and date. `next` returns one
/// evidence file after the other, so that they need not all be in memory.
///
/// # Errors
/// When `next` fails.
pub fn verify<E>(document: &Document, next: impl FnMut() -> Option<Result<Held, E>>) -> Result<Verified, E> {
    verify_with(document, next, |_| {})
}

/// Does the same as [`verify`], and shows each run as it is judged again from its evidence.
///
/// # Errors
/// When `next` fails.
pub fn verify_with<E>(
    document: &Document,
    mut next: impl FnMut() -> Option<Result<Held, E>>,
    mut show: impl FnMut(&Report),
) -> Result<Verified, E> {
    let mut verified = Verified::default();
    let mut waiting: Vec<(String, &Document)> = if document.shards.is_empty() {
        vec![(String::new(), document)]
    } else {
        let shards = document.shards.iter().enumerate();
        shards
            .map(|(place, shard)| (format!("shards[{place}]."), shard))
            .collect()
    };
    while let Some(held) = next() {
        let held = held?;
        let is_of = |shard: &Document| is_known(shard, &held.sum);
        let (own, others): (Vec<_>, Vec<_>) = if document.shards.is_empty() {
            // There is only one report that it can belong to.
            (std::mem::take(&mut waiting), Vec::new())
        } else {
            waiting.into_iter().partition(|(_, shard)| is_of(shard))
        };
        waiting = others;
        // Shards may share evidence, which may be given for each.
        if own.is_empty() && !document.shards.iter().any(is_of) {
            verified.notes.push(format!(
                "the evidence with the SHA-256 {} is that of no part of the report",
                held.sum.sha256
            ));
        }
        let mut evidence = held.evidence;
        for (at, shard) in own {
            verified.hold_real(shard, &evidence);
            let again = again(shard, &mut evidence, &held.sum, &mut show);
            compare(&at, shard, again, &mut verified);
        }
    }
    for (at, shard) in waiting {
        let wanted = shard.evidence.as_ref().map(|kept| &*kept.sha256);
        verified
            .differences
            .push(Change::of(format!("{at}evidence.sha256"), wanted, None));
    }
    verified.compare_merged(document);
    verified.note_versions(document);
    Ok(verified)
}

fn is_known(document: &Document, sum: &Checksum) -> bool {
    document
        .evidence
        .as_ref()
        .is_some_and(|kept| kept.sha256 == sum.sha256)
}

fn compare(at: &str, document: &Document, mut again: Document, into: &mut Verified) {
    // Another version is no contradiction; a note reports it.
    again.suite_version.clone_from(&document.suite_version);
    // Evidence need not say who made the implementation, nor who judged it: a report may learn that from elsewhere.
    if again.implementation.is_none() {
        again.implementation.clone_from(&document.implementation);
    }
    if again.submitted_by.is_none() {
        again.submitted_by.clone_from(&document.submitted_by);
    }
    if again.environment.is_none() {
        again.environment.clone_from(&document.environment);
    }
    let differences = changes(document, &again).into_iter();
    into.differences.extend(differences.map(|change| Change {
        at: format!("{at}{}", change.at),
        ..change
    }));
}

/// Composes the report that the evidence gives, judged as the given report says.
fn again(
    document: &Document,
    evidence: &mut Evidence,
    sum: &Checksum,
    mut show: impl FnMut(&Report),
) -> Document {
    let claim = &mut evidence.header.claim;
    claim.edition = document.edition;
    claim.also = None;
    document.claim.apply(claim);
    if evidence.header.window.is_none() {
        evidence.header.read_at.get_or_insert(document.date);
    }
    let covered = document.scope.clone().unwrap_or_default();
    evidence.header.scope.namespaces = covered.namespaces;
    evidence.header.scope.cluster_manager = covered.cluster_manager;
    evidence.header.scope.scheduler = covered.scheduler;
    evidence.header.scope.shard = covered.shard;
    let selection = covered
        .selection
        .as_ref()
        .map_or_else(Selection::default, Picked::selection);
    let mut judgement = judge(evidence, &selection);
    let waivers = Waivers {
        waivers: document.waivers.iter().map(Waived::waiver).collect(),
    };
    judgement.waive(&waivers, Waivers::day(document.date), document.claim.strict);
    let report = Report {
        evidence,
        judgement: &judgement,
        selection: &selection,
        judged_at: document.date,
        // The file may have been renamed: it is known by its content.
        file: document.evidence.as_ref().map(|kept| &*kept.file),
        place: None,
        advice: no_advice,
    };
    show(&report);
    compose_as_of(&report, Some(sum), document.rules_as_of)
}

impl Verified {
    /// Holds what a report calls real against its evidence.
    fn hold_real(&mut self, document: &Document, evidence: &Evidence) {
        let environment = document.environment.clone().unwrap_or_default();
        for obstacle in not_real(&environment, evidence) {
            if !self.obstacles.contains(&obstacle) {
                self.obstacles.push(obstacle);
            }
        }
    }

    /// A merged report has to equal the merge of its shards.
    fn compare_merged(&mut self, document: &Document) {
        if document.shards.is_empty() {
            return;
        }
        match merge(document.shards.clone()) {
            Ok(merged) => self.differences.extend(changes(document, &merged)),
            Err(error) => self
                .differences
                .push(Change::of("shards", None, Some(&error.to_string()))),
        }
    }

    fn note_versions(&mut self, document: &Document) {
        let (wrote, own) = (&document.suite_version, env!("CARGO_PKG_VERSION"));
        if wrote != own {
            self.notes.push(format!(
                "the report is by suite {wrote}, and this is {own}: a difference may come from that; verify it with \
                 suite {wrote} to be sure"
            ));
        }
        let newer = rules::all().iter().filter(|rule| {
            document.rules_as_of < rule.facts.added && rule.facts.in_edition(document.edition).is_some()
        });
        let newer: Vec<&str> = newer.map(|rule| rule.id).collect();
        if !newer.is_empty() {
            self.notes.push(format!(
                "the report is older than {}, which it does not judge: {}",
                count(newer.len(), "rule"),
                newer.join(", ")
            ));
        }
    }
}
