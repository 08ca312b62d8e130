//! Verifying a report: judging its evidence again, and saying what its submitter has to do.

use evidence::{Checksum, Claim, Evidence, Scope, named_enum};
use judge::{Selection, Waivers, judge, rules};

use super::{
    compose::compose_as_of,
    diff::changes,
    document::ConformanceReport,
    obstacles::{misnamed, not_real, obstacles},
};
use crate::{
    Report, by_edition,
    text::{count, difference::FieldDifference},
};

/// A folder without a readable report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableFolder {
    /// The folder, relative to the folder of all reports, with `/` between its parts.
    pub folder: String,
    /// Why it cannot be read.
    pub reason: String,
}

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

named_enum! {
    /// Whether a report follows from its evidence.
    pub enum Fitness {
        /// Its evidence reproduces it.
        Holds = "holds",
        /// There is no evidence, or it cannot be read.
        NotVerified = "not verified",
        /// Its evidence contradicts it, or it contradicts itself.
        DoesNotHold = "does not hold",
    }
}

/// The result of checking a report.
#[derive(Debug)]
pub struct Check {
    /// Whether it follows from its evidence.
    pub fitness: Fitness,
    /// What the report says (old), and what its evidence says (new); verdicts first, as the counts follow from them.
    pub differences: Vec<FieldDifference>,
    /// Notes for a person.
    pub notes: Vec<String>,
    /// What keeps the report from being submitted, each with what to do.
    pub obstacles: Vec<String>,
}

impl Check {
    /// Checks a report against its evidence, and the folder that it is in. `show` gets the run that is judged again.
    pub fn of(
        document: &ConformanceReport,
        folder: Option<&str>,
        proof: &mut Proof,
        show: impl FnOnce(&Report),
    ) -> Self {
        let mut check = Self {
            fitness: Fitness::NotVerified,
            differences: Vec::new(),
            notes: Vec::new(),
            obstacles: Vec::new(),
        };
        let contradiction = document.contradiction();
        check.obstacles.extend(contradiction.iter().map(|contradiction| {
            format!("the report contradicts itself: {contradiction}: submit it as the suite wrote it")
        }));
        match proof {
            Proof::Missing => check.obstacles.extend(document.evidence.as_ref().map(|evidence| {
                let file = &evidence.file;
                format!("the evidence is missing: add {file} next to report.yaml, or reviewers cannot verify the report")
            })),
            Proof::Unreadable(error) => {
                check.obstacles.push(format!("the evidence cannot be read: {error}"));
            }
            Proof::Held(held) => check.compare(document, held, show),
        }
        if contradiction.is_some() {
            check.fitness = Fitness::DoesNotHold;
        }
        check.obstacles.extend(obstacles(document));
        check
            .obstacles
            .extend(folder.and_then(|folder| misnamed(folder, document)));
        check
    }

    /// Compares a report with what its evidence gives.
    fn compare(&mut self, document: &ConformanceReport, held: &mut Held, show: impl FnOnce(&Report)) {
        let environment = document.about.environment.clone().unwrap_or_default();
        let contradictions = not_real(&environment, &held.evidence);
        self.notes = version_notes(document);
        self.differences = differences(document, held, show);
        self.fitness = Fitness::Holds;
        if !self.differences.is_empty() {
            self.fitness = Fitness::DoesNotHold;
            let parts = count(self.differences.len(), "part");
            self.obstacles.push(format!(
                "the evidence does not reproduce {parts}: judge it again with `replay EVIDENCE --report report.yaml`"
            ));
        }
        self.obstacles.extend(contradictions);
    }
}

fn differences(
    document: &ConformanceReport,
    held: &mut Held,
    show: impl FnOnce(&Report),
) -> Vec<FieldDifference> {
    let sum = held.sum.clone();
    let mut again = judge_again(document, held, |report| {
        show(report);
        compose_as_of(report, Some(&sum), document.rules_as_of)
    });
    // A note reports another version.
    again.suite_version.clone_from(&document.suite_version);
    // Evidence need not say who made the implementation, who judged it, and what was real.
    let in_evidence = std::mem::replace(&mut again.about, document.about.clone());
    again.about.update(&in_evidence);
    let mut differences = changes(document, &again);
    if differences.is_empty() && *document != again {
        differences.push(FieldDifference {
            at: "the order of a list".to_owned(),
            old: Some("changed".into()),
            new: Some("as the suite writes it".into()),
        });
    }
    differences.sort_by_key(|change| !change.at.contains('/'));
    differences
}

/// Judges evidence with a report's edition, claims, scope, rules, waivers, and date.
pub fn judge_again<T>(document: &ConformanceReport, held: &mut Held, show: impl FnOnce(&Report) -> T) -> T {
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
    header.scope = Scope {
        manager_by_default: header.scope.manager_by_default,
        ..document.scope.scope.clone()
    };
    let selection: Selection = document.scope.selection.clone().unwrap_or_default();
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

fn version_notes(document: &ConformanceReport) -> Vec<String> {
    let mut notes = Vec::new();
    let (wrote, version) = (&document.suite_version, crate::VERSION);
    if wrote != version {
        notes.push(format!(
            "the report is by suite {wrote}, and this is {version}: a difference may come from that; verify it with \
             suite {wrote} to be sure"
        ));
    }
    let is_newer =
        |facts: &rules::Facts| facts.in_edition(document.edition).is_some() && !document.has(facts);
    let newer = rules::all().iter().filter(|rule| is_newer(&rule.facts));
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
