//! Counts verdicts by level.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{rules::Level, verdict::Verdict};

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
}

impl Tally {
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

impl FromIterator<(Level, Verdict)> for Tally {
    fn from_iter<T: IntoIterator<Item = (Level, Verdict)>>(verdicts: T) -> Self {
        let mut tally = Self::default();
        for (level, verdict) in verdicts {
            tally.level_mut(level).add(verdict);
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
