//! A consumer besides its calls: hooks that the run called, what it makes of profiles (objects on the hub, files, a page),
//! and what it says in events and in its log. The text itself is never kept.

use std::collections::BTreeSet;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{DriverAction, named::named_enum};

/// One call of a hook that concerns the whole consumer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookCall {
    /// What it has the consumer do.
    pub action: DriverAction,
    /// When the run called it, by the runner's clock.
    pub from: Timestamp,
    /// When it returned.
    pub until: Timestamp,
    /// Why it failed; none if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The end of the hook's output, without credentials.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}

named_enum! {
    /// How the run reads what a consumer makes.
    pub enum OutputReader {
        /// Cluster Secrets of Argo CD.
        Argocd = "argocd",
        /// `MultiKueueCluster` objects of Kueue.
        Multikueue = "multikueue",
        /// A kubeconfig file.
        Kubeconfig = "kubeconfig",
        /// A page of JSON.
        Http = "http",
    }
}

/// All that the consumer had made at one moment, as far as it speaks of the testbed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputSnapshot {
    /// When it was read, by the runner's clock.
    pub at: Timestamp,
    /// The outputs.
    pub outputs: Vec<Output>,
}

/// One output. Only what it says of staged members is kept, and never a credential.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// How it was read.
    pub reader: OutputReader,
    /// The object, as `Kind namespace/name`; or the file or page, and the place in it.
    pub object: String,
    /// The URLs of staged members that it names.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub servers: BTreeSet<String>,
    /// The staged members that it names: each has the name of its profile.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub members: BTreeSet<String>,
}

/// What was found of the run in events, in the log of the consumer, and in objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Mentions {
    /// Whether the consumer's log was read, too: its author says where it is.
    pub log: bool,
    /// What was found, each once.
    #[serde(rename = "items", skip_serializing_if = "Vec::is_empty")]
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
    #[serde(rename = "profiles", default, skip_serializing_if = "BTreeSet::is_empty")]
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
