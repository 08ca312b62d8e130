//! The verdict on the implementation, from the verdicts on all rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::judging::tally::Tally;

/// The verdict on the implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// No MUST rule fails, none is inconclusive, and at least one was judged.
    Conformant,
    /// The same for a part: the rules that the user selected, of which at least one was judged, or a share of the fleet.
    NoViolation,
    /// A rule fails.
    NotConformant,
    /// No rule fails, but a MUST rule is inconclusive or none was judged.
    Inconclusive,
}

impl Decision {
    /// All of them.
    pub const ALL: [Decision; 4] = [
        Decision::Conformant,
        Decision::NoViolation,
        Decision::NotConformant,
        Decision::Inconclusive,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Decision::Conformant => "conformant",
            Decision::NoViolation => "no-violation",
            Decision::NotConformant => "not-conformant",
            Decision::Inconclusive => "inconclusive",
        }
    }
}

/// Decides: failures first, then doubts. A run that judged nothing, was cut short or left out rules is never conformant.
/// Neither is a share of the fleet, which may be empty. MAY rules cannot fail, SHOULD rules only in strict runs.
pub(crate) fn decide(tally: &Tally, partial: bool) -> Decision {
    if tally.must.failed + tally.should.failed > 0 {
        Decision::NotConformant
    } else if partial || tally.must.inconclusive > 0 {
        Decision::Inconclusive
    } else if (tally.is_narrowed() || tally.is_of_share()) && tally.judged() + tally.empty_share > 0 {
        Decision::NoViolation
    } else if tally.is_narrowed() || tally.must.judged() == 0 {
        Decision::Inconclusive
    } else {
        Decision::Conformant
    }
}
