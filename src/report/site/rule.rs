//! The page of a rule: what it says, and how each report came out.

use askama::Template;
use evidence::api::Edition;
use judge::rules::Rule;

use super::{board::Board, cells::Cell, edition, frame::Frame};
use crate::sources::{Cited, cited};

/// The page.
#[derive(Template)]
#[template(path = "site/rule.html")]
pub(super) struct RulePage<'a> {
    frame: Frame<'a>,
    rule: &'a Rule,
    source: Vec<Cited<'a>>,
    editions: Vec<OfEdition<'a>>,
}

/// How it came out by one edition.
struct OfEdition<'a> {
    edition: Edition,
    href: String,
    rows: Vec<Row<'a>>,
}

/// A report.
struct Row<'a> {
    name: &'a str,
    href: String,
    version: &'a str,
    cell: Cell,
}

impl<'a> RulePage<'a> {
    pub(super) fn new(board: &'a Board, rule: &'a Rule, frame: Frame<'a>) -> Self {
        let editions = board.editions().into_iter();
        let editions = editions.filter(|edition| rule.facts.in_edition(*edition).is_some());
        Self {
            frame,
            rule,
            source: cited(&rule.facts.first().source),
            editions: editions
                .map(|edition| OfEdition::of(board, rule, edition))
                .collect(),
        }
    }
}

impl<'a> OfEdition<'a> {
    fn of(board: &'a Board, rule: &Rule, edition: Edition) -> Self {
        let mut rows = Vec::new();
        for implementation in &board.implementations {
            let versions: Vec<_> = implementation.of_edition(edition).collect();
            rows.extend(versions.into_iter().rev().filter_map(|version| {
                Some(Row {
                    name: &implementation.name,
                    href: format!("{}index.html", implementation.folder()),
                    version: &version.version,
                    cell: Cell::of(version, rule.id)?,
                })
            }));
        }
        Self {
            edition,
            href: edition::path(edition, board),
            rows,
        }
    }
}
