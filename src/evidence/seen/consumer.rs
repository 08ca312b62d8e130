//! A consumer: what its author says of it, and what it makes and logs. No text itself is kept.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    api::{PlacementDecision, names::LABEL_DECISION_KEY},
    named::named_enum,
};

/// What a consumer's author says of it. What is not said is not judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ConsumerSpec {
    /// The user, as the hub names it. No other program uses it, unless the claim names the consumer's programs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user: String,
    /// The namespaces whose profiles it reads; empty for all.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub namespaces: BTreeSet<String>,
    /// The labels by which it selects profiles there; empty for all.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// By what it knows on which profiles to act; empty for profiles alone.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub reads: BTreeSet<Reads>,
    /// The `decision-key` of the one decision that it reads; none for all in its namespaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// The access providers that it has a plugin for.
    pub providers: BTreeSet<String>,
    /// The version of the plugin's protocol in its own file: the `apiVersion` there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exec_api_version: Option<String>,
    /// The fallback, if it reaches members in another way where a profile has no provider of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// Whether it hands a profile's additional arguments to the plugin.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub profile_args: bool,
    /// Whether it hands a profile's additional variables to the plugin.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub profile_envs: bool,
    /// Whether each piece of its work is a process of its own, which keeps no connection.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub one_shot: bool,
    /// Whether it only writes outputs, which another program uses: it calls no member and runs no plugin.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub outputs_only: bool,
    /// Whether what it does to one member twice would conflict, so that it acts on one profile of each member alone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub actions_conflict: bool,
    /// Whether it leaves members alone that are not healthy.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub gates_on_health: bool,
    /// Whether it rolls out: it acts on some members of a decision first, and on the others when it is done there.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rolls_out: bool,
    /// How the run reads what it makes.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub outputs: BTreeSet<OutputReader>,
}

/// By what a consumer knows on which profiles to act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Reads {
    /// By the profiles: it acts on each that it selects.
    Profiles,
    /// By PlacementDecisions: it acts on each profile that one of them names.
    Placements,
}

impl ConsumerSpec {
    /// Whether it reads PlacementDecisions.
    pub fn reads_placements(&self) -> bool {
        self.reads.contains(&Reads::Placements)
    }

    /// Whether it acts on the profiles that a PlacementDecision names, and on no other.
    pub fn acts_on_placements_alone(&self) -> bool {
        self.reads_placements() && !self.reads.contains(&Reads::Profiles)
    }

    /// Whether it reads a slice: one of its namespaces and, if it reads one decision alone, of that.
    pub fn reads_slice(&self, slice: &PlacementDecision) -> bool {
        let is_near = self.namespaces.is_empty() || self.namespaces.contains(&*slice.metadata.namespace);
        let key = slice.label(LABEL_DECISION_KEY);
        is_near && self.decision.as_deref().is_none_or(|name| key == Some(name))
    }
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

/// What the consumer had created at one moment that mentions the testbed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputSnapshot {
    /// When it was read, by the runner's clock.
    pub at: Timestamp,
    /// The outputs.
    pub outputs: Vec<Output>,
}

/// One output. Only what it says of the testbed's members is kept, and never a credential.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// How it was read.
    pub reader: OutputReader,
    /// The object, as `Kind namespace/name`; or the file or page, and the place in it.
    pub object: String,
    /// The URLs of the testbed's members that it names.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub servers: BTreeSet<String>,
    /// The testbed's members that it names: each has the name of its profile.
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<Mention>,
}

/// A text that names a published profile, or contains a credential of a testbed's member.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Mention {
    /// Where it is.
    #[serde(rename = "location")]
    pub place: MentionLocation,
    /// The names of published profiles in it.
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
    /// Another object, not a Secret.
    Object {
        /// Its kind.
        kind: String,
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}
