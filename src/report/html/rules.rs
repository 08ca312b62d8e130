//! The rules: a matrix of verdicts, and each rule in full.

use judge::{
    RuleVerdict, Verdict,
    rules::{Basis, Level},
};

use super::{
    entries::Places,
    findings::{FindingView, findings},
    objects::Objects,
    sign::{self, Sign},
    text::shown,
};
use crate::{
    Report,
    said::sources::{Cited, cited},
    story::Stories,
    text::number::{count, thousands},
};

/// How many of a rule's notes are shown.
const NOTES: usize = 10;

/// All rules of the edition.
pub(super) struct Rules<'a> {
    pub(super) suites: Vec<Suite<'a>>,
    /// The worst first.
    pub(super) rules: Vec<RuleView<'a>>,
}

/// A row of the matrix.
pub(super) struct Suite<'a> {
    pub(super) name: &'a str,
    /// The cells of each level.
    pub(super) levels: Vec<(Level, Vec<Cell<'a>>)>,
    /// How many of its rules were judged.
    pub(super) judged: String,
    /// How many findings there are.
    pub(super) findings: String,
}

/// A rule in the matrix.
pub(super) struct Cell<'a> {
    pub(super) id: &'a str,
    pub(super) sign: Sign,
    pub(super) title: String,
}

/// A rule in full.
pub(super) struct RuleView<'a> {
    pub(super) id: &'a str,
    /// Its place in the ledger, and among the worst.
    pub(super) place: usize,
    pub(super) rank: usize,
    pub(super) level: Level,
    pub(super) basis: Basis,
    pub(super) sign: Sign,
    pub(super) title: &'a str,
    pub(super) source: Vec<Cited<'a>>,
    pub(super) keywords: &'a [String],
    pub(super) reasoning: Option<&'a str>,
    pub(super) remedy: &'a str,
    /// What was counted, in few words.
    pub(super) extent: String,
    pub(super) reason: Option<String>,
    pub(super) notes: Vec<String>,
    pub(super) findings: Vec<FindingView>,
    pub(super) hidden: Option<String>,
    pub(super) is_open: bool,
}

impl<'a> Rules<'a> {
    /// Reads them off the judgement.
    pub(super) fn of(report: &Report<'a>, objects: &Objects, places: &Places) -> Self {
        let stories = Stories::of(report.evidence);
        let verdicts = &report.judgement.verdicts;
        let mut order: Vec<usize> = (0..verdicts.len()).collect();
        order.sort_by_key(|place| {
            let verdict = &verdicts[*place];
            (sign::rank(verdict.verdict), verdict.level(), *place)
        });
        let rules = order.iter().enumerate();
        Self {
            suites: verdicts
                .chunk_by(|one, other| one.rule.suite() == other.rule.suite())
                .map(Suite::of)
                .collect(),
            rules: rules
                .map(|(rank, place)| {
                    let verdict = &verdicts[*place];
                    let findings = findings(report, verdict, objects, &stories, places);
                    view(report, verdict, (*place, rank), findings)
                })
                .collect(),
        }
    }
}

impl<'a> Suite<'a> {
    fn of(verdicts: &'a [RuleVerdict]) -> Self {
        let of_level = |level| {
            let of_level = verdicts.iter().filter(move |v| v.level() == level);
            (level, of_level.map(Cell::of).collect())
        };
        let is_judged = |verdict: &&RuleVerdict| {
            !matches!(
                verdict.verdict,
                Verdict::Inconclusive | Verdict::NotApplicable | Verdict::Skipped
            )
        };
        let found = verdicts
            .iter()
            .map(|verdict| verdict.found() + verdict.waived.len())
            .sum();
        Self {
            name: verdicts.first().map_or("", |verdict| verdict.rule.suite()),
            levels: [Level::Must, Level::Should, Level::May].map(of_level).into(),
            judged: format!(
                "{} of {}",
                verdicts.iter().filter(is_judged).count(),
                verdicts.len()
            ),
            findings: thousands(found),
        }
    }
}

impl<'a> Cell<'a> {
    fn of(verdict: &'a RuleVerdict) -> Self {
        let sign = sign::of(verdict.verdict);
        Self {
            id: verdict.rule.id,
            sign,
            title: format!(
                "{} ({}): {}, {}",
                verdict.rule.id,
                verdict.applies.weight(),
                sign.word,
                extent(verdict)
            ),
        }
    }
}

fn extent(verdict: &RuleVerdict) -> String {
    let mut parts = Vec::new();
    if !verdict.findings.is_empty() {
        parts.push(count(verdict.found(), "finding"));
    }
    if !verdict.waived.is_empty() {
        parts.push(format!("{} waived", thousands(verdict.waived.len())));
    }
    parts.push(format!("{} examined", thousands(verdict.examined)));
    parts.join(", ")
}

fn view<'a>(
    report: &Report,
    verdict: &'a RuleVerdict,
    (place, rank): (usize, usize),
    (findings, hidden): (Vec<FindingView>, Option<String>),
) -> RuleView<'a> {
    let facts = &verdict.rule.facts;
    let mut notes: Vec<String> = verdict
        .notes
        .iter()
        .take(NOTES)
        .map(|note| shown(&report.told(note, Some(verdict.rule))))
        .collect();
    if verdict.notes.len() > NOTES {
        notes.push(format!(
            "… and {}",
            count(verdict.notes.len() - NOTES, "more note")
        ));
    }
    RuleView {
        id: verdict.rule.id,
        place,
        rank,
        level: verdict.level(),
        basis: verdict.basis(),
        sign: sign::of(verdict.verdict),
        title: &facts.title,
        source: cited(&verdict.applies.source, verdict.applies.edition),
        keywords: &facts.keywords,
        reasoning: verdict.applies.reasoning.as_deref(),
        remedy: &facts.remedy,
        extent: extent(verdict),
        reason: report.reason(verdict).as_deref().map(shown),
        notes,
        findings,
        hidden,
        is_open: verdict.verdict == Verdict::Fail,
    }
}
