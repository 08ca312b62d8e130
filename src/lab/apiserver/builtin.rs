//! The resources that every server has from the start.

use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use super::field::Path;
use super::resource::{Family, Resource, Version};
use super::schema::Schema;

/// A kind of the server's own.
struct Builtin {
    family: Family,
    group: &'static str,
    plural: &'static str,
    kind: &'static str,
    namespaced: bool,
    short_names: &'static [&'static str],
    categories: &'static [&'static str],
    /// Fields by which lists can be selected, besides name and namespace.
    selectable: &'static [&'static str],
    status_subresource: bool,
    schema: fn() -> Value,
}

const RBAC: &str = "rbac.authorization.k8s.io";

/// What most of them are: in a namespace, without anything special.
const PLAIN: Builtin = Builtin {
    family: Family::Other,
    group: "",
    plural: "",
    kind: "",
    namespaced: true,
    short_names: &[],
    categories: &[],
    selectable: &[],
    status_subresource: false,
    schema: any_schema,
};

const BUILTINS: [Builtin; 12] = [
    Builtin {
        family: Family::Namespace,
        plural: "namespaces",
        kind: "Namespace",
        namespaced: false,
        short_names: &["ns"],
        selectable: &["status.phase"],
        status_subresource: true,
        schema: namespace_schema,
        ..PLAIN
    },
    Builtin {
        family: Family::Secret,
        plural: "secrets",
        kind: "Secret",
        selectable: &["type"],
        schema: || data_schema("stringData"),
        ..PLAIN
    },
    Builtin {
        family: Family::ConfigMap,
        plural: "configmaps",
        kind: "ConfigMap",
        short_names: &["cm"],
        schema: || data_schema("binaryData"),
        ..PLAIN
    },
    Builtin {
        family: Family::Definition,
        group: "apiextensions.k8s.io",
        plural: "customresourcedefinitions",
        kind: "CustomResourceDefinition",
        namespaced: false,
        short_names: &["crd", "crds"],
        categories: &["api-extensions"],
        status_subresource: true,
        schema: definition_schema,
        ..PLAIN
    },
    Builtin {
        plural: "events",
        kind: "Event",
        short_names: &["ev"],
        ..PLAIN
    },
    Builtin {
        plural: "nodes",
        kind: "Node",
        namespaced: false,
        short_names: &["no"],
        status_subresource: true,
        ..PLAIN
    },
    Builtin {
        plural: "serviceaccounts",
        kind: "ServiceAccount",
        short_names: &["sa"],
        ..PLAIN
    },
    Builtin {
        group: "coordination.k8s.io",
        plural: "leases",
        kind: "Lease",
        ..PLAIN
    },
    Builtin {
        group: RBAC,
        plural: "roles",
        kind: "Role",
        ..PLAIN
    },
    Builtin {
        group: RBAC,
        plural: "clusterroles",
        kind: "ClusterRole",
        namespaced: false,
        ..PLAIN
    },
    Builtin {
        group: RBAC,
        plural: "rolebindings",
        kind: "RoleBinding",
        ..PLAIN
    },
    Builtin {
        group: RBAC,
        plural: "clusterrolebindings",
        kind: "ClusterRoleBinding",
        namespaced: false,
        ..PLAIN
    },
];

/// The resources that every server has from the start.
pub(super) fn resources() -> impl Iterator<Item = Resource> {
    static COMPILED: LazyLock<Vec<Resource>> = LazyLock::new(|| BUILTINS.iter().map(compile).collect());
    COMPILED.iter().cloned()
}

fn compile(builtin: &Builtin) -> Resource {
    let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
    let schema = (builtin.schema)();
    Resource {
        group: builtin.group.to_owned(),
        plural: builtin.plural.to_owned(),
        singular: builtin.kind.to_lowercase(),
        kind: builtin.kind.to_owned(),
        list_kind: format!("{}List", builtin.kind),
        short_names: texts(builtin.short_names),
        categories: texts(builtin.categories),
        namespaced: builtin.namespaced,
        family: builtin.family,
        versions: vec![Version {
            status_subresource: builtin.status_subresource,
            schema: Schema::compile(&schema, &Path::ROOT).unwrap_or_default(),
            selectable: texts(builtin.selectable),
            openapi: Arc::new(schema),
            ..Version::plain("v1")
        }],
    }
}

fn any_schema() -> Value {
    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
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
