//! Objects other than profiles, and references to any object.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::{ClusterProfile, Labels};

/// Which object, in which version.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectRef {
    /// Kind, such as `ClusterProfile`.
    pub kind: String,
    /// Namespace; empty for a cluster-scoped object.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Identity; empty where it is not known.
    pub uid: String,
    /// Version; empty where it is not known.
    pub resource_version: String,
}

/// A namespace of the hub, as last seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Namespace {
    /// Name.
    pub name: String,
    /// Identity.
    pub uid: String,
    /// Version.
    pub resource_version: String,
    /// Labels.
    pub labels: Labels,
}

/// An object that does not fit the shape of its kind, and so could not be judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Unreadable {
    /// Which object, as far as it could be made out: where its kind is empty, it may be of any.
    pub object: ObjectRef,
    /// What does not fit.
    pub message: String,
}

impl ObjectRef {
    /// `namespace/name`, or the name alone.
    pub fn path(&self) -> String {
        match self.namespace.as_str() {
            "" => self.name.clone(),
            namespace => format!("{namespace}/{}", self.name),
        }
    }
}

impl std::fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind, self.path())
    }
}

impl std::fmt::Display for Unreadable {
    /// Names the object as far as it could be made out, and says what does not fit.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.object.kind.as_str(), self.object.name.as_str()) {
            ("", _) => f.write_str("an object")?,
            (kind, "") => write!(f, "a {kind}")?,
            (_, _) => write!(f, "{}", self.object)?,
        }
        write!(f, " could not be read: {}", self.message)
    }
}

impl From<&ClusterProfile> for ObjectRef {
    fn from(profile: &ClusterProfile) -> Self {
        Self {
            kind: crate::api::names::KIND.to_owned(),
            namespace: profile.metadata.namespace.to_string(),
            name: profile.metadata.name.to_string(),
            uid: profile.metadata.uid.to_string(),
            resource_version: profile.metadata.resource_version.clone(),
        }
    }
}

impl From<&Namespace> for ObjectRef {
    fn from(namespace: &Namespace) -> Self {
        Self {
            kind: "Namespace".to_owned(),
            namespace: String::new(),
            name: namespace.name.clone(),
            uid: namespace.uid.clone(),
            resource_version: namespace.resource_version.clone(),
        }
    }
}
