//! Dry-run writes and the hub's answers.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ObjectRef;

/// A dry-run change of `spec.clusterManager`, and the hub's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Probe {
    /// When the request was sent.
    #[schemars(with = "crate::json_schema::Time")]
    pub at: Timestamp,
    /// The profile in the request.
    pub object: ObjectRef,
    /// The method of the request.
    pub method: ProbeMethod,
    /// The answer.
    pub outcome: ProbeOutcome,
}

/// The method of a probe.
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
    /// The hub would accept the change.
    Accepted,
    /// The hub rejects the content of the change.
    Refused {
        /// HTTP status code.
        code: u16,
        /// Machine-readable reason, such as `Invalid`.
        reason: String,
        /// The hub's message.
        message: String,
        /// The fields that the hub names as causes.
        fields: Vec<String>,
    },
    /// The hub refuses for another reason, such as missing permissions or a conflict: this says nothing about the rule.
    Unanswered {
        /// HTTP status code; 0 without an answer.
        code: u16,
        /// The hub's message, or the reason for no answer.
        message: String,
    },
}
