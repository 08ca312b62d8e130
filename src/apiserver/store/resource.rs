//! The resources that the server serves: built-in ones (see `builtin`), and those that CRDs define.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    object::status::Qualified,
    schema::Schema,
    typed::{self, Message, message_of},
};

/// Selects the strategy of a resource: its own defaults and checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Namespace,
    Secret,
    ConfigMap,
    Definition,
    ServiceAccount,
    /// Of both groups, which serve the same objects.
    Event,
    Node,
    Lease,
    /// Roles and bindings.
    Access,
    /// Reviews: answered, not stored.
    Review,
    /// A built-in resource without checks of its own.
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
    /// Selectable fields besides name and namespace: `spec.host`.
    pub(crate) selectable: Vec<String>,
    /// The columns of a Table besides the name, as in the CRD.
    pub(crate) columns: Arc<Value>,
    pub(crate) scale: Option<Arc<Scale>>,
    /// The schema as posted, with descriptions.
    pub(crate) openapi: Arc<Value>,
    /// The warning for users of this version.
    pub(crate) warning: Option<String>,
}

impl Version {
    /// A version that is served and stored.
    pub(crate) fn plain(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            served: true,
            storage: true,
            ..Self::default()
        }
    }
}

/// The simple JSONPaths of a scale (`.spec.replicas`).
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

/// A resource and its versions.
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
    /// As messages about an object name it: `widgets.example.com`.
    pub(crate) fn qualified(&self) -> Qualified<'_> {
        Qualified::new(&self.group, &self.plural)
    }

    /// As messages about an invalid object name it: `Widget.example.com`.
    pub(crate) fn qualified_kind(&self) -> Qualified<'_> {
        Qualified::new(&self.group, &self.kind)
    }

    /// Under which resource its objects are stored.
    pub(crate) fn id(&self) -> ResourceId {
        match self.family {
            Family::Event => id("", &self.plural),
            _ => id(&self.group, &self.plural),
        }
    }

    /// The Go type of its objects, if the table of types has it.
    pub(crate) fn message(&self) -> Option<&'static Message> {
        match self.family {
            Family::Custom | Family::Definition => None,
            _ => message_of(&self.group, &self.kind),
        }
    }

    /// A blank object: typed objects have some fields from the start.
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

    /// True if an update creates a missing object.
    pub(crate) fn allows_create_on_update(&self) -> bool {
        matches!(self.family, Family::Lease | Family::Event | Family::Access)
    }

    /// True if an update may omit `metadata.resourceVersion`.
    pub(crate) fn allows_unconditional_update(&self) -> bool {
        !matches!(self.family, Family::Definition | Family::Custom | Family::Lease)
    }
}

/// Group and plural of a resource.
pub(crate) type ResourceId = (String, String);

pub(crate) fn id(group: &str, plural: &str) -> ResourceId {
    (group.to_owned(), plural.to_owned())
}

/// The path of a group and version: `/apis/example.com/v1`.
pub(crate) fn path_of(group: &str, version: &str) -> String {
    match group {
        "" => format!("/api/{version}"),
        group => format!("/apis/{group}/{version}"),
    }
}

/// The order of preference among versions: `v2`, `v1`, `v2beta1`, `v1beta2`, `v1alpha1`, then all others.
pub(crate) fn priority(version: &str) -> impl Ord + use<> {
    kube::core::Version::parse(version).priority()
}
