//! The suite's admission policies on a hub: their marks, and what was found of them.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The label of all policies and bindings: its value is the edition whose rules they are made from.
pub const LABEL_EDITION: &str = "conformance.clusterprofile/edition";
/// The label with the version of the suite that made them.
pub const LABEL_VERSION: &str = "conformance.clusterprofile/suite-version";
/// On a policy: the ids of its rules, separated by commas.
pub const ANNOTATION_RULES: &str = "conformance.clusterprofile/rules";
/// How the name of each policy begins.
pub const NAME_PREFIX: &str = "clusterprofile-";
/// The key, behind the policy's name and a slash, of the audit annotation with the ids of the rules that a write breaks.
pub const AUDIT_KEY: &str = "broken-rules";
/// The API server's own annotation of a write that breaks a policy. It keeps one failure of each write.
pub const AUDIT_FAILURE: &str = "validation.policy.admission.k8s.io/validation_failure";

/// A policy of the suite that a hub has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct InstalledPolicy {
    /// Its name.
    pub name: String,
    /// The edition whose rules it is made from, as its label says.
    pub edition: String,
    /// The ids of its rules.
    pub rules: Vec<String>,
    /// True if a binding denies writes that break them; else they are warned about or logged.
    pub denies: bool,
}

/// The writes that the suite's policies found to break one rule, in the audit log as a whole: also before the window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicyFailures {
    /// The rule's id.
    pub rule: String,
    /// The number of writes.
    pub writes: u64,
    /// How many of them the hub refused, for this or another reason.
    pub failed: u64,
    /// The number of profiles.
    pub profiles: u64,
    /// The namespace of the profile of the first one.
    pub namespace: String,
    /// The name of that profile.
    pub name: String,
    /// When the hub received the first one, by its clock.
    #[schemars(with = "crate::json_schema::Time")]
    pub from: Timestamp,
    /// When it received the last one.
    #[schemars(with = "crate::json_schema::Time")]
    pub until: Timestamp,
}

/// Whether a text has the form of a rule's id: annotations are written by whoever may install policies.
pub fn is_rule_id(text: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    text.len() <= 100
        && text
            .split_once('/')
            .is_some_and(|(suite, name)| is_name(suite) && is_name(name))
}
