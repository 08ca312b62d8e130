//! Verifying a report: judging its evidence again, and saying what its submitter has to do.

use evidence::{Checksum, Claim, Evidence};
use judge::{Selection, Waivers, judge, rules};

use super::{
    compose::compose_as_of,
    diff::{Change, changes},
    document::Document,
    eligibility::{not_real, obstacles},
};
use crate::{
    Report, no_advice,
    text::{escape, number::count},
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

/// What judging the evidence again shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verified {
    /// What the report says (old), and what its evidence says (new); verdicts first, as the counts follow from them.
    pub differences: Vec<Change>,
    /// What the evidence shows that keeps the report from being submitted.
    pub obstacles: Vec<String>,
    /// Notes for a person.
    pub notes: Vec<String>,
}

/// What the evidence says about a report.
#[derive(Debug)]
pub enum Proof {
    /// It was judged again.
    Judged(Verified),
    /// There is none.
    Missing,
    /// It cannot be read, for that reason.
    Unreadable(String),
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
    /// What its evidence shows.
    pub verified: Verified,
    /// What makes the report unfit, each with what to do.
    problems: Vec<String>,
    /// What keeps the report from being submitted, by itself or by its evidence.
    pub obstacles: Vec<String>,
}

impl Check {
    /// Checks a report with what its evidence says.
    pub fn of(document: &Document, proof: Proof) -> Self {
        let contradiction = document.entries().err();
        let (mut fitness, mut reason, problem) = match &proof {
            Proof::Missing => {
                let add = |file: &str| {
                    format!(
                        "the evidence is missing: add {file} next to report.yaml, or reviewers cannot verify the report"
                    )
                };
                let problem = document.evidence.as_ref().map(|kept| add(&kept.file));
                (Fitness::NotVerified, "no evidence", problem)
            }
            Proof::Unreadable(error) => {
                let problem = format!("the evidence cannot be read: {error}");
                (Fitness::NotVerified, "its evidence cannot be read", Some(problem))
            }
            Proof::Judged(verified) if verified.differences.is_empty() => {
                (Fitness::Holds, "its evidence reproduces it", None)
            }
            Proof::Judged(verified) => {
                let problem = not_reproduced(&verified.differences);
                (Fitness::DoesNotHold, "its evidence says otherwise", Some(problem))
            }
        };
        let mut problems = Vec::new();
        if let Some(contradiction) = contradiction {
            (fitness, reason) = (Fitness::DoesNotHold, "it contradicts itself");
            problems.push(format!(
                "the report contradicts itself: {contradiction}: submit it as the suite wrote it"
            ));
        }
        problems.extend(problem);
        let verified = match proof {
            Proof::Judged(verified) => verified,
            _ => Verified::default(),
        };
        let obstacles = obstacles(document)
            .into_iter()
            .chain(verified.obstacles.iter().cloned())
            .collect();
        Self {
            fitness,
            reason,
            verified,
            problems,
            obstacles,
        }
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

/// A submitted report in its folder.
#[derive(Debug)]
pub struct Submission {
    /// The folder, relative to the folder of all reports, with `/` between its parts.
    pub folder: String,
    /// The report.
    pub document: Document,
    /// The result of checking it.
    pub check: Check,
}

/// A folder without a readable report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The folder, relative to the folder of all reports.
    pub folder: String,
    /// Why it cannot be read.
    pub reason: String,
}

impl Submission {
    /// What is missing or forged, each with what to do. The folder is to be named like the version, for readers to find it.
    pub fn to_do(&self) -> Vec<String> {
        let bare = |text: &str| text.strip_prefix('v').unwrap_or(text).to_owned();
        let version = self
            .document
            .implementation
            .as_ref()
            .map_or("", |about| about.version.trim());
        let folder = self.folder.rsplit('/').next().unwrap_or_default();
        let misnamed = (!version.is_empty() && bare(version) != bare(folder)).then(|| {
            format!("the folder is named {folder}, and the report is of version {version}: give both the same name")
        });
        self.check.to_do().cloned().chain(misnamed).collect()
    }
}

/// Judges the evidence again with the report's edition, claims, scope, rules, waivers and date. `show` gets the run.
pub fn verify(document: &Document, held: Held, show: impl FnOnce(&Report)) -> Verified {
    let Held { mut evidence, sum } = held;
    let environment = document.environment.clone().unwrap_or_default();
    let obstacles = not_real(&environment, &evidence);
    let mut again = again(document, &mut evidence, &sum, show);
    // A note reports another version.
    again.suite_version.clone_from(&document.suite_version);
    // Evidence need not say who made the implementation, who judged it, and what was real.
    again.implementation = again.implementation.or_else(|| document.implementation.clone());
    again.submitted_by = again.submitted_by.or_else(|| document.submitted_by.clone());
    again.environment = again.environment.or_else(|| document.environment.clone());
    let mut differences = changes(document, &again);
    differences.sort_by_key(|change| !change.at.contains('/'));
    Verified {
        differences,
        obstacles,
        notes: version_notes(document),
    }
}

/// Composes the report that the evidence gives, judged as the given report says.
fn again(
    document: &Document,
    evidence: &mut Evidence,
    sum: &Checksum,
    show: impl FnOnce(&Report),
) -> Document {
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
    let covered = document.scope.clone();
    header.scope.namespaces = covered.namespaces;
    header.scope.cluster_manager = covered.cluster_manager;
    header.scope.scheduler = covered.scheduler;
    let selection: Selection = covered.selection.unwrap_or_default();
    let mut judgement = judge(evidence, &selection);
    let waivers = document.waivers.iter().map(|outcome| outcome.waiver.clone());
    let waivers = Waivers {
        waivers: waivers.collect(),
    };
    judgement.waive(&waivers, Waivers::day(document.date), document.claim.strict);
    let report = Report {
        evidence,
        judgement: &judgement,
        selection: &selection,
        judged_at: document.date,
        // The file may have been renamed: its content identifies it.
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
