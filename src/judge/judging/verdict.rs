//! What a verdict and the decision are, and how verdicts are counted.

use evidence::{ReasonId, api::Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::Level;

/// The verdict on one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Examined, and kept everywhere.
    Pass,
    /// Broken, and it counts: a MUST, or a SHOULD under `--strict`.
    Fail,
    /// Broken or in doubt, and it does not count.
    Warn,
    /// Broken, and every violation that counts is waived.
    Waived,
    /// The evidence was requested but unavailable, or there was no profile to examine.
    Inconclusive,
    /// The rule applies to nothing on the hub.
    NotApplicable,
    /// The user deselected the rule or did not request the evidence that it needs, or the rule cannot be judged yet.
    Skipped,
}

impl Verdict {
    /// All of them, in the order in which reports explain them.
    pub const ALL: [Verdict; 7] = [
        Verdict::Pass,
        Verdict::Fail,
        Verdict::Warn,
        Verdict::Waived,
        Verdict::Inconclusive,
        Verdict::NotApplicable,
        Verdict::Skipped,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::Warn => "warn",
            Verdict::Waived => "waived",
            Verdict::Inconclusive => "inconclusive",
            Verdict::NotApplicable => "not-applicable",
            Verdict::Skipped => "skipped",
        }
    }

    /// The name in sentences.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::NotApplicable => "not applicable",
            other => other.name(),
        }
    }
}

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

/// The verdict on the implementation, from the best to the worst: several roles are as good as the worst of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// No MUST rule fails, and each was judged or does not apply, as the evidence shows.
    Conformant,
    /// No MUST rule fails and none is inconclusive, but some were not judged: no evidence was asked for, or the user left
    /// them out.
    NoViolation,
    /// No rule fails, but a MUST rule is inconclusive or none was judged.
    Inconclusive,
    /// A rule fails.
    NotConformant,
}

impl Decision {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Decision::Conformant => "conformant",
            Decision::NoViolation => "no-violation",
            Decision::Inconclusive => "inconclusive",
            Decision::NotConformant => "not-conformant",
        }
    }
}

/// What of the hub a run has seen, as far as its decision depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// It was cut short.
    pub partial: bool,
    /// It looked at some namespaces only. What breaks a rule may be in others.
    pub confined: bool,
}

impl Extent {
    /// What a run of that role has seen, which was cut short or not, and looked at some namespaces only or not.
    ///
    /// A consumer's run publishes the profiles itself, in the namespaces that the consumer reads: there are no others to look at.
    pub fn of(role: Role, partial: bool, some_namespaces: bool) -> Self {
        Self {
            partial,
            confined: some_namespaces && role != Role::Consumer,
        }
    }
}

/// Decides: failures first, then doubts. A run that judged nothing or was cut short is never conformant, nor is one that
/// left out MUST rules or saw a part of the fleet. MAY rules cannot fail, SHOULD rules only in strict runs.
pub(crate) fn decide(tally: &Tally, extent: Extent) -> Decision {
    let judged = if tally.is_whole() {
        tally.must.judged()
    } else {
        tally.judged()
    };
    if tally.must.failed + tally.should.failed > 0 {
        Decision::NotConformant
    } else if extent.partial || tally.must.inconclusive > 0 || judged == 0 {
        Decision::Inconclusive
    } else if tally.is_whole() && !extent.confined {
        Decision::Conformant
    } else {
        Decision::NoViolation
    }
}
