//! The resources that the server serves: built-in ones (see `builtin`), and those that CRDs define.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{object::status::Qualified, schema::Schema, typed::Decode};

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
    Custom,
}

/// One version of a resource.
#[derive(Clone, Debug, Default)]
pub(crate) struct ApiVersion {
    pub(crate) name: String,
    pub(crate) served: bool,
    pub(crate) storage: bool,
    pub(crate) status_subresource: bool,
    pub(crate) schema: Arc<Schema>,
    /// Selectable fields besides name and namespace: `spec.host`.
    pub(crate) selectable: Vec<String>,
    /// The columns of a Table besides the name, as in the CRD.
    pub(crate) columns: Arc<Value>,
    /// The schema as posted, with descriptions.
    pub(crate) openapi: Arc<Value>,
    /// The warning for users of this version.
    pub(crate) warning: Option<String>,
}

impl ApiVersion {
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
    pub(crate) versions: Vec<ApiVersion>,
    /// Decodes objects of a built-in kind. `None` for CRDs and what they define.
    pub(crate) decode: Option<Decode>,
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

    /// A blank object: some fields of built-in kinds exist from the start.
    pub(crate) fn blank(&self) -> Value {
        match self.kind.as_str() {
            _ if self.family == Family::Custom => Value::Null,
            "CustomResourceDefinition" => json!({"spec": {"names": {}}, "status": {"acceptedNames": {}}}),
            "Namespace" | "Node" => json!({"spec": {}, "status": {}}),
            _ if self.family == Family::Review => json!({"spec": {}, "status": {}}),
            "Lease" => json!({"spec": {}}),
            "Event" => json!({"source": {}, "deprecatedSource": {}}),
            _ => json!({}),
        }
    }

    /// `group/version`, or the version alone in the core group.
    pub(crate) fn api_version(&self, version: &str) -> String {
        match self.group.as_str() {
            "" => version.to_owned(),
            group => format!("{group}/{version}"),
        }
    }

    pub(crate) fn served_version(&self, name: &str) -> Option<&ApiVersion> {
        self.versions
            .iter()
            .find(|version| version.served && version.name == name)
    }

    /// The version in which objects are stored.
    pub(crate) fn storage_version(&self) -> &ApiVersion {
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
