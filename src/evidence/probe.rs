//! Dry-run writes and the hub's answers.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ObjectRef;

/// A dry-run change of `spec.clusterManager`, and what the hub said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Probe {
    /// When it was sent.
    #[schemars(with = "crate::json_schema::Time")]
    pub at: Timestamp,
    /// The profile that it would have changed.
    pub object: ObjectRef,
    /// How it was sent.
    pub method: ProbeMethod,
    /// What came back.
    pub outcome: ProbeOutcome,
}

/// The request that a probe makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeMethod {
    /// `PATCH` with a merge patch.
    MergePatch,
    /// `PUT` of the whole object.
    Update,
}

/// The hub's answer to a probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "answer")]
pub enum ProbeOutcome {
    /// The hub would have made the change.
    Accepted,
    /// The hub refuses the change because of what it changes.
    Refused {
        /// HTTP status code.
        code: u16,
        /// Machine-readable reason, such as `Invalid`.
        reason: String,
        /// The hub's message.
        message: String,
        /// The fields that the hub names as the cause.
        fields: Vec<String>,
    },
    /// The hub refuses for another cause, such as missing rights or a conflict: this tells nothing of the rule.
    Unanswered {
        /// HTTP status code; 0 where there was no answer at all.
        code: u16,
        /// The hub's message, or why there was no answer.
        message: String,
    },
}
