//! How a rule's functions are called.

use std::fmt;

use evidence::{Claim, Evidence, Reason};

use super::Hub;
use crate::subjects::Findings;

/// A function of a rule, with what it is called on.
pub(crate) trait Evaluate: fmt::Debug + Send + Sync {
    /// Judges all that was observed.
    fn evaluate(&self, hub: &Hub, findings: &mut Findings);

    /// Why the rule is skipped, if the user claims nothing that it could judge.
    fn not_claimed(&self, _claim: &Claim) -> Option<Reason> {
        None
    }

    /// Whether it says what interruptions of a watch hide.
    fn judges_around_gaps(&self) -> bool {
        true
    }

    /// Whether it judges published objects, rather than what an implementation does.
    fn judges_published_objects(&self) -> bool {
        false
    }
}

/// A function on all evidence that handles time and authors by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fleet(pub(crate) fn(&Evidence, &mut Findings));

impl Evaluate for Fleet {
    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        self.0(hub.evidence, findings);
    }

    fn judges_around_gaps(&self) -> bool {
        false
    }
}
