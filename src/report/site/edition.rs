//! The page of an edition: its implementations, and the matrix. That of the edition with the most is the first page.

use askama::Template;
use evidence::api::Edition;
use judge::{
    Verdict,
    rules::{self, Level},
};

use super::{
    board::{Board, Implementation, Unreadable, Version},
    frame::Frame,
    judge_page,
    matrix::Matrix,
    signs,
    submission::Told,
};
use crate::{html::sign::Sign, number::count, submitted::Standing};

/// The page.
#[derive(Template)]
#[template(path = "site/edition.html")]
pub(super) struct EditionPage<'a> {
    pub(super) frame: Frame<'a>,
    editions: Vec<Tab>,
    implementations: Vec<Listed<'a>>,
    legend: Vec<Sign>,
    matrix: Matrix,
    unreadable: &'a [Unreadable],
    /// The page on which a file is judged, if the board has one.
    judge: Option<&'static str>,
}

/// An edition in the navigation.
struct Tab {
    edition: Edition,
    href: String,
    implementations: String,
    is_current: bool,
}

/// An implementation in the list.
struct Listed<'a> {
    name: &'a str,
    organization: &'a str,
    href: String,
    versions: String,
    row: Standings,
}

/// A report in a line: its decision, counts and standing.
pub(super) struct Standings {
    pub(super) version: String,
    pub(super) edition: Edition,
    pub(super) href: String,
    pub(super) sign: Sign,
    pub(super) failing: usize,
    pub(super) passing: usize,
    pub(super) must: usize,
    pub(super) standing: &'static str,
    pub(super) standing_class: &'static str,
    pub(super) remark: &'static str,
    pub(super) date: String,
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
            implementations: latest
                .iter()
                .map(|(implementation, version)| Listed::of(implementation, version))
                .collect(),
            legend: signs::legend(),
            matrix: Matrix::of(edition, &versions, name),
            unreadable: &board.unreadable,
            judge: board.module.as_ref().map(|_| judge_page::PATH),
        }
    }
}

fn tabs(board: &Board, current: Edition) -> Vec<Tab> {
    let mut editions = board.editions();
    editions.sort();
    let tab = |edition| Tab {
        edition,
        href: path(edition, board),
        implementations: count(board.latest(edition).count(), "implementation"),
        is_current: edition == current,
    };
    editions.into_iter().map(tab).collect()
}

impl<'a> Listed<'a> {
    fn of(implementation: &'a Implementation, version: &Version) -> Self {
        Self {
            name: &implementation.name,
            organization: &implementation.organization,
            href: format!("{}index.html", implementation.folder()),
            versions: match implementation.count() {
                1 => String::new(),
                number => count(number, "version"),
            },
            row: Standings::of(version),
        }
    }
}

/// Whether a rule is a MUST in that edition.
fn is_must(rule: &str, edition: Edition) -> bool {
    let applies = rules::find(rule).and_then(|rule| rule.facts.in_edition(edition));
    applies.is_some_and(|applies| applies.level == Level::Must)
}

impl Standings {
    pub(super) fn of(version: &Version) -> Self {
        let submission = &version.submission;
        let document = &submission.document;
        let standing = submission.standing();
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
            sign: signs::of_decision(standing, document.decision),
            failing: must.iter().filter(fails).count(),
            passing: must
                .iter()
                .filter(|(_, told)| *told == Some(Verdict::Pass))
                .count(),
            must: must.len(),
            standing: standing.name(),
            standing_class: match standing {
                Standing::Holds => "",
                Standing::NotVerified => "doubt",
                Standing::DoesNotHold => "fail",
            },
            remark: match (document.is_partial(), is_narrowed, submission.is_submitted()) {
                (true, ..) => "cut short",
                (false, true, _) => "not all rules",
                (false, false, false) => "not submitted",
                (false, false, true) => "",
            },
            date: document.date.strftime("%Y-%m-%d").to_string(),
        }
    }
}
