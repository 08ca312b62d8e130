//! The page of an implementation: its reports, and how its versions came out.

use askama::Template;
use evidence::api::Edition;
use jiff::civil::Date;

use super::{
    board::{Implementation, Version},
    edition::Standings,
    frame::Frame,
    matrix::Matrix,
    signs,
};
use crate::{
    html::sign::{self, Sign},
    submitted::{Fitness, RuleChange, diff},
};

/// The page.
#[derive(Template)]
#[template(path = "site/implementation.html")]
pub(super) struct ImplementationPage<'a> {
    frame: Frame<'a>,
    name: &'a str,
    organization: &'a str,
    /// The newest first.
    reports: Vec<Standings>,
    editions: Vec<History>,
    legend: Vec<Sign>,
}

/// The versions by one edition.
struct History {
    matrix: Matrix,
    /// What changed from each version to the next, the newest first.
    steps: Vec<Step>,
}

/// From one version to the next.
struct Step {
    from: String,
    to: String,
    /// What got worse comes first.
    changes: Vec<Changed>,
    /// Why there is nothing to compare.
    hindrance: Option<&'static str>,
}

/// A rule that came out otherwise.
struct Changed {
    word: &'static str,
    rule: String,
    old: Sign,
    new: Sign,
    href: String,
}

impl<'a> ImplementationPage<'a> {
    pub(super) fn new(implementation: &'a Implementation, today: Option<Date>, frame: Frame<'a>) -> Self {
        let editions = Edition::ALL.into_iter().filter_map(|edition| {
            let versions: Vec<&Version> = implementation.of_edition(edition).collect();
            (!versions.is_empty()).then(|| History::of(edition, &versions))
        });
        Self {
            frame,
            name: &implementation.name,
            organization: &implementation.organization,
            reports: implementation
                .versions
                .iter()
                .rev()
                .map(|version| Standings::of(version, today))
                .collect(),
            editions: editions.collect(),
            legend: signs::legend(),
        }
    }
}

impl History {
    fn of(edition: Edition, versions: &[&Version]) -> Self {
        Self {
            matrix: Matrix::of(edition, versions, |_| String::new()),
            steps: versions
                .windows(2)
                .rev()
                .map(|pair| Step::of(pair[0], pair[1]))
                .collect(),
        }
    }
}

impl Step {
    fn of(old: &Version, new: &Version) -> Self {
        let is_proven = |version: &Version| version.submission.fitness() == Fitness::Holds;
        let hindrance = match (is_proven(old), is_proven(new)) {
            (true, true) => None,
            (false, true) => Some("not compared: the earlier report is not verified"),
            (true, false) => Some("not compared: the later report is not verified"),
            (false, false) => Some("not compared: neither report is verified"),
        };
        let mut changes = if hindrance.is_none() {
            diff(&old.submission.document, &new.submission.document)
                .map_or_else(|_| Vec::new(), |diff| diff.rules)
        } else {
            Vec::new()
        };
        changes.sort_by_key(|change| (!change.worse, !change.is_better()));
        Self {
            from: old.version.clone(),
            to: new.version.clone(),
            changes: changes
                .iter()
                .filter_map(|change| Changed::of(change, new))
                .collect(),
            hindrance,
        }
    }
}

impl Changed {
    /// None where the verdict is the same.
    fn of(change: &RuleChange, version: &Version) -> Option<Self> {
        let (old, new) = change.old.zip(change.new)?;
        let rule = &change.rule;
        (old != new).then(|| Self {
            word: if change.worse {
                "worse"
            } else if change.is_better() {
                "better"
            } else {
                "changed"
            },
            rule: rule.clone(),
            old: sign::of(old),
            new: sign::of(new),
            href: version.findings(rule),
        })
    }
}
