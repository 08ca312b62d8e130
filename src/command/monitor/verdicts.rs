//! From evidence as of now to a judgement. The one place that chooses how to judge.

use evidence::Evidence;
use jiff::Timestamp;
use judge::{Judgement, Selection, Waivers, judge};

/// Judges, by these rules and with these waivers.
#[derive(Clone, Debug)]
pub struct Verdicts {
    selection: Selection,
    waivers: Option<Waivers>,
}

impl Verdicts {
    /// Judges the selected rules.
    pub fn new(selection: Selection, waivers: Option<Waivers>) -> Self {
        Self { selection, waivers }
    }

    /// The selected rules.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Judges all of the evidence: each rule takes microseconds for a profile.
    pub fn judge(&self, evidence: &Evidence, at: Timestamp) -> Judgement {
        let mut judgement = judge(evidence, &self.selection);
        if let Some(waivers) = &self.waivers {
            judgement.waive(waivers, Waivers::day(at), evidence.header.claim.strict);
        }
        judgement
    }
}
