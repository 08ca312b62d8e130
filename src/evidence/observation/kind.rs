//! The kinds of evidence, which of them were requested, and their gaps.

use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ObjectRef, Reason, Window};

/// A kind of evidence that rules may need. Namespaces are a kind of their own: a runner confined to some namespaces may
/// not list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// ClusterProfiles, listed.
    Inventory,
    /// Namespaces, listed.
    Namespaces,
    /// ClusterProfiles, watched for a window.
    Timeline,
    /// Labelled Secrets.
    Secrets,
    /// Secrets without the label that hold a kubeconfig, in consumers' namespaces.
    UnlabelledSecrets,
    /// The members' own API servers.
    Members,
    /// Credential plugins of access providers (KEP-5339).
    Plugins,
    /// The hub's audit log.
    Requests,
    /// Dry-run writes.
    Probe,
    /// Hooks that drive the implementation.
    Driver,
    /// Field ownership (`managedFields`), which a kubectl dump usually lacks.
    Writers,
    /// PlacementDecisions, listed.
    PlacementDecisions,
    /// PlacementDecisions, watched for a window.
    PlacementTimeline,
    /// The testbed for a consumer: what the run played there.
    Testbed,
    /// Calls of the testbed's members.
    MemberCalls,
    /// Calls of the testbed's credential plugin.
    PluginCalls,
    /// What the consumer says in events and in its log, and where credentials of the testbed are found.
    Mentions,
    /// What the consumer makes of the testbed's profiles.
    Outputs,
}

/// Whether evidence was requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Requested")]
pub enum Asked {
    /// It was requested. A [`Gap`] records what was unavailable.
    Yes,
    /// It was not requested.
    No(Reason),
}

/// Evidence that was requested but unavailable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gap {
    /// The kind of evidence.
    pub kind: Kind,
    /// Start, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::json_schema::Time>")]
    pub from: Option<Timestamp>,
    /// End, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::json_schema::Time>")]
    pub until: Option<Timestamp>,
    /// The one object concerned; none means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectRef>,
    /// The reason.
    pub reason: Reason,
}

impl Gap {
    /// A gap in all evidence of a kind, for the whole run.
    pub fn of(kind: Kind, reason: impl Into<Reason>) -> Self {
        Self {
            kind,
            from: None,
            until: None,
            object: None,
            reason: reason.into(),
        }
    }

    /// The same for this time alone.
    #[must_use]
    pub fn within(self, lost: Window) -> Self {
        Self {
            from: Some(lost.from),
            until: Some(lost.until),
            ..self
        }
    }
}

impl Kind {
    /// The name in rule files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Inventory => "inventory",
            Kind::Namespaces => "namespaces",
            Kind::Timeline => "timeline",
            Kind::Secrets => "secrets",
            Kind::UnlabelledSecrets => "unlabelled-secrets",
            Kind::Members => "members",
            Kind::Plugins => "plugins",
            Kind::Requests => "requests",
            Kind::Probe => "probe",
            Kind::Driver => "driver",
            Kind::Writers => "writers",
            Kind::PlacementDecisions => "placement-decisions",
            Kind::PlacementTimeline => "placement-timeline",
            Kind::Testbed => "testbed",
            Kind::MemberCalls => "member-calls",
            Kind::PluginCalls => "plugin-calls",
            Kind::Mentions => "mentions",
            Kind::Outputs => "outputs",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
