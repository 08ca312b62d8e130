//! Requests on profiles, as the hub's audit log tells of them.

use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Window;

/// The requests of an audit log, reduced to the fields that rules use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Requests {
    /// The time that the log covers.
    pub covers: Window,
    /// Write requests on profiles, in the order in which the hub received them.
    pub events: Vec<Request>,
}

/// One write request on a profile that the hub has answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// When the hub received it, by the hub's clock.
    #[schemars(with = "crate::json_schema::Time")]
    pub at: Timestamp,
    /// `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub verb: Arc<str>,
    /// The user who asked.
    pub user: Arc<str>,
    /// The user agent that asked.
    pub user_agent: Arc<str>,
    /// Namespace of the profile.
    pub namespace: Arc<str>,
    /// Name of the profile; empty where the log does not tell (a create with `generateName`).
    pub name: Arc<str>,
    /// The subresource; empty for the object itself.
    pub subresource: Arc<str>,
    /// HTTP status code of the answer.
    pub code: u16,
    /// Whether nothing was to be stored.
    pub dry_run: bool,
    /// Whether the object changed, where the log tells (resourceVersion before and after).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<bool>,
    /// What was sent, where the log tells (level Request and above).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<RequestBody>,
}

/// What rules ask of a request's body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RequestBody {
    /// `metadata.name`, for creations that the log names only here.
    pub name: Option<String>,
    /// The manager label's value.
    pub manager_label: Option<String>,
    /// `spec.clusterManager.name`.
    pub manager: Option<String>,
    /// The parts that the body mentions: `metadata.labels`, `spec`, `status` and so on, sorted.
    pub parts: Vec<String>,
}

/// How the suite's user agent begins, whatever its version.
const SUITE: &str = "clusterprofile-conformance/";

impl Request {
    /// Whether the suite itself asked, in this run or in another: it writes to profiles only to see what the
    /// implementation makes of it.
    pub fn is_the_suites(&self) -> bool {
        self.user_agent.starts_with(SUITE)
    }

    /// Whether it was a write that the hub carried out.
    pub fn is_write(&self) -> bool {
        !self.dry_run && (200..300).contains(&self.code)
    }

    /// Whether it wrote, or tried to write, the status of a profile.
    pub fn is_status_write(&self) -> bool {
        self.is_write() && &*self.subresource == "status" && matches!(&*self.verb, "update" | "patch")
    }
}
