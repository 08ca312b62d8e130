//! Evaluates a function once, for rules on the hub itself or on what no other evaluator has.

use evidence::{Claim, Reason};

use super::{Answer, Evaluate, Hub};
use crate::subjects::Findings;

/// A rule on the hub as a whole. Each use says why no other evaluator fits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Once {
    check: fn(&Hub) -> Vec<Answer>,
    /// Why the rule is skipped, if the user claims nothing that it could judge.
    not_claimed: fn(&Claim) -> Option<Reason>,
}

/// A rule on the hub as a whole; one answer for each thing that was examined. Findings name their object.
pub(crate) fn once(check: fn(&Hub) -> Vec<Answer>) -> Once {
    Once {
        check,
        not_claimed: |_| None,
    }
}

impl Once {
    /// Skipped for the reason that this gives.
    pub(crate) fn unless(self, not_claimed: fn(&Claim) -> Option<Reason>) -> Self {
        Self { not_claimed, ..self }
    }
}

impl Evaluate for Once {
    fn not_claimed(&self, claim: &Claim) -> Option<Reason> {
        (self.not_claimed)(claim)
    }

    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        for answer in (self.check)(hub) {
            findings.count(answer);
        }
    }
}
