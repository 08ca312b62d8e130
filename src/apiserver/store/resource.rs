//! The resources that the server serves: its own (see `builtin`), and any that a CustomResourceDefinition defines.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    object::status::Qualified,
    schema::Schema,
    typed::{self, Message, message_of},
};

/// Which rules of its own a resource has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
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
pub(crate) struct Version {
    pub(crate) name: String,
    pub(crate) served: bool,
    pub(crate) storage: bool,
    pub(crate) status_subresource: bool,
    pub(crate) schema: Arc<Schema>,
    /// Fields by which lists can be selected, besides name and namespace: `spec.clusterManager.name`.
    pub(crate) selectable: Vec<String>,
    /// The columns of a Table besides the name, as the definition has them.
    pub(crate) columns: Arc<Value>,
    pub(crate) scale: Option<Arc<Scale>>,
    /// The schema as it was given, with its descriptions.
    pub(crate) openapi: Arc<Value>,
    /// What whoever uses this version is warned of.
    pub(crate) warning: Option<String>,
}

impl Version {
    /// A version that is served and stored, of whatever form.
    pub(crate) fn plain(name: &str) -> Self {
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
pub(crate) struct Scale {
    #[serde(rename = "specReplicasPath")]
    pub(crate) spec_replicas: String,
    #[serde(rename = "statusReplicasPath")]
    pub(crate) status_replicas: String,
    /// Empty when there is none.
    #[serde(rename = "labelSelectorPath")]
    pub(crate) label_selector: String,
}

/// A resource: what is common to its versions.
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    pub(crate) group: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    pub(crate) family: Family,
    pub(crate) versions: Vec<Version>,
}

impl Resource {
    /// As messages about one object name it: `clusterprofiles.multicluster.x-k8s.io`.
    pub(crate) fn qualified(&self) -> Qualified<'_> {
        Qualified::new(&self.group, &self.plural)
    }

    /// As messages about an invalid object name it: `ClusterProfile.multicluster.x-k8s.io`.
    pub(crate) fn qualified_kind(&self) -> Qualified<'_> {
        Qualified::new(&self.group, &self.kind)
    }

    /// Where its objects are stored.
    pub(crate) fn id(&self) -> ResourceId {
        match self.family {
            Family::Event => id("", &self.plural),
            _ => id(&self.group, &self.plural),
        }
    }

    /// The Go type of its objects, if it is one that the lab knows.
    pub(crate) fn message(&self) -> Option<&'static Message> {
        match self.family {
            Family::Custom | Family::Definition => None,
            _ => message_of(&self.group, &self.kind),
        }
    }

    /// An object before it is created: typed objects have some parts from the start.
    pub(crate) fn blank(&self) -> Value {
        match (self.family, self.message()) {
            (Family::Definition, _) => json!({"spec": {"names": {}}, "status": {"acceptedNames": {}}}),
            (_, Some(message)) => typed::zero(message),
            (_, None) => Value::Null,
        }
    }

    /// `group/version`, or the version alone in the core group.
    pub(crate) fn api_version(&self, version: &str) -> String {
        match self.group.as_str() {
            "" => version.to_owned(),
            group => format!("{group}/{version}"),
        }
    }

    pub(crate) fn served_version(&self, name: &str) -> Option<&Version> {
        self.versions
            .iter()
            .find(|version| version.served && version.name == name)
    }

    /// The version in which objects are stored.
    pub(crate) fn storage_version(&self) -> &Version {
        let storage = self.versions.iter().find(|version| version.storage);
        storage.unwrap_or(&self.versions[0])
    }

    /// Whether an update makes an object that is not there.
    pub(crate) fn allows_create_on_update(&self) -> bool {
        matches!(self.family, Family::Lease | Family::Event | Family::Access)
    }

    /// Whether an update may leave out `metadata.resourceVersion`.
    pub(crate) fn allows_unconditional_update(&self) -> bool {
        !matches!(self.family, Family::Definition | Family::Custom | Family::Lease)
    }
}

/// The name of a resource: its group and plural.
pub(crate) type ResourceId = (String, String);

pub(crate) fn id(group: &str, plural: &str) -> ResourceId {
    (group.to_owned(), plural.to_owned())
}

/// The path of a group and version: `/apis/multicluster.x-k8s.io/v1alpha1`.
pub(crate) fn path_of(group: &str, version: &str) -> String {
    match group {
        "" => format!("/api/{version}"),
        group => format!("/apis/{group}/{version}"),
    }
}

/// The order among versions that clients prefer: `v2` above `v1` above `v2beta1` above `v1beta2` above `v1alpha1`, and
/// these above all else.
pub(crate) fn priority(version: &str) -> impl Ord + use<> {
    kube::core::Version::parse(version).priority()
}
