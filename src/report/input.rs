//! The input of every format: the evidence and its judgement, and how much they cover.

use std::collections::BTreeMap;

use evidence::{Evidence, Kind, Reason, ReasonId, Requested, Window};
use jiff::Timestamp;
use judge::{Judgement, RuleVerdict, Selection, rules::Rule};

use crate::summary::EditionDecision;

/// The input of every format.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The evidence.
    pub evidence: &'a Evidence,
    /// The judgement of it.
    pub judgement: &'a Judgement,
    /// The rules that the user selected.
    pub selection: &'a Selection,
    /// When it was judged.
    pub judged_at: Timestamp,
    /// The file that holds the evidence, if any: the file that was read or recorded.
    pub file: Option<&'a str>,
    /// Whether the file is all of the evidence, with the claim and the scope by which it was judged. The edition may be
    /// another.
    pub is_whole_file: bool,
    /// The decision by every edition of the role ([`by_edition`](crate::by_edition)); empty if it is not known.
    pub editions: &'a [EditionDecision],
    /// What a reader can do about a reason.
    pub advice: Advice,
}

impl<'a> Report<'a> {
    /// A report on evidence that is in no file, by one edition, without advice.
    pub fn new(
        evidence: &'a Evidence,
        judgement: &'a Judgement,
        selection: &'a Selection,
        judged_at: Timestamp,
    ) -> Self {
        Self {
            evidence,
            judgement,
            selection,
            judged_at,
            file: None,
            is_whole_file: false,
            editions: &[],
            advice: |_, _| String::new(),
        }
    }
}

/// What a reader can do about a reason of that sort, to be added to its words: it begins with a space or a colon. Empty
/// if there is nothing. The rule is the one that the reason keeps from a verdict, if it is about one.
pub type Advice = fn(ReasonId, Option<&Rule>) -> String;

impl Report<'_> {
    /// A reason with the advice about it.
    pub fn with_advice(&self, reason: &Reason, rule: Option<&Rule>) -> String {
        let advice = reason.id.map(|id| (self.advice)(id, rule));
        format!("{reason}{}", advice.unwrap_or_default())
    }

    /// Why a rule has no verdict, with the advice about it; `None` if it has one.
    pub fn reason(&self, verdict: &RuleVerdict) -> Option<String> {
        let reasons = verdict.reasons.iter();
        let reasons: Vec<String> = reasons
            .map(|reason| self.with_advice(reason, Some(verdict.rule)))
            .collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    /// Why the run was cut short, if it was.
    pub fn cut_short(&self) -> Option<&str> {
        self.evidence.header.cut_short.as_deref()
    }
}

/// The coverage of a judgement.
#[derive(Clone, Debug, PartialEq)]
pub struct Coverage {
    /// The number of profiles in scope that were seen, including deleted ones.
    pub profiles: usize,
    /// How long the run watched after the window, for example `70 s more for 3 profiles to settle`; `None` if it did not.
    pub settled: Option<String>,
    /// The window of the watch; `None` for a single snapshot.
    pub watched: Option<Window>,
    /// Kinds of evidence that the selected rules use but that were not requested, with the reason.
    pub not_asked: BTreeMap<Kind, Reason>,
}

impl Coverage {
    /// Derives it from the evidence and the selected rules.
    pub fn of(report: &Report) -> Self {
        let evidence = report.evidence;
        let header = &evidence.header;
        let verdicts = report.judgement.verdicts.iter();
        let facts = verdicts
            .filter(|verdict| !verdict.is_deselected())
            .map(|verdict| &verdict.rule.facts);
        let used = facts
            .flat_map(|facts| [&facts.needs, &facts.needs_one_of, &facts.helped_by])
            .flatten();
        let not_asked = used
            .filter_map(|kind| match evidence.requested(*kind) {
                Requested::Yes => None,
                Requested::No(reason) if reason.is_empty() => {
                    Some((*kind, Reason::new(ReasonId::NotRequested, "not asked for")))
                }
                Requested::No(reason) => Some((*kind, reason.clone())),
            })
            .collect();
        let settled = header.settled.zip(header.window);
        Self {
            profiles: evidence.histories().count(),
            settled: settled.and_then(|(settled, window)| settled.describe(window)),
            watched: header
                .window
                .filter(|_| *evidence.requested(Kind::Timeline) == Requested::Yes),
            not_asked,
        }
    }
}
