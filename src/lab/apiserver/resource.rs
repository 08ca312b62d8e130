//! The resources that the server serves: four of its own, and any that a CustomResourceDefinition defines.

use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use super::field::Path;
use super::schema::Schema;
use super::status::Qualified;

/// Which rules of its own a resource has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Namespace,
    Secret,
    ConfigMap,
    Definition,
    /// Of the server's own, without rules that are known here.
    Other,
    Custom,
}

/// One version of a resource.
#[derive(Clone, Debug)]
pub(super) struct Version {
    pub(super) name: String,
    pub(super) served: bool,
    pub(super) storage: bool,
    pub(super) status_subresource: bool,
    pub(super) schema: Arc<Schema>,
    /// Fields by which lists can be selected, besides name and namespace: `spec.clusterManager.name`.
    pub(super) selectable: Vec<String>,
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
        Qualified {
            group: &self.group,
            resource: &self.plural,
        }
    }

    /// As messages about an invalid object name it: `ClusterProfile.multicluster.x-k8s.io`.
    pub(super) fn qualified_kind(&self) -> Qualified<'_> {
        Qualified {
            group: &self.group,
            resource: &self.kind,
        }
    }

    pub(super) fn id(&self) -> (String, String) {
        (self.group.clone(), self.plural.clone())
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

    /// Whether an update may leave out `metadata.resourceVersion`.
    pub(super) fn allows_unconditional_update(&self) -> bool {
        matches!(
            self.family,
            Family::Namespace | Family::Secret | Family::ConfigMap | Family::Other
        )
    }

    fn own(family: Family, group: &str, plural: &str, kind: &str, namespaced: bool, schema: &Value) -> Self {
        let has_status = matches!(family, Family::Namespace | Family::Definition);
        Self {
            group: group.to_owned(),
            plural: plural.to_owned(),
            singular: kind.to_lowercase(),
            kind: kind.to_owned(),
            list_kind: format!("{kind}List"),
            short_names: Vec::new(),
            categories: Vec::new(),
            namespaced,
            family,
            versions: vec![Version {
                name: "v1".to_owned(),
                served: true,
                storage: true,
                status_subresource: has_status,
                schema: Schema::compile(schema, &Path::ROOT).unwrap_or_default(),
                selectable: Vec::new(),
            }],
        }
    }

    /// The resources that every server has from the start.
    pub(super) fn of_a_hub() -> impl Iterator<Item = Self> {
        static COMPILED: LazyLock<Vec<Resource>> = LazyLock::new(Resource::hub_resources);
        COMPILED.iter().cloned()
    }

    /// What one finds in a member cluster besides.
    pub(super) fn of_a_member() -> impl Iterator<Item = Self> {
        static COMPILED: LazyLock<Vec<Resource>> = LazyLock::new(Resource::member_resources);
        COMPILED.iter().cloned()
    }

    /// Typed as they are, what is in them is nobody's concern here but for leases.
    fn member_resources() -> Vec<Self> {
        let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let plain = json!({"type": "object", "properties": {"spec": any, "status": any}});
        let mut nodes = Self::own(Family::Other, "", "nodes", "Node", false, &plain);
        nodes.short_names = vec!["no".to_owned()];
        nodes.versions[0].status_subresource = true;
        let leases = Self::own(
            Family::Other,
            "coordination.k8s.io",
            "leases",
            "Lease",
            true,
            &lease_schema(),
        );
        let plain = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let mut accounts = Self::own(
            Family::Other,
            "",
            "serviceaccounts",
            "ServiceAccount",
            true,
            &plain,
        );
        accounts.short_names = vec!["sa".to_owned()];
        vec![nodes, leases, accounts]
    }

    fn hub_resources() -> Vec<Self> {
        let mut namespaces = Self::own(
            Family::Namespace,
            "",
            "namespaces",
            "Namespace",
            false,
            &namespace_schema(),
        );
        namespaces.short_names = vec!["ns".to_owned()];
        namespaces.versions[0].selectable = vec!["status.phase".to_owned()];
        let mut secrets = Self::own(
            Family::Secret,
            "",
            "secrets",
            "Secret",
            true,
            &data_schema("stringData"),
        );
        secrets.versions[0].selectable = vec!["type".to_owned()];
        let mut config_maps = Self::own(
            Family::ConfigMap,
            "",
            "configmaps",
            "ConfigMap",
            true,
            &data_schema("binaryData"),
        );
        config_maps.short_names = vec!["cm".to_owned()];
        let mut definitions = Self::own(
            Family::Definition,
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            "CustomResourceDefinition",
            false,
            &definition_schema(),
        );
        definitions.short_names = vec!["crd".to_owned(), "crds".to_owned()];
        definitions.categories = vec!["api-extensions".to_owned()];
        vec![namespaces, secrets, config_maps, definitions]
    }
}

fn conditions_schema() -> Value {
    json!({
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
        "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    })
}

fn namespace_schema() -> Value {
    json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "finalizers": {"type": "array", "items": {"type": "string"}},
        }},
        "status": {"type": "object", "properties": {
            "phase": {"type": "string"},
            "conditions": conditions_schema(),
        }},
    }})
}

fn lease_schema() -> Value {
    let (text, count) = (json!({"type": "string"}), json!({"type": "integer"}));
    json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "holderIdentity": text, "leaseDurationSeconds": count, "acquireTime": text, "renewTime": text,
        "leaseTransitions": count,
    }}}})
}

/// Secrets and ConfigMaps differ in one field.
fn data_schema(second: &str) -> Value {
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let mut schema = json!({"type": "object", "properties": {
        "data": texts,
        "immutable": {"type": "boolean"},
    }});
    schema["properties"][second] = texts;
    if second == "stringData" {
        schema["properties"]["type"] = json!({"type": "string"});
    }
    schema
}

/// Only what ownership and pruning need: the schemas within are read by [`super::definition`].
fn definition_schema() -> Value {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let names = json!({"type": "object", "properties": {
        "plural": {"type": "string"}, "singular": {"type": "string"}, "kind": {"type": "string"},
        "listKind": {"type": "string"}, "shortNames": texts, "categories": texts,
    }});
    json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "group": {"type": "string"},
            "names": names,
            "scope": {"type": "string"},
            "versions": {"type": "array", "items": any},
            "conversion": any,
            "preserveUnknownFields": {"type": "boolean"},
        }},
        "status": {"type": "object", "properties": {
            "acceptedNames": names,
            "conditions": conditions_schema(),
            "storedVersions": texts,
        }},
    }})
}
