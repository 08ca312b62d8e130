//! Objects other than profiles, and references to any object.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Tracked,
    api::{Labels, names},
};

/// An object in one version.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectRef {
    /// Kind, such as `ClusterProfile`.
    pub kind: String,
    /// Namespace; empty for a cluster-scoped object.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Uid; empty if unknown.
    pub uid: String,
    /// `resourceVersion`; empty if unknown.
    pub resource_version: String,
}

/// A namespace of the hub, as last seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Namespace {
    /// Name.
    pub name: String,
    /// Uid.
    pub uid: String,
    /// `resourceVersion`.
    pub resource_version: String,
    /// Labels.
    pub labels: Labels,
}

/// An object that does not have the shape of its kind, so that it cannot be judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Unreadable {
    /// The object, as far as it is known. An empty kind may be any.
    pub object: ObjectRef,
    /// What is wrong with it.
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
    /// Names the object as far as it is known, and what is wrong with it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.object.kind.as_str(), self.object.name.as_str()) {
            ("", _) => f.write_str("an object")?,
            (kind, "") => write!(f, "a {kind}")?,
            (_, _) => write!(f, "{}", self.object)?,
        }
        write!(f, " could not be read: {}", self.message)
    }
}

impl<T: Tracked> From<&T> for ObjectRef {
    fn from(object: &T) -> Self {
        object.object_ref()
    }
}

impl Namespace {
    /// The consumer whose Secrets it holds, by its label; none if the label is absent or empty.
    pub fn consumer(&self) -> Option<&str> {
        let name = self.labels.get(names::LABEL_CONSUMER)?;
        Some(name.as_str()).filter(|name| !name.is_empty())
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
