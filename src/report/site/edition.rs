//! The page of an edition: its implementations, and the matrix. That of the first edition of the board is the first page.

use askama::Template;
use evidence::{Realness, api::Edition};
use jiff::{Span, civil::Date, tz::TimeZone};
use judge::{
    Verdict,
    rules::{self, Level},
};

use super::{
    board::{Board, Implementation, Unreadable, Version},
    frame::Frame,
    matrix::Matrix,
    signs,
    submission::Told,
};
use crate::{
    html::{sign::Sign, text::shown},
    submitted::{Document, Fitness},
    text::number::{count, listed},
};

/// The page.
#[derive(Template)]
#[template(path = "site/edition.html")]
pub(super) struct EditionPage<'a> {
    pub(super) frame: Frame<'a>,
    editions: Vec<Tab>,
    /// What projects say of themselves comes first, then what others judged.
    groups: Vec<Group<'a>>,
    legend: Vec<Sign>,
    matrix: Matrix,
    /// The kind of objects that the edition is about.
    subject: &'static str,
    /// The implementations of its role, as people call them.
    implementations: String,
    unreadable: &'a [Unreadable],
}

/// An edition in the navigation.
struct Tab {
    edition: Edition,
    href: String,
    implementations: String,
    is_current: bool,
}

/// The implementations that were judged by the same kind of submitter.
struct Group<'a> {
    title: &'static str,
    rows: Vec<Listed<'a>>,
}

/// An implementation in the list.
struct Listed<'a> {
    name: &'a str,
    organization: &'a str,
    href: String,
    versions: String,
    row: Standings,
}

/// A report in a line: its decision, counts and fitness.
pub(super) struct Standings {
    pub(super) version: String,
    pub(super) edition: Edition,
    pub(super) href: String,
    pub(super) sign: Sign,
    pub(super) failing: usize,
    pub(super) passing: usize,
    pub(super) must: usize,
    pub(super) fitness: &'static str,
    pub(super) fitness_class: &'static str,
    /// Who vouches for it, or that a signature does not count.
    pub(super) vouched: String,
    pub(super) remark: &'static str,
    pub(super) date: String,
    /// Who judged it.
    pub(super) by: By,
    /// What was imitated, such as `members and agents imitated`.
    pub(super) imitated: String,
    /// Why it is greyed, if it is old.
    pub(super) old: &'static str,
}

/// Who judged an implementation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum By {
    /// The project itself.
    Vendor,
    /// Somebody else.
    Other(String),
    /// The report does not say.
    Unsaid,
}

/// The path of an edition's page.
pub(super) fn path(edition: Edition, board: &Board) -> String {
    if board.editions().first() == Some(&edition) {
        "index.html".to_owned()
    } else {
        format!("edition-{edition}.html")
    }
}

impl<'a> EditionPage<'a> {
    pub(super) fn new(board: &'a Board, edition: Edition, frame: Frame<'a>) -> Self {
        let latest: Vec<_> = board.latest(edition).collect();
        let versions: Vec<&Version> = latest.iter().map(|(_, version)| *version).collect();
        let mut names: Vec<(&str, &str)> = Vec::new();
        for (implementation, version) in &latest {
            names.push((&version.folder, &implementation.name));
        }
        let name = |version: &Version| {
            let own = names.iter().find(|(folder, _)| *folder == version.folder);
            own.map_or_else(String::new, |(_, name)| (*name).to_owned())
        };
        Self {
            frame,
            editions: tabs(board, edition),
            groups: groups(board, &latest),
            legend: signs::legend(),
            matrix: Matrix::of(edition, &versions, name),
            subject: edition.role().objects().name(),
            implementations: format!("{}s", edition.role().noun()),
            unreadable: &board.unreadable,
        }
    }
}

fn groups<'a>(board: &Board, latest: &[(&'a Implementation, &Version)]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group> = [
        "Judged by the project itself",
        "Judged by others",
        "The report does not say who judged",
    ]
    .map(|title| Group {
        title,
        rows: Vec::new(),
    })
    .into();
    for (implementation, version) in latest {
        let listed = Listed::of(implementation, version, board.today);
        let place = match listed.row.by {
            By::Vendor => 0,
            By::Other(_) => 1,
            By::Unsaid => 2,
        };
        groups[place].rows.push(listed);
    }
    groups.retain(|group| !group.rows.is_empty());
    groups
}

fn tabs(board: &Board, current: Edition) -> Vec<Tab> {
    let mut editions = board.editions();
    editions.sort();
    let tab = |edition| Tab {
        edition,
        href: path(edition, board),
        implementations: count(board.latest(edition).count(), edition.role().noun()),
        is_current: edition == current,
    };
    editions.into_iter().map(tab).collect()
}

impl<'a> Listed<'a> {
    fn of(implementation: &'a Implementation, version: &Version, today: Option<Date>) -> Self {
        Self {
            name: &implementation.name,
            organization: &implementation.organization,
            href: format!("{}index.html", implementation.folder()),
            versions: match implementation.count() {
                1 => String::new(),
                number => count(number, "version"),
            },
            row: Standings::of(version, today),
        }
    }
}

/// Whether a rule is a MUST in that edition.
fn is_must(rule: &str, edition: Edition) -> bool {
    let applies = rules::find(rule).and_then(|rule| rule.facts.in_edition(edition));
    applies.is_some_and(|applies| applies.level == Level::Must)
}

impl Standings {
    pub(super) fn of(version: &Version, today: Option<Date>) -> Self {
        let submission = &version.submission;
        let document = &submission.document;
        let fitness = submission.fitness();
        let must: Vec<(&str, Option<Verdict>)> = version
            .told
            .iter()
            .filter(|(rule, _)| is_must(rule, document.edition))
            .map(|(rule, told)| (*rule, told.verdict()))
            .collect();
        // What the evidence shows to fail does, whatever the report says.
        let fails = |(rule, told): &&(&str, Option<Verdict>)| {
            submission.judged(rule).or(*told) == Some(Verdict::Fail)
        };
        let is_narrowed = version.told.values().any(|told| match told {
            Told::Entry(entry) => entry.is_deselected(),
            Told::Nothing => false,
        });
        Self {
            version: version.version.clone(),
            edition: document.edition,
            href: format!("{}index.html", version.folder),
            sign: signs::of_decision(fitness, document.decision),
            failing: must.iter().filter(fails).count(),
            passing: must
                .iter()
                .filter(|(_, told)| *told == Some(Verdict::Pass))
                .count(),
            must: must.len(),
            fitness: fitness.name(),
            fitness_class: match fitness {
                Fitness::Holds => "",
                Fitness::NotVerified => "doubt",
                Fitness::DoesNotHold => "fail",
            },
            vouched: match submission.refused() {
                Some(_) => "signature does not count".to_owned(),
                None => submission
                    .vouched_for()
                    .map_or_else(String::new, |who| shown(&who)),
            },
            remark: match (document.is_partial(), is_narrowed, submission.is_submitted()) {
                (true, ..) => "cut short",
                (false, true, _) => "not all rules",
                (false, false, false) => "not submitted",
                (false, false, true) => "",
            },
            date: document.date.strftime("%Y-%m-%d").to_string(),
            by: By::of(document),
            imitated: imitated(document),
            old: old(document, today),
        }
    }
}

impl By {
    fn of(document: &Document) -> Self {
        match (&document.submitted_by, &document.implementation) {
            (Some(by), _) if by.organization.trim().is_empty() => By::Unsaid,
            (Some(by), Some(made)) if by.is_vendor(made) => By::Vendor,
            (Some(by), _) => By::Other(shown(by.organization.trim())),
            (None, _) => By::Unsaid,
        }
    }

    /// In a word or two.
    pub(super) fn words(&self) -> &str {
        match self {
            By::Vendor => "the project",
            By::Other(organization) => organization,
            By::Unsaid => "not said",
        }
    }
}

fn imitated(document: &Document) -> String {
    let environment = document.environment.clone().unwrap_or_default();
    let imitated = environment
        .parts()
        .into_iter()
        .filter(|(_, said)| matches!(said, Some(Realness::Imitated(_))));
    let names: Vec<&str> = imitated.map(|(part, _)| part).collect();
    listed(&names).map_or_else(String::new, |names| format!("{names} imitated"))
}

/// Why a report is old: the suite has newer rules, or a year has passed.
fn old(document: &Document, today: Option<Date>) -> &'static str {
    let judged = document.date.to_zoned(TimeZone::UTC).date();
    let is_over = |today: Date| judged.saturating_add(Span::new().years(1)) < today;
    if document.rules_as_of < rules::as_of() {
        "older rules"
    } else if today.is_some_and(is_over) {
        "over a year old"
    } else {
        ""
    }
}
