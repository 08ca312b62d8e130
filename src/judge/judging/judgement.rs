//! All verdicts on one body of evidence, and the decision.

use evidence::{
    Reason, ReasonId, Scope,
    api::{Edition, Role},
};

use crate::{
    judging::{
        verdict::{Decision, Extent, Outcome, Tally, Verdict, decide},
        waivers::WaiverOutcome,
    },
    rules::{Applies, Basis, Finding, Level, Rule},
};

/// The verdict on one rule, with its basis.
#[derive(Clone, Debug)]
pub struct RuleVerdict {
    /// The rule.
    pub rule: &'static Rule,
    /// How it stands in the edition that it was judged by.
    pub applies: &'static Applies,
    /// The verdict.
    pub verdict: Verdict,
    /// How many things were examined.
    pub examined: usize,
    /// Why it did not pass, fail or warn. For a waived rule, the reasons of its waivers.
    pub reasons: Vec<Reason>,
    /// The violations and hints that are not waived.
    pub findings: Vec<Finding>,
    /// The waived violations, each with the index of its waiver in [`Judgement::waivers`].
    pub waived: Vec<(Finding, usize)>,
    /// Unavailable evidence, which keeps the rule from passing even if all its violations are waived.
    pub doubts: Vec<Reason>,
    /// Remarks, such as which evidence was used.
    pub notes: Vec<Reason>,
}

/// The decision by one edition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
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
    /// Whether the run was cut short. Then nothing is conformant.
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
    /// What is wrong with the waivers themselves.
    pub fn complaints(&self) -> impl Iterator<Item = String> {
        self.waivers.iter().filter_map(WaiverOutcome::complaint)
    }

    /// Names what was judged: `ClusterProfile`, `PlacementDecision` or both.
    pub fn subject(&self) -> String {
        let kinds = self.roles().map(|role| role.objects().name());
        kinds.collect::<Vec<_>>().join(" and ")
    }

    /// The roles that were judged.
    pub fn roles(&self) -> impl Iterator<Item = Role> {
        [self.edition].into_iter().chain(self.also).map(Edition::role)
    }

    /// Names the editions, such as `standard` or `standard and placement-2025-09`.
    pub fn editions(&self) -> String {
        match self.also {
            None => self.edition.to_string(),
            Some(also) => format!("{} and {also}", self.edition),
        }
    }

    /// The decision by each edition that was judged by, in their order. In a strict run a waiver that is in order for none
    /// spoils the decision on the whole alone.
    pub fn parts(&self) -> Vec<Part> {
        let editions = [self.edition].into_iter().chain(self.also);
        let part = |edition| {
            let own = self
                .verdicts
                .iter()
                .filter(|verdict| verdict.applies.edition == edition);
            let tally = own.map(RuleVerdict::outcome).collect();
            Part {
                edition,
                decision: decide(&tally, self.extent()),
                tally,
            }
        };
        editions.map(part).collect()
    }

    /// What of the hub was seen.
    pub fn extent(&self) -> Extent {
        Extent::of(
            self.edition.role(),
            self.partial,
            !self.scope.namespaces.is_empty(),
        )
    }

    /// Whether each MUST rule was judged on the whole hub, or does not apply, as the evidence shows; inconclusive ones aside.
    pub fn is_whole(&self) -> bool {
        self.tally.is_whole() && self.extent() == Extent::default()
    }

    /// The worst decision by an edition. Only waivers make the whole worse.
    pub fn worst(&self) -> Decision {
        let decisions = self.parts().into_iter().map(|part| part.decision);
        decisions.max().unwrap_or(Decision::Inconclusive)
    }

    /// How many of the edition's rules cannot be judged yet with any evidence.
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

    /// How many violations and hints are not waived.
    pub fn found(&self) -> usize {
        self.findings.len()
    }

    /// Why it did not pass, fail or warn, in one sentence; none if it did.
    pub fn reason(&self) -> Option<String> {
        let words: Vec<&str> = self.reasons.iter().map(|reason| &**reason).collect();
        (!words.is_empty()).then(|| words.join("; "))
    }

    /// The sort of the first reason why it did not pass, fail or warn; none if it did.
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

    /// Whether it was not judged, although nothing shows that it does not apply.
    pub fn is_unjudged(&self) -> bool {
        self.outcome().is_unjudged()
    }

    pub(crate) fn outcome(&self) -> Outcome {
        Outcome {
            level: self.level(),
            verdict: self.verdict,
            reason: self.reason_id(),
        }
    }
}
