//! Verifying a report: judging its evidence again.

use evidence::{Checksum, Evidence};
use judge::{Selection, Waivers, judge, rules};

use super::{
    change::{Change, changes},
    compose::compose_as_of,
    document::{Document, Picked, Waived},
    eligibility::{Obstacle, not_real},
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

/// Judges the evidence again with the report's edition, claims, scope, rules, waivers and date.
pub fn verify(document: &Document, held: Held) -> Verified {
    verify_with(document, held, |_| {})
}

/// Does the same as [`verify`], and shows the run as it is judged again from its evidence.
pub fn verify_with(document: &Document, held: Held, show: impl FnOnce(&Report)) -> Verified {
    let Held { mut evidence, sum } = held;
    let environment = document.environment.clone().unwrap_or_default();
    let obstacles = not_real(&environment, &evidence);
    let again = again(document, &mut evidence, &sum, show);
    Verified {
        differences: compare(document, again),
        obstacles,
        notes: version_notes(document),
    }
}

fn compare(document: &Document, mut again: Document) -> Vec<Change> {
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
    changes(document, &again)
}

/// Composes the report that the evidence gives, judged as the given report says.
fn again(
    document: &Document,
    evidence: &mut Evidence,
    sum: &Checksum,
    show: impl FnOnce(&Report),
) -> Document {
    let claim = &mut evidence.header.claim;
    claim.edition = document.edition;
    claim.also = None;
    document.claim.apply(claim);
    if evidence.header.window.is_none() {
        evidence.header.read_at.get_or_insert(document.date);
    }
    let covered = document.scope.clone();
    evidence.header.scope.namespaces = covered.namespaces;
    evidence.header.scope.cluster_manager = covered.cluster_manager;
    evidence.header.scope.scheduler = covered.scheduler;
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
        advice: no_advice,
    };
    show(&report);
    compose_as_of(&report, Some(sum), document.rules_as_of)
}

fn version_notes(document: &Document) -> Vec<String> {
    let mut notes = Vec::new();
    let (wrote, own) = (&document.suite_version, env!("CARGO_PKG_VERSION"));
    if wrote != own {
        notes.push(format!(
                "the report is by suite {wrote}, and this is {own}: a difference may come from that; verify it with \
                 suite {wrote} to be sure"
            ));
    }
    let newer = rules::all().iter().filter(|rule| {
        document.rules_as_of < rule.facts.added && rule.facts.in_edition(document.edition).is_some()
    });
    let newer: Vec<&str> = newer.map(|rule| rule.id).collect();
    if !newer.is_empty() {
        notes.push(format!(
            "the report is older than {}, which it does not judge: {}",
            count(newer.len(), "rule"),
            newer.join(", ")
        ));
    }
    notes
}
