//! The verdicts, how they are counted, and the decision.

use evidence::{
    Reason, ReasonId, Scope,
    api::{Edition, Role},
    named_enum,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    judging::waivers::WaiverOutcome,
    rules::{Applies, Basis, Finding, Level, Rule},
};

named_enum! {
    /// The verdict on one rule.
    pub enum Verdict {
        /// The rule was judged, and no object violates it.
        Pass = "pass",
        /// A violation of a MUST rule or, in strict runs, of a SHOULD rule.
        Fail = "fail",
        /// A violation that does not count, or a warning.
        Warn = "warn",
        /// All violations that count are waived.
        Waived = "waived",
        /// The evidence was requested but unavailable, or there was no profile to examine.
        Inconclusive = "inconclusive",
        /// The hub has nothing that the rule is about.
        NotApplicable = "not-applicable",
        /// The user deselected the rule, or did not request the evidence that it needs.
        Skipped = "skipped",
    }
}

impl Verdict {
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
    /// Waived.
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
    /// The MUST rules that were not judged, although they may apply: their evidence was not requested, the user left them
    /// out, or nothing happened that they judge. They are counted as skipped or not applicable, too.
    pub unjudged_must: usize,
}

/// The verdict on one rule, as [`Tally`] counts it.
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
    /// Whether the rule was not judged, although it may apply. A rule about a feature does not apply unless the feature is
    /// claimed.
    pub(super) fn is_unjudged(&self) -> bool {
        match self.verdict {
            Verdict::Skipped => self.reason != Some(ReasonId::FeatureNotClaimed),
            Verdict::NotApplicable => self.reason == Some(ReasonId::NothingHappened),
            _ => false,
        }
    }
}

impl Tally {
    /// Whether each MUST rule was judged or is known not to apply. Inconclusive rules count as judged.
    pub fn is_whole(&self) -> bool {
        self.unjudged_must == 0
    }

    /// Rules of all levels that passed, failed, warned, or were waived.
    pub fn judged(&self) -> usize {
        self.must.judged() + self.should.judged() + self.may.judged()
    }

    /// Rules of all levels that were waived.
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
    /// Rules that passed, failed, warned, or were waived.
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

named_enum! {
    /// The verdict on the implementation, from best to worst. Of several roles, the worst decision counts.
    pub enum Decision {
        /// No MUST rule fails, and each was judged or is known not to apply.
        Conformant = "conformant",
        /// No MUST rule fails or is inconclusive, but some were not judged: their evidence was not requested, or the user
        /// left them out.
        NoViolation = "no-violation",
        /// No rule fails, but a MUST rule is inconclusive or none was judged.
        Inconclusive = "inconclusive",
        /// A rule fails.
        NotConformant = "not-conformant",
    }
}

/// The parts of the hub's coverage on which the decision depends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// The run was cut short.
    pub partial: bool,
    /// The run observed only some namespaces. Violations may be in others.
    pub confined: bool,
}

impl Extent {
    /// The extent of a run. A consumer's run publishes the profiles itself, in all namespaces that the consumer reads.
    pub fn of(role: Role, partial: bool, some_namespaces: bool) -> Self {
        Self {
            partial,
            confined: some_namespaces && role != Role::Consumer,
        }
    }
}

/// The decision. A run is not conformant if it was cut short, judged nothing, left out MUST rules, or observed only a part of
/// the fleet. MAY rules cannot fail; SHOULD rules fail in strict runs only.
pub(crate) fn decide(tally: &Tally, extent: Extent) -> Decision {
    let count = if tally.is_whole() {
        tally.must.judged()
    } else {
        tally.judged()
    };
    if tally.must.failed + tally.should.failed > 0 {
        Decision::NotConformant
    } else if extent.partial || tally.must.inconclusive > 0 || count == 0 {
        Decision::Inconclusive
    } else if tally.is_whole() && !extent.confined {
        Decision::Conformant
    } else {
        Decision::NoViolation
    }
}

/// The verdict on one rule, with its basis.
#[derive(Clone, Debug)]
pub struct RuleVerdict {
    /// The rule.
    pub rule: &'static Rule,
    /// Its level and basis in the edition that it was judged by.
    pub applies: &'static Applies,
    /// The verdict.
    pub verdict: Verdict,
    /// How many things were examined.
    pub examined: usize,
    /// Why it did not pass, fail, or warn. For a waived rule, the reasons of its waivers.
    pub reasons: Vec<Reason>,
    /// The violations and warnings that are not waived.
    pub findings: Vec<Finding>,
    /// The waived violations, each with the index of its waiver in [`Judgement::waivers`].
    pub waived: Vec<(Finding, usize)>,
    /// Why the evidence is insufficient. The rule does not pass then, even if all its violations are waived.
    pub doubts: Vec<Reason>,
    /// Remarks, for example which evidence was used.
    pub notes: Vec<Reason>,
    /// Whether it was examined, and finds the same in each edition.
    pub is_of_any_edition: bool,
}

/// The decision by one edition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EditionOutcome {
    /// The edition.
    pub edition: Edition,
    /// The decision.
    pub decision: Decision,
    /// The number of verdicts of each kind on its rules.
    pub tally: Tally,
}

/// All verdicts, and the decision.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The edition whose rules were judged.
    pub edition: Edition,
    /// The edition of a second API whose rules were judged too.
    pub also: Option<Edition>,
    /// The decision: the worst of those by each edition.
    pub decision: Decision,
    /// Whether the run was cut short. The decision is not `Conformant` then.
    pub partial: bool,
    /// Which profiles were judged.
    pub scope: Scope,
    /// The number of verdicts of each kind.
    pub tally: Tally,
    /// A verdict for every rule of the edition, in the ledger's order.
    pub verdicts: Vec<RuleVerdict>,
    /// The outcome of each waiver, in their order; empty if none were given.
    pub waivers: Vec<WaiverOutcome>,
}

impl Judgement {
    /// What is wrong with the waivers: expired, or unused.
    pub fn complaints(&self) -> impl Iterator<Item = String> {
        self.waivers.iter().filter_map(WaiverOutcome::complaint)
    }

    /// The kinds that were judged: `ClusterProfile`, `PlacementDecision`, or both.
    pub fn subject(&self) -> String {
        let kinds = self.roles().map(|role| role.objects().name());
        kinds.collect::<Vec<_>>().join(" and ")
    }

    /// The roles that were judged.
    pub fn roles(&self) -> impl Iterator<Item = Role> {
        [self.edition].into_iter().chain(self.also).map(Edition::role)
    }

    /// The editions in words: `standard and placement-2025-09`.
    pub fn editions(&self) -> String {
        match self.also {
            None => self.edition.to_string(),
            Some(also) => format!("{} and {also}", self.edition),
        }
    }

    /// The decision by each edition, in their order, without the effect of expired and unused waivers.
    pub fn parts(&self) -> Vec<EditionOutcome> {
        let editions = [self.edition].into_iter().chain(self.also);
        let part = |edition| {
            let verdicts = self.verdicts.iter();
            let of_edition = verdicts.filter(|verdict| verdict.applies.edition == edition);
            let tally = of_edition.map(RuleVerdict::outcome).collect();
            EditionOutcome {
                edition,
                decision: decide(&tally, self.extent()),
                tally,
            }
        };
        editions.map(part).collect()
    }

    /// How much of the hub was observed.
    pub fn extent(&self) -> Extent {
        let some_namespaces = !self.scope.namespaces.is_empty();
        Extent::of(self.edition.role(), self.partial, some_namespaces)
    }

    /// Whether each MUST rule was judged on the whole hub, or is known not to apply.
    pub fn is_whole(&self) -> bool {
        self.tally.is_whole() && self.extent() == Extent::default()
    }

    /// The worst decision by an edition, without the effect of expired and unused waivers.
    pub fn worst(&self) -> Decision {
        let decisions = self.parts().into_iter().map(|part| part.decision);
        decisions.max().unwrap_or(Decision::Inconclusive)
    }

    /// How many of the edition's rules no evidence can decide yet.
    pub fn unjudged(&self) -> usize {
        let facts = self.verdicts.iter().map(|verdict| &verdict.rule.facts);
        facts.filter(|facts| facts.unjudged.is_some()).count()
    }
}

impl RuleVerdict {
    /// The rule's level in the edition that it was judged by.
    pub fn level(&self) -> Level {
        self.applies.level
    }

    /// Whether the edition's documents state the rule, or it follows from them.
    pub fn basis(&self) -> Basis {
        self.applies.basis
    }

    /// How many violations and warnings are not waived.
    pub fn found(&self) -> usize {
        self.findings.len()
    }

    /// Why it did not pass, fail, or warn, in one sentence; none if it did.
    pub fn reason(&self) -> Option<String> {
        let words: Vec<&str> = self.reasons.iter().map(|reason| &**reason).collect();
        (!words.is_empty()).then(|| words.join("; "))
    }

    /// The id of the first reason why it did not pass, fail, or warn; none if it did.
    pub fn reason_id(&self) -> Option<ReasonId> {
        let first = self.reasons.first()?;
        first.id.or(match self.verdict {
            Verdict::Skipped => Some(ReasonId::NotRequested),
            Verdict::NotApplicable => Some(ReasonId::NotApplicable),
            Verdict::Inconclusive => Some(ReasonId::Unknown),
            Verdict::Waived => Some(ReasonId::Waived),
            Verdict::Pass | Verdict::Fail | Verdict::Warn => None,
        })
    }

    /// Whether the user did not select the rule.
    pub fn is_deselected(&self) -> bool {
        self.verdict == Verdict::Skipped && self.reason_id() == Some(ReasonId::Deselected)
    }

    /// Whether it was not judged, although it may apply.
    pub fn is_unjudged(&self) -> bool {
        self.outcome().is_unjudged()
    }

    /// The verdict as [`Tally`] counts it.
    pub fn outcome(&self) -> Outcome {
        Outcome {
            level: self.level(),
            verdict: self.verdict,
            reason: self.reason_id(),
        }
    }
}
