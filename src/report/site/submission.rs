//! A submitted report, checked, with the pages that its evidence gives.

use std::{collections::BTreeMap, io};

use evidence::api::Edition;
use judge::{Verdict, rules};

use crate::{
    Report, html,
    submitted::{Check, Document, Entry, Fitness},
};

/// A submitted report.
#[derive(Debug)]
pub struct Submission {
    /// The folder that it was found in, below that of all reports, with `/` between its parts.
    pub folder: String,
    /// The report.
    pub document: Document,
    /// What came of checking it.
    pub check: Check,
    /// What came of verifying the signature beside it, if there is one and keys were given.
    pub signature: Option<Signature>,
    /// If nobody submitted it: the edition of the report whose evidence it judges by its own edition.
    pub submitted_for: Option<Edition>,
    /// Each of its runs that was judged again.
    pub runs: Vec<RunPage>,
}

/// What came of verifying a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signature {
    /// It holds by the keys of these.
    Holds(String),
    /// It does not, for that reason.
    Refused(String),
}

/// A run that was judged again from its evidence.
#[derive(Debug)]
pub struct RunPage {
    /// The HTML report.
    pub(super) html: Vec<u8>,
    verdicts: BTreeMap<&'static str, Verdict>,
}

/// What a report says of one rule.
#[derive(Clone, Debug)]
pub(super) enum Told {
    /// This.
    Entry(Entry),
    /// Nothing that can be relied on: it contradicts itself and does not list the rule.
    Nothing,
}

impl Told {
    /// The verdict, where it can be relied on that the report gives it.
    pub(super) fn verdict(&self) -> Option<Verdict> {
        match self {
            Told::Entry(entry) => Some(entry.verdict),
            Told::Nothing => None,
        }
    }
}

impl RunPage {
    /// Keeps what the board shows of it.
    ///
    /// # Errors
    /// When the page cannot be made.
    pub fn of(report: &Report) -> io::Result<Self> {
        let mut page = Vec::new();
        html::write(report, &mut page)?;
        let verdicts = report.judgement.verdicts.iter();
        Ok(Self {
            html: page,
            verdicts: verdicts.map(|one| (one.rule.id, one.verdict)).collect(),
        })
    }
}

impl Submission {
    /// Whether somebody submitted it.
    pub(super) fn is_submitted(&self) -> bool {
        self.submitted_for.is_none()
    }

    /// What it is worth.
    pub(super) fn fitness(&self) -> Fitness {
        self.check.fitness()
    }

    /// Who vouches for it, in words; none where nobody does.
    pub fn vouched_for(&self) -> Option<String> {
        match &self.signature {
            Some(Signature::Holds(by)) => Some(format!("vouched for by {by}")),
            Some(Signature::Refused(_)) | None => None,
        }
    }

    /// Why the signature beside it does not count, in words.
    pub(super) fn refused(&self) -> Option<String> {
        match &self.signature {
            Some(Signature::Refused(reason)) => Some(format!("the signature does not count: {reason}")),
            Some(Signature::Holds(_)) | None => None,
        }
    }

    /// What it says of each rule that it has.
    pub(super) fn told(&self) -> BTreeMap<&'static str, Told> {
        let entries = self.document.entries();
        let is_whole = entries.is_ok();
        let entries = entries.unwrap_or_else(|_| self.listed().cloned().collect());
        let mut told: BTreeMap<String, Entry> = BTreeMap::new();
        for entry in entries {
            // Of a rule that is told of twice, the gravest counts.
            told.entry(entry.rule.clone())
                .and_modify(|kept| {
                    if html::sign::rank(entry.verdict) < html::sign::rank(kept.verdict) {
                        *kept = entry.clone();
                    }
                })
                .or_insert(entry);
        }
        self.document
            .rules()
            .filter_map(|(rule, _)| match told.remove(rule.id) {
                Some(entry) => Some((rule.id, Told::Entry(entry))),
                None if is_whole => None,
                None => Some((rule.id, Told::Nothing)),
            })
            .collect()
    }

    /// Rules that it lists and cannot have.
    pub(super) fn unknown(&self) -> Vec<&Entry> {
        let is_known = |id: &str| rules::find(id).is_some_and(|rule| self.document.has(&rule.facts));
        self.listed().filter(|entry| !is_known(&entry.rule)).collect()
    }

    /// The verdict that its evidence gives, where it is of a single run.
    pub(super) fn judged(&self, rule: &str) -> Option<Verdict> {
        match &*self.runs {
            [run] => run.verdicts.get(rule).copied(),
            _ => None,
        }
    }

    fn listed(&self) -> impl Iterator<Item = &Entry> {
        self.document.suites.iter().flat_map(|suite| suite.entries())
    }
}
