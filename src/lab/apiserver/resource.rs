//! The resources that the server serves: its own (see `builtin`), and any that a CustomResourceDefinition defines.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::schema::Schema;
use super::status::Qualified;
use super::storage::{ResourceId, id};
use super::typed::{Message, message_of};

/// Which rules of its own a resource has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Namespace,
    Secret,
    ConfigMap,
    Definition,
    ServiceAccount,
    /// Of either group: they are two views of the same objects.
    Event,
    Node,
    Lease,
    /// Roles and bindings.
    Access,
    /// Questions, which are answered and not stored.
    Review,
    /// Of the server's own, without rules that are known here.
    Other,
    Custom,
}

/// One version of a resource.
#[derive(Clone, Debug, Default)]
pub(super) struct Version {
    pub(super) name: String,
    pub(super) served: bool,
    pub(super) storage: bool,
    pub(super) status_subresource: bool,
    pub(super) schema: Arc<Schema>,
    /// Fields by which lists can be selected, besides name and namespace: `spec.clusterManager.name`.
    pub(super) selectable: Vec<String>,
    /// The columns of a Table besides the name, as the definition has them.
    pub(super) columns: Arc<Value>,
    pub(super) scale: Option<Arc<Scale>>,
    /// The schema as it was given, with its descriptions.
    pub(super) openapi: Arc<Value>,
    /// What whoever uses this version is warned of.
    pub(super) warning: Option<String>,
}

impl Version {
    /// A version that is served and stored, of whatever form.
    pub(super) fn plain(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            served: true,
            storage: true,
            ..Self::default()
        }
    }
}

/// Where a scale subresource finds what it tells: JSONPaths of the plain kind (`.spec.replicas`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Scale {
    #[serde(rename = "specReplicasPath")]
    pub(super) spec_replicas: String,
    #[serde(rename = "statusReplicasPath")]
    pub(super) status_replicas: String,
    /// Empty when there is none.
    #[serde(rename = "labelSelectorPath")]
    pub(super) label_selector: String,
}

/// A resource: what is common to its versions.
#[derive(Clone, Debug)]
pub(super) struct Resource {
    pub(super) group: String,
    pub(super) plural: String,
    pub(super) singular: String,
    pub(super) kind: String,
    pub(super) list_kind: String,
    pub(super) short_names: Vec<String>,
    pub(super) categories: Vec<String>,
    pub(super) namespaced: bool,
    pub(super) family: Family,
    pub(super) versions: Vec<Version>,
}

impl Resource {
    /// As messages about one object name it: `clusterprofiles.multicluster.x-k8s.io`.
    pub(super) fn qualified(&self) -> Qualified<'_> {
        Qualified::new(&self.group, &self.plural)
    }

    /// As messages about an invalid object name it: `ClusterProfile.multicluster.x-k8s.io`.
    pub(super) fn qualified_kind(&self) -> Qualified<'_> {
        Qualified::new(&self.group, &self.kind)
    }

    /// Where its objects are stored.
    pub(super) fn id(&self) -> ResourceId {
        match self.family {
            Family::Event => id("", &self.plural),
            _ => id(&self.group, &self.plural),
        }
    }

    /// The Go type of its objects, if it is one that the lab knows.
    pub(super) fn message(&self) -> Option<&'static Message> {
        match self.family {
            Family::Custom | Family::Definition => None,
            _ => message_of(&self.group, &self.kind),
        }
    }

    /// `group/version`, or the version alone in the core group.
    pub(super) fn api_version(&self, version: &str) -> String {
        match self.group.as_str() {
            "" => version.to_owned(),
            group => format!("{group}/{version}"),
        }
    }

    pub(super) fn served_version(&self, name: &str) -> Option<&Version> {
        self.versions
            .iter()
            .find(|version| version.served && version.name == name)
    }

    /// The version in which objects are stored.
    pub(super) fn storage_version(&self) -> &Version {
        let storage = self.versions.iter().find(|version| version.storage);
        storage.unwrap_or(&self.versions[0])
    }

    /// Whether an update makes an object that is not there.
    pub(super) fn allows_create_on_update(&self) -> bool {
        matches!(self.family, Family::Lease | Family::Event | Family::Access)
    }

    /// Whether an update may leave out `metadata.resourceVersion`.
    pub(super) fn allows_unconditional_update(&self) -> bool {
        !matches!(self.family, Family::Definition | Family::Custom | Family::Lease)
    }
}
