//! A matrix: reports × rules of one edition.

use std::collections::BTreeSet;

use evidence::api::Edition;
use judge::rules::{self, Applies, Basis, Level, Rule};

use super::{board::Version, cells::Cell};

/// From how many reports on their names stand upright, and the titles of rules are shown only where there is room below.
const WIDE: usize = 7;

/// The matrix.
pub(super) struct Matrix {
    pub(super) edition: Edition,
    pub(super) columns: Vec<Column>,
    pub(super) suites: Vec<Suite>,
    /// How many rules it has.
    pub(super) rules: usize,
}

/// A report.
pub(super) struct Column {
    pub(super) name: String,
    pub(super) version: String,
    /// Its page, from the board's root.
    pub(super) href: String,
}

/// The rules of a suite.
pub(super) struct Suite {
    pub(super) name: &'static str,
    pub(super) rows: Vec<Row>,
}

/// A rule.
pub(super) struct Row {
    pub(super) id: &'static str,
    /// The id without the suite.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) level: Level,
    pub(super) basis: Basis,
    pub(super) cells: Vec<Option<Cell>>,
    /// What the filter looks at: `fails`, `differs`.
    pub(super) traits: String,
}

impl Matrix {
    /// The rules of that edition in these reports. `name` is what a column is called.
    pub(super) fn of(edition: Edition, versions: &[&Version], name: impl Fn(&Version) -> String) -> Self {
        let of_edition = rules::all()
            .iter()
            .filter_map(|rule| Some((rule, rule.facts.in_edition(edition)?)));
        let mut suites: Vec<Suite> = Vec::new();
        let mut number = 0;
        for (rule, applies) in of_edition {
            let (suite, short) = rule.id.split_once('/').unwrap_or((rule.id, rule.id));
            if suites.last().is_none_or(|last| last.name != suite) {
                suites.push(Suite {
                    name: suite,
                    rows: Vec::new(),
                });
            }
            number += 1;
            if let Some(last) = suites.last_mut() {
                last.rows.push(Row::of(rule, applies, short, versions));
            }
        }
        Self {
            edition,
            columns: versions
                .iter()
                .map(|version| Column::of(version, &name))
                .collect(),
            suites,
            rules: number,
        }
    }

    pub(super) fn is_wide(&self) -> bool {
        self.columns.len() >= WIDE
    }

    /// How many columns the table has.
    pub(super) fn width(&self) -> usize {
        self.columns.len() + 2
    }
}

impl Column {
    fn of(version: &Version, name: impl Fn(&Version) -> String) -> Self {
        Self {
            name: name(version),
            version: version.version.clone(),
            href: format!("{}index.html", version.folder),
        }
    }
}

impl Row {
    fn of(rule: &'static Rule, applies: &Applies, name: &'static str, versions: &[&Version]) -> Self {
        let cells: Vec<Option<Cell>> = versions
            .iter()
            .map(|version| Cell::of(version, rule.id))
            .collect();
        let classes: BTreeSet<&str> = cells.iter().flatten().map(|cell| cell.sign.mark).collect();
        let fails = cells.iter().flatten().any(|cell| cell.sign.class == "fail");
        let traits = [(fails, "fails"), (classes.len() > 1, "differs")];
        let traits: Vec<&str> = traits
            .into_iter()
            .filter_map(|(has, name)| has.then_some(name))
            .collect();
        Self {
            id: rule.id,
            name,
            title: &rule.facts.title,
            level: applies.level,
            basis: applies.basis,
            cells,
            traits: traits.join(" "),
        }
    }
}
