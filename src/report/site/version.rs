//! The page of a report: what it says of itself, what it is worth, and each rule.

use askama::Template;
use evidence::{Environment, Realness};
use judge::{
    rules::{self, Basis, Level},
    web_page,
};

use super::{
    board::{Implementation, Version},
    cells::extent,
    frame::Frame,
    signs,
    slug::Slugs,
    submission::{Signature, Submission, Told},
};
use crate::{
    html::{
        axis::utc,
        sign::{self, Sign},
        text::shown,
    },
    submitted::{Entry, Fitness, obstacles},
    text::number::count,
};

/// The most differences to show.
const SHOWN: usize = 40;

/// The page.
#[derive(Template)]
#[template(path = "site/version.html")]
pub(super) struct VersionPage<'a> {
    frame: Frame<'a>,
    implementation: &'a str,
    home: String,
    name: &'a str,
    sign: Sign,
    fitness: String,
    fitness_class: &'static str,
    contradiction: Option<String>,
    unreadable: Option<String>,
    /// Why the signature does not count.
    refused: Option<String>,
    differences: Vec<(String, String, String)>,
    different: usize,
    hidden: Option<String>,
    notes: Vec<String>,
    obstacles: Vec<String>,
    facts: Vec<Fact>,
    address: Option<String>,
    /// The pages of the runs that were judged again, by their file names.
    runs: Vec<String>,
    /// Whether somebody submitted it.
    is_submitted: bool,
    /// The report in the SIG's form, from the board's root, where it holds.
    matrix: Option<String>,
    /// The worst first.
    rules: Vec<RuleRow>,
    unknown: Vec<(String, &'static str)>,
}

/// Something to know, by name.
struct Fact {
    name: &'static str,
    value: String,
}

/// A rule.
struct RuleRow {
    id: &'static str,
    title: &'static str,
    level: Level,
    basis: Basis,
    sign: Sign,
    extent: String,
    reasons: String,
    /// Its findings, where a single run was judged again.
    findings: Option<String>,
}

/// The file names of the runs that were judged again.
pub(super) fn run_pages(submission: &Submission) -> Vec<String> {
    match submission.runs.len() {
        1 => vec!["report.html".to_owned()],
        number => (1..=number).map(|run| format!("report-{run}.html")).collect(),
    }
}

/// The path of a submitted report in the SIG's form, if it holds.
pub(super) fn matrix_path(implementation: &Implementation, version: &Version) -> Option<String> {
    let submission = &version.submission;
    if !submission.is_submitted() || submission.fitness() != Fitness::Holds {
        return None;
    }
    let api = version.submission.document.cluster_profile_api_version.as_deref();
    let api = Slugs::default().add(&shown(api.unwrap_or("unknown")));
    let name = version.folder.trim_end_matches('/');
    let name = name.rsplit('/').next().unwrap_or(name);
    Some(format!(
        "sig-multicluster/{api}/{}/{name}.yaml",
        implementation.slug
    ))
}

impl<'a> VersionPage<'a> {
    pub(super) fn new(implementation: &'a Implementation, version: &'a Version, frame: Frame<'a>) -> Self {
        let submission = &version.submission;
        let (document, check) = (&submission.document, &submission.check);
        let fitness = submission.fitness();
        let differences = check.differences();
        let shown_differences = differences.iter().take(SHOWN);
        Self {
            frame,
            implementation: &implementation.name,
            home: format!("{}index.html", implementation.folder()),
            name: &version.name,
            sign: signs::of_decision(fitness, document.decision),
            fitness: sentence(submission),
            fitness_class: match fitness {
                Fitness::Holds => "none",
                Fitness::NotVerified => "doubt",
                Fitness::DoesNotHold => "fail",
            },
            contradiction: check.contradiction.as_ref().map(|one| shown(&one.to_string())),
            unreadable: match &check.proof {
                crate::submitted::Proof::Unreadable(reason) => Some(shown(reason)),
                _ => None,
            },
            refused: submission.refused().map(|refused| shown(&refused)),
            differences: shown_differences
                .map(|one| (shown(&one.at), shown(&one.old_text()), shown(&one.new_text())))
                .collect(),
            different: differences.len(),
            hidden: differences
                .len()
                .checked_sub(SHOWN + 1)
                .map(|more| count(more + 1, "more difference")),
            notes: check.notes().iter().map(|note| shown(note)).collect(),
            obstacles: obstacles(document)
                .iter()
                .chain(check.obstacles())
                .filter(|_| submission.is_submitted())
                .map(|one| shown(&one.to_string()))
                .collect(),
            facts: facts(submission),
            address: address(submission),
            runs: run_pages(submission),
            is_submitted: submission.is_submitted(),
            matrix: matrix_path(implementation, version),
            rules: rules_of(version),
            unknown: submission
                .unknown()
                .into_iter()
                .map(|entry| (shown(&entry.rule), sign::of(entry.verdict).word))
                .collect(),
        }
    }
}

/// What the report is worth, in a sentence or two.
fn sentence(submission: &Submission) -> String {
    let decision = submission.document.decision.name().replace('-', " ");
    let described = submission.check.describe();
    if let Some(edition) = submission.submitted_for {
        return format!(
            "Nobody submitted a report for this edition. This page judges the evidence of the report for edition {edition}."
        );
    }
    match submission.fitness() {
        Fitness::Holds => {
            "The report holds: judging its evidence again for this page gave the same result.".to_owned()
        }
        Fitness::NotVerified => format!("The report says “{decision}”. It is {described}."),
        Fitness::DoesNotHold => format!("The report says “{decision}”. It {described}."),
    }
}

fn facts(submission: &Submission) -> Vec<Fact> {
    let document = &submission.document;
    let implementation = document.implementation.as_ref();
    let scope = &document.scope;
    let watched = scope
        .window
        .map(|window| format!("{} to {}", utc(window.from), window.until.strftime("%H:%M:%S")));
    let said = |of: fn(&Environment) -> Option<&Realness>| {
        let said = document.environment.as_ref().and_then(of);
        said.map(ToString::to_string)
    };
    let facts = [
        ("Organization", implementation.map(|of| of.organization.clone())),
        ("Contact", implementation.map(|of| of.contact.join(", "))),
        (
            "Submitted by",
            document.submitted_by.as_ref().map(|by| by.organization.clone()),
        ),
        (
            "Vouched for by",
            match &submission.signature {
                Some(Signature::Holds(by)) => Some(by.clone()),
                Some(Signature::Refused(_)) | None => None,
            },
        ),
        ("Hub", said(|environment| environment.hub.as_ref())),
        ("Members", said(|environment| environment.members.as_ref())),
        ("Agents", said(|environment| environment.agents.as_ref())),
        (
            "Audit log",
            document.environment.as_ref().and_then(|environment| {
                let why = environment.no_audit_log.as_ref()?;
                Some(format!("none: {why}"))
            }),
        ),
        ("Role", Some(document.edition.role().to_string())),
        ("Edition", Some(document.edition.to_string())),
        ("Judged", Some(utc(document.date))),
        ("Observed", watched),
        ("Slices", (scope.slices > 0).then(|| scope.slices.to_string())),
        ("Profiles", Some(scope.profiles.to_string())),
        ("Cut short", scope.partial.clone()),
        ("ClusterProfile API", document.cluster_profile_api_version.clone()),
        ("Hub version", document.hub_version.clone()),
        ("Suite", Some(document.suite_version.clone())),
        (
            "Waivers",
            (!document.waivers.is_empty()).then(|| document.waivers.len().to_string()),
        ),
        ("Folder", Some(submission.folder.clone())),
    ];
    facts
        .into_iter()
        .filter_map(|(name, value)| {
            let value = shown(&value?);
            (!value.is_empty()).then_some(Fact { name, value })
        })
        .collect()
}

/// The implementation's home, where that is a web page.
fn address(submission: &Submission) -> Option<String> {
    let implementation = submission.document.implementation.as_ref()?;
    Some(web_page(&implementation.url)?.to_string())
}

fn rules_of(version: &Version) -> Vec<RuleRow> {
    let submission = &version.submission;
    let fitness = submission.fitness();
    let mut rows: Vec<(usize, RuleRow)> = rules::all()
        .iter()
        .filter_map(|rule| {
            let applies = rule.facts.in_edition(submission.document.edition)?;
            let told = version.told.get(rule.id)?;
            let entry: Option<&Entry> = match told {
                Told::Entry(entry) => Some(entry),
                Told::Nothing => None,
            };
            let verdict = entry.map(|entry| entry.verdict);
            let reasons = entry.into_iter().flat_map(|entry| &entry.reasons);
            let reasons = reasons.map(|reason| shown(reason));
            let judged = submission.judged(rule.id);
            let refuted = signs::refutation(fitness, verdict, judged);
            let reasons: Vec<String> = refuted.into_iter().chain(reasons).collect();
            let row = RuleRow {
                id: rule.id,
                title: &rule.facts.title,
                level: applies.level,
                basis: applies.basis,
                sign: signs::of(fitness, verdict, judged),
                extent: extent(told).unwrap_or_default(),
                reasons: reasons.join("; "),
                findings: (submission.runs.len() == 1).then(|| format!("report.html#{}", rule.id)),
            };
            Some((verdict.map_or(usize::MAX, sign::rank), row))
        })
        .collect();
    // What the evidence refutes comes before all else.
    rows.sort_by_key(|(rank, row)| (row.sign.class != "refuted", *rank, row.level));
    rows.into_iter().map(|(_, row)| row).collect()
}
