//! Counts verdicts by level.

use evidence::ReasonId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{judging::verdict::Verdict, rules::Level};

/// How many rules of one level have each verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Count {
    /// Rules of the edition at that level.
    pub rules: usize,
    /// Passed.
    pub passed: usize,
    /// Failed.
    pub failed: usize,
    /// Warned.
    pub warned: usize,
    /// Broken and waived.
    pub waived: usize,
    /// Inconclusive.
    pub inconclusive: usize,
    /// Not applicable.
    pub not_applicable: usize,
    /// Skipped.
    pub skipped: usize,
}

/// How many rules have each verdict, by level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tally {
    /// The MUST rules.
    pub must: Count,
    /// The SHOULD rules.
    pub should: Count,
    /// The MAY rules.
    pub may: Count,
    /// The MUST rules that were not judged, although nothing shows that they do not apply: no evidence was asked for, the
    /// user left them out, or nothing happened that they judge. They are counted as skipped or not applicable too.
    pub unjudged_must: usize,
}

/// What [`Tally`] counts of one rule.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// The rule's level.
    pub level: Level,
    /// The verdict.
    pub verdict: Verdict,
    /// Why it was not judged, if so.
    pub reason: Option<ReasonId>,
}

impl Outcome {
    /// Whether the rule was not judged, although nothing shows that it does not apply. What an edition asks only of those
    /// who claim it does not apply without the claim.
    pub(super) fn is_unjudged(&self) -> bool {
        match self.verdict {
            Verdict::Skipped => self.reason != Some(ReasonId::FeatureNotClaimed),
            Verdict::NotApplicable => self.reason == Some(ReasonId::NothingHappened),
            _ => false,
        }
    }
}

impl Tally {
    /// Whether each MUST rule was judged or does not apply, as the evidence shows; inconclusive ones aside.
    pub fn is_whole(&self) -> bool {
        self.unjudged_must == 0
    }

    /// Rules of all levels that passed, failed, warned or were waived.
    pub fn judged(&self) -> usize {
        self.must.judged() + self.should.judged() + self.may.judged()
    }

    /// Rules of all levels that are broken and waived.
    pub fn waived(&self) -> usize {
        self.must.waived + self.should.waived + self.may.waived
    }

    /// The count of one level.
    pub fn level(&self, level: Level) -> &Count {
        match level {
            Level::Must => &self.must,
            Level::Should => &self.should,
            Level::May => &self.may,
        }
    }

    fn level_mut(&mut self, level: Level) -> &mut Count {
        match level {
            Level::Must => &mut self.must,
            Level::Should => &mut self.should,
            Level::May => &mut self.may,
        }
    }
}

impl FromIterator<Outcome> for Tally {
    fn from_iter<T: IntoIterator<Item = Outcome>>(outcomes: T) -> Self {
        let mut tally = Self::default();
        for outcome in outcomes {
            tally.level_mut(outcome.level).add(outcome.verdict);
            tally.unjudged_must += usize::from(outcome.level == Level::Must && outcome.is_unjudged());
        }
        tally
    }
}

impl Count {
    /// Rules that passed, failed, warned or were waived.
    pub fn judged(&self) -> usize {
        self.passed + self.failed + self.warned + self.waived
    }

    /// Counts one more verdict.
    pub fn add(&mut self, verdict: Verdict) {
        self.rules += 1;
        match verdict {
            Verdict::Pass => self.passed += 1,
            Verdict::Fail => self.failed += 1,
            Verdict::Warn => self.warned += 1,
            Verdict::Waived => self.waived += 1,
            Verdict::Inconclusive => self.inconclusive += 1,
            Verdict::NotApplicable => self.not_applicable += 1,
            Verdict::Skipped => self.skipped += 1,
        }
    }
}
