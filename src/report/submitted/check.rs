//! Verifying a report: judging its evidence again, and saying what its submitter has to do.

use evidence::{Checksum, Claim, Evidence};
use judge::{Selection, Waivers, judge, rules};

use super::{
    compose::compose_as_of,
    diff::{Change, changes},
    document::Document,
    obstacles::{not_real, obstacles},
};
use crate::{
    Report, by_edition,
    text::{count, escape},
};

/// How many differences are quoted, and how many characters of each side.
const QUOTED: usize = 3;
const LONGEST: usize = 60;

/// An evidence file, read.
#[derive(Debug)]
pub struct Held {
    /// Its content.
    pub evidence: Evidence,
    /// Its checksum.
    pub sum: Checksum,
}

/// The evidence of a report.
#[derive(Debug)]
pub enum Proof {
    /// There is none.
    Missing,
    /// It cannot be read, for that reason.
    Unreadable(String),
    /// It can be judged again.
    Held(Box<Held>),
}

/// Whether a report follows from its evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fitness {
    /// Its evidence reproduces it.
    Holds,
    /// There is no evidence, or it cannot be read.
    NotVerified,
    /// Its evidence contradicts it, or it contradicts itself.
    DoesNotHold,
}

impl Fitness {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::NotVerified => "not verified",
            Self::DoesNotHold => "does not hold",
        }
    }
}

/// The result of checking a report.
#[derive(Debug)]
pub struct Check {
    /// Whether it follows from its evidence.
    pub fitness: Fitness,
    /// Why, in a few words.
    pub reason: &'static str,
    /// What the report says (old), and what its evidence says (new); verdicts first, as the counts follow from them.
    pub differences: Vec<Change>,
    /// Notes for a person.
    pub notes: Vec<String>,
    /// What makes the report unfit, each with what to do.
    problems: Vec<String>,
    /// What keeps the report from being submitted, by itself or by its evidence.
    pub obstacles: Vec<String>,
}

impl Check {
    /// Checks a report against its evidence. `show` gets each run that is judged again.
    pub fn of(document: &Document, proof: &mut Proof, show: impl FnOnce(&Report)) -> Self {
        let mut check = Self {
            fitness: Fitness::NotVerified,
            reason: "",
            differences: Vec::new(),
            notes: Vec::new(),
            problems: Vec::new(),
            obstacles: obstacles(document),
        };
        match proof {
            Proof::Missing => {
                check.reason = "no evidence";
                check.problems.extend(document.evidence.as_ref().map(|kept| {
                    format!(
                        "the evidence is missing: add {} next to report.yaml, or reviewers cannot verify the report",
                        kept.file
                    )
                }));
            }
            Proof::Unreadable(error) => {
                check.reason = "its evidence cannot be read";
                check
                    .problems
                    .push(format!("the evidence cannot be read: {error}"));
            }
            Proof::Held(held) => {
                let environment = document.environment.clone().unwrap_or_default();
                check.obstacles.extend(not_real(&environment, &held.evidence));
                check.notes = version_notes(document);
                check.differences = differences(document, held, show);
                if check.differences.is_empty() {
                    (check.fitness, check.reason) = (Fitness::Holds, "its evidence reproduces it");
                } else {
                    (check.fitness, check.reason) = (Fitness::DoesNotHold, "its evidence says otherwise");
                    check.problems.push(not_reproduced(&check.differences));
                }
            }
        }
        if let Some(contradiction) = document.contradiction() {
            (check.fitness, check.reason) = (Fitness::DoesNotHold, "it contradicts itself");
            let problem =
                format!("the report contradicts itself: {contradiction}: submit it as the suite wrote it");
            check.problems.insert(0, problem);
        }
        check
    }

    /// The fitness with its reason.
    pub fn describe(&self) -> String {
        format!("{}: {}", self.fitness.name(), self.reason)
    }

    /// What is missing or forged, each with what to do. Empty: the report holds and can be submitted.
    pub fn to_do(&self) -> impl Iterator<Item = &String> {
        self.problems.iter().chain(&self.obstacles)
    }
}

fn not_reproduced(differences: &[Change]) -> String {
    let quoted = differences.iter().take(QUOTED).map(|one| {
        let (old, new) = (one.old_text(), one.new_text());
        let (old, new) = (escape::short(&old, LONGEST), escape::short(&new, LONGEST));
        format!("{}: the report says {old}, the evidence {new}", one.at)
    });
    format!(
        "the evidence does not reproduce {}, such as {}: judge it again with `replay EVIDENCE --report report.yaml`",
        count(differences.len(), "part"),
        quoted.collect::<Vec<_>>().join("; ")
    )
}

/// Compares a report with what its evidence gives.
fn differences(document: &Document, held: &mut Held, show: impl FnOnce(&Report)) -> Vec<Change> {
    let sum = held.sum.clone();
    let mut again = judge_again(document, held, |report| {
        show(report);
        compose_as_of(report, Some(&sum), document.rules_as_of)
    });
    // A note reports another version.
    again.suite_version.clone_from(&document.suite_version);
    // Evidence need not say who made the implementation, who judged it, and what was real.
    again.implementation = again.implementation.or_else(|| document.implementation.clone());
    again.submitted_by = again.submitted_by.or_else(|| document.submitted_by.clone());
    again.environment = again.environment.or_else(|| document.environment.clone());
    let mut differences = changes(document, &again);
    differences.sort_by_key(|change| !change.at.contains('/'));
    differences
}

/// Judges evidence with a report's edition, claims, scope, rules, waivers, and date.
pub fn judge_again<T>(document: &Document, held: &mut Held, show: impl FnOnce(&Report) -> T) -> T {
    let evidence = &mut held.evidence;
    let header = &mut evidence.header;
    header.claim = Claim {
        edition: document.edition,
        also: None,
        about: header.claim.about.clone(),
        ..document.claim.clone()
    };
    if header.window.is_none() {
        header.read_at.get_or_insert(document.date);
    }
    let covered = &document.scope;
    header.scope.namespaces.clone_from(&covered.namespaces);
    header.scope.cluster_manager.clone_from(&covered.cluster_manager);
    header.scope.scheduler.clone_from(&covered.scheduler);
    let selection: Selection = covered.selection.clone().unwrap_or_default();
    let mut judgement = judge(evidence, &selection);
    let waivers = document.waivers.iter().map(|outcome| outcome.waiver.clone());
    let waivers = Waivers {
        waivers: waivers.collect(),
    };
    let day = Waivers::day(document.date);
    judgement.waive(&waivers, day, document.claim.strict);
    // Reports of earlier suites have no decisions by other editions.
    let editions = if document.editions.is_empty() {
        Vec::new()
    } else {
        let waivers = Some((&waivers, day));
        by_edition(evidence, &judgement, &selection, waivers, document.rules_as_of)
    };
    let report = Report {
        // The file may have been renamed: its content identifies it.
        file: document.evidence.as_ref().map(|kept| &*kept.file),
        editions: &editions,
        ..Report::new(evidence, &judgement, &selection, document.date)
    };
    show(&report)
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
