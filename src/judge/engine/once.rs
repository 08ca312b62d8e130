//! Evaluates a function once, for rules on the hub itself or on what no other evaluator has.

use super::{Answer, Evaluate, Hub};
use crate::subjects::Findings;

/// A rule on the hub as a whole. Each use says why no other evaluator fits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Once(fn(&Hub) -> Vec<Answer>);

/// A rule on the hub as a whole; one answer for each thing that was examined. Findings name their object.
pub(crate) fn once(check: fn(&Hub) -> Vec<Answer>) -> Once {
    Once(check)
}

impl Evaluate for Once {
    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        for answer in (self.0)(hub) {
            findings.count(answer);
        }
    }
}
