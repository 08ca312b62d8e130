//! The verdict on one rule.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
