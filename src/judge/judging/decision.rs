//! The verdict on the implementation, from the verdicts on all rules.

use evidence::api::Role;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::judging::tally::Tally;

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
    /// All of them.
    pub const ALL: [Decision; 4] = [
        Decision::Conformant,
        Decision::NoViolation,
        Decision::Inconclusive,
        Decision::NotConformant,
    ];

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
