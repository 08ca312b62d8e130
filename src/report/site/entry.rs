//! A submitted report on the board: its verdicts and findings by each edition.

use std::collections::BTreeMap;

use judge::{
    RuleVerdict, Verdict,
    rules::{self, Finding},
};

use crate::{
    Report,
    html::text::shown,
    said::failure::alike,
    submitted::{Document, Entry, Submission, SuiteResult},
};

/// How many kinds of findings the board shows for a rule.
const SHOWN_FINDINGS: usize = 5;

/// A submitted report and its verdicts.
#[derive(Debug)]
pub struct BoardEntry {
    /// The report.
    pub submission: Submission,
    /// Its verdicts by the edition of the report, then by other editions of the same role, from the same evidence.
    pub editions: Vec<EditionResult>,
}

/// The verdicts of one report by one edition.
#[derive(Debug)]
pub struct EditionResult {
    pub(super) document: Document,
    pub(super) rules: BTreeMap<&'static str, RuleResult>,
}

/// The verdict on one rule.
#[derive(Debug)]
pub(super) struct RuleResult {
    pub(super) verdict: Verdict,
    pub(super) reasons: Vec<String>,
    /// The first finding of each kind, and how many more objects have the same.
    pub(super) findings: Vec<(Finding, usize)>,
    /// How many findings are not in `findings`.
    pub(super) hidden: usize,
}

impl EditionResult {
    /// The verdicts and findings of evidence that was judged again.
    pub fn judged(document: Document, report: &Report) -> Self {
        let verdicts = report.judgement.verdicts.iter();
        Self {
            rules: verdicts
                .map(|verdict| (verdict.rule.id, RuleResult::judged(report, verdict)))
                .collect(),
            document,
        }
    }

    /// The verdicts that a report claims. There is no evidence to judge again.
    pub fn claimed(document: Document) -> Self {
        let entries = document.entries().unwrap_or_else(|_| {
            let listed = document.suites.iter().flat_map(SuiteResult::entries);
            listed.cloned().collect()
        });
        let rules = entries.iter().filter_map(|entry| {
            let rule = rules::find(&entry.rule)?;
            Some((rule.id, RuleResult::claimed(entry)))
        });
        Self {
            rules: rules.collect(),
            document,
        }
    }
}

impl RuleResult {
    fn judged(report: &Report, verdict: &RuleVerdict) -> Self {
        let waived = verdict.waived.iter().map(|(finding, _)| finding);
        let groups = alike(verdict.findings.iter().chain(waived));
        let hidden = groups.iter().skip(SHOWN_FINDINGS);
        let hidden: usize = hidden.map(|group| group.findings.len()).sum();
        let shown_groups = groups.iter().take(SHOWN_FINDINGS);
        let findings = shown_groups.map(|group| (group.first().clone(), group.findings.len() - 1));
        Self {
            verdict: verdict.verdict,
            reasons: Vec::from_iter(report.reason(verdict).map(|reason| shown(&reason))),
            findings: findings.collect(),
            hidden: hidden + verdict.unlisted.all(),
        }
    }

    fn claimed(entry: &Entry) -> Self {
        Self {
            verdict: entry.verdict,
            reasons: entry.reasons.iter().map(|reason| shown(reason)).collect(),
            findings: Vec::new(),
            hidden: entry.violations + entry.hints + entry.waived,
        }
    }
}
