//! The input of every format: the evidence and its judgement.

use evidence::{Evidence, Reason, ReasonId};
use jiff::Timestamp;
use judge::{Judgement, RuleVerdict, Selection, rules::Rule};

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
    /// What a reader can do about a reason.
    pub advice: Advice,
}

/// What a reader can do about a reason of that sort, to be added to its words: it begins with a space or a colon. Empty
/// if there is nothing. The rule is the one that the reason keeps from a verdict, if it is about one.
pub type Advice = fn(ReasonId, Option<&Rule>) -> String;

/// No advice, for those who have no command line.
pub fn no_advice(_: ReasonId, _: Option<&Rule>) -> String {
    String::new()
}

impl Report<'_> {
    /// A reason with what can be done about it.
    pub fn told(&self, reason: &Reason, rule: Option<&Rule>) -> String {
        let advice = reason.id.map(|id| (self.advice)(id, rule));
        format!("{reason}{}", advice.unwrap_or_default())
    }

    /// Why a rule has no verdict, with what can be done about it; none if it has one.
    pub fn reason(&self, verdict: &RuleVerdict) -> Option<String> {
        let told = verdict
            .reasons
            .iter()
            .map(|reason| self.told(reason, Some(verdict.rule)));
        let told: Vec<String> = told.collect();
        (!told.is_empty()).then(|| told.join("; "))
    }
}
