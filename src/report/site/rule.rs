//! The page of a rule: what it says, and how each report came out.

use askama::Template;
use judge::rules::{Applies, Rule};

use super::{board::Board, cells::Cell, edition, frame::Frame};
use crate::said::sources::{Cited, cited};

/// The page.
#[derive(Template)]
#[template(path = "site/rule.html")]
pub(super) struct RulePage<'a> {
    frame: Frame<'a>,
    rule: &'a Rule,
    /// Level and basis, with the edition from which on they hold where they differ.
    weights: Vec<String>,
    editions: Vec<OfEdition<'a>>,
}

/// How it stands in one edition, and how it came out by it.
struct OfEdition<'a> {
    applies: &'a Applies,
    source: Vec<Cited<'a>>,
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
        let editions = editions.filter_map(|edition| rule.facts.in_edition(edition));
        Self {
            frame,
            rule,
            weights: weights(&rule.facts.editions),
            editions: editions
                .map(|applies| OfEdition::of(board, rule, applies))
                .collect(),
        }
    }
}

/// The level and basis in the first edition, then each that differs from the one before.
fn weights(editions: &[Applies]) -> Vec<String> {
    let runs = editions.chunk_by(|one, next| one.weight() == next.weight());
    let told = runs.enumerate().map(|(place, run)| match place {
        0 => run[0].weight(),
        _ => format!("{} (from edition {})", run[0].weight(), run[0].edition),
    });
    told.collect()
}

impl<'a> OfEdition<'a> {
    fn of(board: &'a Board, rule: &Rule, applies: &'a Applies) -> Self {
        let edition = applies.edition;
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
            applies,
            source: cited(&applies.source, edition),
            href: edition::path(edition, board),
            rows,
        }
    }
}
