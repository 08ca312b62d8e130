//! The kinds of evidence, whether each was asked for, and what was missed of it.

use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ObjectRef;

/// A kind of evidence that rules may need (the ledger's list; namespaces stand alone, as a runner that is confined
/// to some namespaces sees profiles but may not list namespaces).
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
    /// The members' own API servers.
    Members,
    /// Credential plugins of access providers (KEP-5339).
    Plugins,
    /// The hub's audit log.
    Requests,
    /// Dry-run writes.
    Probe,
    /// Hooks that make the implementation act.
    Driver,
    /// Who owns which fields (`managedFields`), which a kubectl dump usually lacks.
    Writers,
}

/// Whether evidence was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Asked {
    /// It was; what of it could not be had is a [`Gap`].
    Yes,
    /// It was not, and why: which flag or grant would change that.
    No(String),
}

/// Something that was asked for and could not be had.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gap {
    /// Of which kind of evidence.
    pub kind: Kind,
    /// When it began, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::json_schema::Time>")]
    pub from: Option<Timestamp>,
    /// When it ended, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::json_schema::Time>")]
    pub until: Option<Timestamp>,
    /// The one object that it concerns; none: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectRef>,
    /// Why, for a person.
    pub reason: String,
}

impl Kind {
    /// The name in rule files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Inventory => "inventory",
            Kind::Namespaces => "namespaces",
            Kind::Timeline => "timeline",
            Kind::Secrets => "secrets",
            Kind::Members => "members",
            Kind::Plugins => "plugins",
            Kind::Requests => "requests",
            Kind::Probe => "probe",
            Kind::Driver => "driver",
            Kind::Writers => "writers",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
