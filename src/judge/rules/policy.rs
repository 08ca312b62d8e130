//! What a rule's file says for an admission policy: how one write shows that the rule is broken.

use evidence::api::Edition;
use serde::Deserialize;

/// The part of a rule that the API server can judge when an object is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyFacts {
    /// The resource whose writes it judges.
    pub of: Resource,
    /// The operations that it judges; none for all that the resource has.
    #[serde(default)]
    pub operations: Option<Vec<Operation>>,
    /// The editions that it judges by; none for all of the rule.
    #[serde(default)]
    pub editions: Option<Vec<Edition>>,
    /// What the rule finds and the policy cannot; none if the policy says the whole rule.
    #[serde(default)]
    pub lacks: Option<String>,
    /// CEL: a list of strings, each an observed fault. Empty if the object keeps the rule.
    pub wrong: String,
    /// What was expected.
    pub expected: Expected,
}

/// A resource whose writes a policy judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum Resource {
    /// Metadata and spec of profiles.
    #[serde(rename = "clusterprofiles")]
    Profiles,
    /// The status of profiles.
    #[serde(rename = "clusterprofiles/status")]
    ProfileStatus,
    /// Secrets with the label of a profile.
    #[serde(rename = "secrets")]
    Secrets,
}

/// A write that a policy judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// The object is created.
    Create,
    /// The object is changed.
    Update,
}

/// What was expected, for the message.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Expected {
    /// A text.
    Text(String),
    /// CEL: a string.
    Computed {
        /// The expression.
        cel: String,
    },
}

impl PolicyFacts {
    /// Whether the policy says the whole rule.
    pub fn is_whole(&self) -> bool {
        self.lacks.is_none()
    }

    /// Whether the policy judges by an edition that has its rule.
    pub fn is_of(&self, edition: Edition) -> bool {
        self.editions
            .as_ref()
            .is_none_or(|editions| editions.contains(&edition))
    }

    /// `whole` or `part`.
    pub fn extent(&self) -> &'static str {
        if self.is_whole() { "whole" } else { "part" }
    }
}

impl Resource {
    /// The name as in the rules of RBAC and of admission.
    pub fn name(self) -> &'static str {
        match self {
            Resource::Profiles => "clusterprofiles",
            Resource::ProfileStatus => "clusterprofiles/status",
            Resource::Secrets => "secrets",
        }
    }

    /// The operations by which it is written. A status is never created: the API server drops it from a creation.
    pub fn operations(self) -> &'static [Operation] {
        match self {
            Resource::Profiles | Resource::Secrets => &[Operation::Create, Operation::Update],
            Resource::ProfileStatus => &[Operation::Update],
        }
    }
}

impl Operation {
    /// The name as in `request.operation`.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
        }
    }
}
