//! The resources that every server has from the start.

use std::sync::{Arc, LazyLock};

use k8s_openapi::api::{
    authentication::v1 as authentication, authorization::v1 as authorization, coordination::v1::Lease,
    core::v1 as core, events::v1 as events, rbac::v1 as rbac,
};
use serde_json::{Value, json};

use super::resource::{Family, Resource, Version};
use super::schema::Schema;
use super::typed;

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
    /// Of the group and the kind.
    schema: fn(&str, &str) -> Value,
}

const RBAC: &str = "rbac.authorization.k8s.io";
const AUTHENTICATION: &str = "authentication.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";

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
    schema: |_, _| json!({"type": "object"}),
};

/// What is asked and not stored.
const REVIEW: Builtin = Builtin {
    family: Family::Review,
    namespaced: false,
    ..PLAIN
};

const BUILTINS: [Builtin; 19] = [
    Builtin {
        family: Family::Namespace,
        plural: "namespaces",
        kind: "Namespace",
        namespaced: false,
        short_names: &["ns"],
        selectable: &["status.phase"],
        status_subresource: true,
        schema: typed::schema::<core::Namespace>,
        ..PLAIN
    },
    Builtin {
        family: Family::Secret,
        plural: "secrets",
        kind: "Secret",
        selectable: &["type"],
        schema: typed::schema::<core::Secret>,
        ..PLAIN
    },
    Builtin {
        family: Family::ConfigMap,
        plural: "configmaps",
        kind: "ConfigMap",
        short_names: &["cm"],
        schema: typed::schema::<core::ConfigMap>,
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
        schema: |_, _| definition_schema(),
        ..PLAIN
    },
    Builtin {
        family: Family::Event,
        plural: "events",
        kind: "Event",
        short_names: &["ev"],
        selectable: &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        schema: typed::schema::<core::Event>,
        ..PLAIN
    },
    Builtin {
        family: Family::Event,
        group: "events.k8s.io",
        plural: "events",
        kind: "Event",
        short_names: &["ev"],
        selectable: &[
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "reportingController",
            "type",
        ],
        schema: typed::schema::<events::Event>,
        ..PLAIN
    },
    Builtin {
        family: Family::Node,
        plural: "nodes",
        kind: "Node",
        namespaced: false,
        short_names: &["no"],
        selectable: &["spec.unschedulable"],
        status_subresource: true,
        schema: typed::schema::<core::Node>,
        ..PLAIN
    },
    Builtin {
        family: Family::ServiceAccount,
        plural: "serviceaccounts",
        kind: "ServiceAccount",
        short_names: &["sa"],
        schema: typed::schema::<core::ServiceAccount>,
        ..PLAIN
    },
    Builtin {
        family: Family::Lease,
        group: "coordination.k8s.io",
        plural: "leases",
        kind: "Lease",
        schema: typed::schema::<Lease>,
        ..PLAIN
    },
    Builtin {
        family: Family::Access,
        group: RBAC,
        plural: "roles",
        kind: "Role",
        schema: typed::schema::<rbac::Role>,
        ..PLAIN
    },
    Builtin {
        family: Family::Access,
        group: RBAC,
        plural: "clusterroles",
        kind: "ClusterRole",
        schema: typed::schema::<rbac::ClusterRole>,
        namespaced: false,
        ..PLAIN
    },
    Builtin {
        family: Family::Access,
        group: RBAC,
        plural: "rolebindings",
        kind: "RoleBinding",
        schema: typed::schema::<rbac::RoleBinding>,
        ..PLAIN
    },
    Builtin {
        family: Family::Access,
        group: RBAC,
        plural: "clusterrolebindings",
        kind: "ClusterRoleBinding",
        schema: typed::schema::<rbac::ClusterRoleBinding>,
        namespaced: false,
        ..PLAIN
    },
    Builtin {
        group: AUTHENTICATION,
        plural: "selfsubjectreviews",
        kind: "SelfSubjectReview",
        schema: typed::schema::<authentication::SelfSubjectReview>,
        ..REVIEW
    },
    Builtin {
        group: AUTHENTICATION,
        plural: "tokenreviews",
        kind: "TokenReview",
        schema: typed::schema::<authentication::TokenReview>,
        ..REVIEW
    },
    Builtin {
        group: AUTHORIZATION,
        plural: "localsubjectaccessreviews",
        kind: "LocalSubjectAccessReview",
        namespaced: true,
        schema: typed::schema::<authorization::LocalSubjectAccessReview>,
        ..REVIEW
    },
    Builtin {
        group: AUTHORIZATION,
        plural: "selfsubjectaccessreviews",
        kind: "SelfSubjectAccessReview",
        schema: typed::schema::<authorization::SelfSubjectAccessReview>,
        ..REVIEW
    },
    Builtin {
        group: AUTHORIZATION,
        plural: "selfsubjectrulesreviews",
        kind: "SelfSubjectRulesReview",
        schema: typed::schema::<authorization::SelfSubjectRulesReview>,
        ..REVIEW
    },
    Builtin {
        group: AUTHORIZATION,
        plural: "subjectaccessreviews",
        kind: "SubjectAccessReview",
        schema: typed::schema::<authorization::SubjectAccessReview>,
        ..REVIEW
    },
];

/// What is asked of a service account: it is served below that alone.
const TOKEN_REQUEST: Builtin = Builtin {
    group: AUTHENTICATION,
    kind: "TokenRequest",
    namespaced: true,
    schema: typed::schema::<authentication::TokenRequest>,
    ..REVIEW
};

/// The resources that every server has from the start.
pub(super) fn resources() -> impl Iterator<Item = Resource> {
    static COMPILED: LazyLock<Vec<Resource>> = LazyLock::new(|| BUILTINS.iter().map(compile).collect());
    COMPILED.iter().cloned()
}

/// What a request for a service account's token is decoded by.
pub(super) fn token_request() -> Arc<Resource> {
    static COMPILED: LazyLock<Arc<Resource>> = LazyLock::new(|| compile(&TOKEN_REQUEST).into());
    COMPILED.clone()
}

fn compile(builtin: &Builtin) -> Resource {
    let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
    let schema = (builtin.schema)(builtin.group, builtin.kind);
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
            schema: Schema::compile(&schema).unwrap_or_default(),
            selectable: texts(builtin.selectable),
            openapi: Arc::new(schema),
            ..Version::plain("v1")
        }],
    }
}

fn conditions_schema() -> Value {
    json!({
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
        "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    })
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
