//! Requests on profiles, from the hub's audit log, and dry-run writes with the hub's answers.

use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ObjectRef, Window};

/// Write requests on profiles or on slices from an audit log, in the order in which the hub received them.
pub type Requests = Log<Request>;

/// All events of a kind in a span.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Log<T> {
    /// The span in which nothing is missing.
    pub covers: Window,
    /// The events, oldest first.
    pub events: Vec<T>,
}

/// One answered write request on a profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// When the hub received it, by the hub's clock.
    pub at: Timestamp,
    /// `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub verb: Arc<str>,
    /// The user.
    pub user: Arc<str>,
    /// The user agent.
    pub user_agent: Arc<str>,
    /// Namespace of the profile.
    pub namespace: Arc<str>,
    /// Name of the profile; empty if the log omits it (a create with `generateName`).
    pub name: Arc<str>,
    /// The subresource; empty for the object itself.
    pub subresource: Arc<str>,
    /// HTTP status code of the answer.
    pub code: u16,
    /// True for a dry run.
    pub dry_run: bool,
    /// True if the object changed, by its resourceVersion; none if the log does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<bool>,
    /// `resourceVersion` of the object in the response; none if the log omits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<Box<str>>,
    /// The body, if the log has it (level Request and above).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<RequestBody>,
}

/// The parts of a request's body that rules need.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RequestBody {
    /// `metadata.name`, for creates whose name is only in the body.
    pub name: Option<String>,
    /// The manager label's value.
    pub manager_label: Option<String>,
    /// `spec.clusterManager.name`.
    pub manager: Option<String>,
    /// The parts in the body: `metadata.labels`, `spec`, `status` and so on, sorted.
    pub parts: Vec<String>,
}

/// The prefix of the suite's user agent, in any version.
const SUITE: &str = "clusterprofile-conformance/";

impl Request {
    /// Returns `true` if the suite sent it, in this run or another.
    pub fn is_the_suites(&self) -> bool {
        self.user_agent.starts_with(SUITE)
    }

    /// Namespace and name of the object. The name may be in the body only; it is empty if the log omits it.
    pub fn namespace_and_name(&self) -> (&str, &str) {
        let in_body = self.body.as_ref().and_then(|body| body.name.as_deref());
        let name = Some(&*self.name).filter(|name| !name.is_empty());
        (&self.namespace, name.or(in_body).unwrap_or_default())
    }

    /// The program that sent it: the user agent up to the first `/`.
    pub fn program(&self) -> &str {
        self.user_agent.split('/').next().unwrap_or_default()
    }

    /// Returns `true` for a write that the hub carried out.
    pub fn is_write(&self) -> bool {
        !self.dry_run && (200..300).contains(&self.code)
    }

    /// Returns `true` for a write that the hub refused permanently, unlike after a conflict or too many requests.
    pub fn is_refused(&self) -> bool {
        let is_conflict = self.code == 409 && &*self.verb != "create";
        !self.dry_run && (400..500).contains(&self.code) && self.code != 429 && !is_conflict
    }

    /// Returns `true` for a write of a profile's status.
    pub fn is_status_write(&self) -> bool {
        self.is_write() && &*self.subresource == "status" && matches!(&*self.verb, "update" | "patch")
    }
}

/// A dry-run change of `spec.clusterManager`, and the hub's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Probe {
    /// When the request was sent.
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
        /// Machine-readable reason, for example `Invalid`.
        reason: String,
        /// The hub's message.
        message: String,
        /// The fields that the hub names as causes.
        fields: Vec<String>,
    },
    /// The hub refuses for another reason, for example missing permissions or a conflict: this says nothing about the rule.
    Unanswered {
        /// HTTP status code; 0 without an answer.
        code: u16,
        /// The hub's message, or the reason for no answer.
        message: String,
    },
}
