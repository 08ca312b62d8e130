//! What a consumer says where others read it: in events and in its log. The text itself is never kept.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was found of the run in events, in the log of the consumer, and in objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Mentions {
    /// Whether the consumer's log was read, too: its author says where it is.
    pub log: bool,
    /// What was found, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "items")]
    pub found: Vec<Mention>,
}

/// A text in which a staged profile is named, or a credential of a testbed's member stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Mention {
    /// Where it is.
    #[serde(rename = "location")]
    pub place: MentionLocation,
    /// The names of staged profiles in it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    #[serde(rename = "profiles")]
    pub names: BTreeSet<String>,
    /// The members whose credentials are in it. The credentials themselves are never kept.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub credentials: BTreeSet<String>,
}

/// Where a text is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MentionLocation {
    /// A line of the consumer's log.
    #[serde(rename = "logLine")]
    Line {
        /// Its number, from 1, in all that was read of the log.
        number: u64,
    },
    /// An Event.
    Event {
        /// Its namespace.
        namespace: String,
        /// Its reason.
        reason: String,
        /// Whether its type is `Warning`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        warning: bool,
    },
    /// Another object that is no Secret.
    Object {
        /// Its kind.
        kind: String,
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}
