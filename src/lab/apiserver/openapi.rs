//! OpenAPI: what kubectl explains kinds by, and learns from what a server can be asked to check. Version 3 has a document
//! for each group and version and an index of them, version 2 one document for all.

use std::sync::LazyLock;

use k8s_openapi::api::{coordination, core, events, rbac};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use k8s_openapi::schemars::generate::SchemaSettings;
use ring::digest::{SHA512, digest};
use serde_json::{Map, Value, json};

use super::resource::{Family, Resource, Version};
use super::storage::Storage;

const SCHEMAS: &str = "#/components/schemas/";
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const CORE_EVENT: &str = "io.k8s.api.core.v1.Event";
const JSON: &str = "application/json";
/// The kinds of patch that all resources know. Of strategic ones nothing is said: kubectl would merge by these schemas
/// then, and not by what it knows itself, which is more.
const PATCHES: [&str; 3] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
];

/// The schemas of the server's own kinds and of what all kinds share, by name.
static KNOWN: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    let mut all = SchemaSettings::openapi3().into_generator();
    all.subschema_for::<core::v1::Namespace>();
    all.subschema_for::<core::v1::Secret>();
    all.subschema_for::<core::v1::ConfigMap>();
    all.subschema_for::<core::v1::Event>();
    all.subschema_for::<core::v1::Node>();
    all.subschema_for::<core::v1::ServiceAccount>();
    all.subschema_for::<events::v1::Event>();
    all.subschema_for::<coordination::v1::Lease>();
    all.subschema_for::<rbac::v1::Role>();
    all.subschema_for::<rbac::v1::ClusterRole>();
    all.subschema_for::<rbac::v1::RoleBinding>();
    all.subschema_for::<rbac::v1::ClusterRoleBinding>();
    all.subschema_for::<apiextensions::v1::CustomResourceDefinition>();
    all.subschema_for::<meta::DeleteOptions>();
    all.subschema_for::<meta::Patch>();
    all.subschema_for::<meta::Status>();
    let mut schemas = all.take_definitions(true);
    // What Go's types always have, objects need not; old Events do.
    let others = schemas.iter_mut().filter(|(name, _)| *name != CORE_EVENT);
    for schema in others.map(|(_, schema)| schema) {
        if let Value::Object(fields) = schema
            && let Some(Value::Array(required)) = fields.get_mut("required")
        {
            required.retain(|name| name != "metadata");
            if required.is_empty() {
                fields.remove("required");
            }
        }
    }
    schemas
});

/// The index of the documents. Their hash in each address tells clients whether what they remember is still true.
pub(super) fn index(storage: &Storage) -> Value {
    let mut paths = Map::new();
    for resource in storage.tables().map(|table| &table.resource) {
        for version in resource.versions.iter().filter(|version| version.served) {
            let place = place(&resource.group, &version.name);
            if !paths.contains_key(&place)
                && let Some(document) = document(storage, &resource.group, &version.name)
            {
                let hash = digest(&SHA512, document.to_string().as_bytes());
                let hash: String = hash.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
                let address = format!("/openapi/v3/{place}?hash={hash}");
                paths.insert(place, json!({"serverRelativeURL": address}));
            }
        }
    }
    json!({"paths": paths})
}

/// The document of a group and version, in version 3.
pub(super) fn document(storage: &Storage, group: &str, version: &str) -> Option<Value> {
    let (mut schemas, mut paths) = (Map::new(), Map::new());
    let mut is_custom = false;
    for resource in storage.tables().map(|table| &table.resource) {
        if resource.group == group
            && let Some(version) = resource.served_version(version)
        {
            is_custom = resource.family == Family::Custom;
            add_schemas(resource, version, &mut schemas);
            add_paths(resource, version, &mut paths);
        }
    }
    let title = match is_custom {
        true => json!({"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}),
        false => json!({"title": "Kubernetes", "version": "1.36"}),
    };
    (!paths.is_empty()).then(
        || json!({"openapi": "3.0.0", "info": title, "paths": paths, "components": {"schemas": schemas}}),
    )
}

/// The document of all groups, in version 2, which knows less of schemas.
pub(super) fn swagger(storage: &Storage) -> Value {
    let (mut definitions, mut paths) = (Map::new(), Map::new());
    for resource in storage.tables().map(|table| &table.resource) {
        for version in resource.versions.iter().filter(|version| version.served) {
            add_schemas(resource, version, &mut definitions);
            add_paths(resource, version, &mut paths);
        }
    }
    definitions.values_mut().for_each(reduce_schema);
    for operation in paths.values_mut().filter_map(Value::as_object_mut).flatten() {
        reduce_operation(operation.1);
    }
    json!({
        "swagger": "2.0", "info": {"title": "Kubernetes", "version": "1.36"}, "paths": paths,
        "definitions": definitions,
    })
}

/// What the schema of a kind says of a field: `spec.holderIdentity`. Empty when it is silent.
pub(super) fn description(resource: &Resource, version: &str, path: &str) -> String {
    // Metadata is told alike everywhere.
    let (mut name, path) = match (path.strip_prefix("metadata."), resource.kind.as_str()) {
        (Some(path), _) => (format!("{META}.ObjectMeta"), path),
        // Both groups' Events are told alike, too.
        (None, "Event") => (CORE_EVENT.to_owned(), path),
        (None, _) => (schema_name(resource, version), path),
    };
    let mut told = &Value::Null;
    for field in path.split('.') {
        let Some(schema) = KNOWN.get(&name) else { break };
        told = &schema["properties"][field];
        name = references(told).first().copied().unwrap_or_default().to_owned();
    }
    told["description"].as_str().unwrap_or_default().to_owned()
}

fn place(group: &str, version: &str) -> String {
    match group {
        "" => format!("api/{version}"),
        group => format!("apis/{group}/{version}"),
    }
}

/// The name of the schema of a kind: `io.x-k8s.multicluster.v1alpha1.ClusterProfile`.
fn schema_name(resource: &Resource, version: &str) -> String {
    let kind = &resource.kind;
    match (
        resource.family,
        resource.group.split('.').next().unwrap_or_default(),
    ) {
        (Family::Custom, _) => {
            let mut group: Vec<&str> = resource.group.split('.').collect();
            group.reverse();
            format!("{}.{version}.{kind}", group.join("."))
        }
        (Family::Definition, group) => {
            format!("io.k8s.apiextensions-apiserver.pkg.apis.{group}.{version}.{kind}")
        }
        (_, "") => format!("io.k8s.api.core.{version}.{kind}"),
        (_, group) => format!("io.k8s.api.{group}.{version}.{kind}"),
    }
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("{SCHEMAS}{name}")})
}

/// The names of the schemas that a schema refers to.
fn references(schema: &Value) -> Vec<&str> {
    match schema {
        Value::Object(map) => {
            let own = map.get("$ref").and_then(Value::as_str);
            let own = own.and_then(|target| target.strip_prefix(SCHEMAS));
            own.into_iter().chain(map.values().flat_map(references)).collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

/// Adds a known schema and all that it refers to.
fn add_known(name: &str, schemas: &mut Map<String, Value>) {
    if let Some(schema) = KNOWN.get(name)
        && !schemas.contains_key(name)
    {
        schemas.insert(name.to_owned(), schema.clone());
        for name in references(schema) {
            add_known(name, schemas);
        }
    }
}

/// Adds the schemas of a kind, of lists of it, and of what comes with every kind.
fn add_schemas(resource: &Resource, version: &Version, schemas: &mut Map<String, Value>) {
    let name = schema_name(resource, &version.name);
    for shared in ["ObjectMeta", "ListMeta", "DeleteOptions", "Patch", "Status"] {
        add_known(&format!("{META}.{shared}"), schemas);
    }
    add_known(&name, schemas);
    let is_known = schemas.contains_key(&name);
    let mut one = schemas
        .remove(&name)
        .unwrap_or_else(|| (*version.openapi).clone());
    let known = |kind: &str, field: &str| KNOWN[kind]["properties"][field].clone();
    let identity = ["apiVersion", "kind"].map(|field| (field, known("io.k8s.api.core.v1.Namespace", field)));
    if !is_known {
        complete(&mut one);
        for (field, schema) in identity.clone() {
            one["properties"][field] = schema;
        }
        one["properties"]["metadata"] = known("io.k8s.api.core.v1.Namespace", "metadata");
    }
    let plural = &resource.plural;
    let mut list = json!({
        "description": format!("{} is a list of {}", resource.list_kind, resource.kind), "type": "object",
        "required": ["items"],
        "properties": {
            "metadata": known(&format!("{META}.Status"), "metadata"),
            "items": {
                "description": format!(
                    "List of {plural}. More info: \
                     https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
                ),
                "type": "array", "items": reference(&name),
            },
        },
    });
    for (field, schema) in identity {
        list["properties"][field] = schema;
    }
    for (schema, kind) in [(&mut one, &resource.kind), (&mut list, &resource.list_kind)] {
        schema["x-kubernetes-group-version-kind"] =
            json!([{"group": resource.group, "version": version.name, "kind": kind}]);
        if resource.family == Family::Custom && !version.selectable.is_empty() {
            let fields = version.selectable.iter().map(|path| json!({"fieldPath": path}));
            schema["x-kubernetes-selectable-fields"] = fields.collect();
        }
    }
    schemas.insert(format!("{name}List"), list);
    schemas.insert(name, one);
}

/// Calls `change` with the schemas directly below this one.
fn for_each_below(schema: &mut Value, change: fn(&mut Value)) {
    let Value::Object(fields) = schema else { return };
    for (key, below) in fields {
        match (key.as_str(), below) {
            ("properties", Value::Object(below)) => below.values_mut().for_each(change),
            ("items" | "additionalProperties", below @ Value::Object(_)) => change(below),
            _ => {}
        }
    }
}

/// Tells what a definition leaves unsaid: the types of what is a number or a text.
fn complete(schema: &mut Value) {
    if schema["x-kubernetes-int-or-string"] == true && schema["anyOf"].is_null() {
        schema["anyOf"] = json!([{"type": "integer"}, {"type": "string"}]);
    }
    if let Value::Object(fields) = schema {
        fields.retain(|_, value| !value.is_null());
    }
    for_each_below(schema, complete);
}

/// Takes away what version 2 does not know, and what kubectl would take too literally there.
fn reduce_schema(schema: &mut Value) {
    let flag = |key: &str| schema[key] == true;
    let (nullable, preserves) = (flag("nullable"), flag("x-kubernetes-preserve-unknown-fields"));
    let has_any_type = nullable || preserves || flag("x-kubernetes-int-or-string");
    let Value::Object(fields) = schema else { return };
    // A reference with a description stands beside it here.
    if let Some(Value::Array(all)) = fields.remove("allOf")
        && let [Value::Object(one)] = all.as_slice()
        && let Some(target) = one.get("$ref").and_then(Value::as_str)
    {
        fields.insert("$ref".into(), target.into());
    }
    if let Some(Value::String(target)) = fields.get_mut("$ref") {
        *target = target.replace(SCHEMAS, "#/definitions/");
    }
    fields.retain(|key, value| match key.as_str() {
        "anyOf" | "oneOf" | "not" | "default" | "nullable" => false,
        "type" => !has_any_type,
        "properties" | "items" | "additionalProperties" => !nullable && !preserves,
        _ => !value.is_null(),
    });
    for_each_below(schema, reduce_schema);
}

/// Puts an operation, or the parameters of a path, as version 2 does.
fn reduce_operation(operation: &mut Value) {
    let flatten = |parameter: &mut Value| {
        if let Value::Object(fields) = parameter
            && let Some(Value::Object(schema)) = fields.remove("schema")
        {
            fields.extend(schema);
        }
    };
    let Value::Object(fields) = operation else {
        operation.as_array_mut().into_iter().flatten().for_each(flatten);
        return;
    };
    let sent = fields.remove("requestBody").unwrap_or_default();
    let Some(Value::Array(parameters)) = fields.get_mut("parameters") else {
        return;
    };
    parameters.iter_mut().for_each(flatten);
    if let Some((_, content)) = sent["content"]
        .as_object()
        .and_then(|content| content.iter().next())
    {
        let mut schema = content["schema"].clone();
        reduce_schema(&mut schema);
        parameters.push(json!({"name": "body", "in": "body", "required": true, "schema": schema}));
        let kinds: Vec<&String> = sent["content"]
            .as_object()
            .into_iter()
            .flat_map(Map::keys)
            .collect();
        let kinds = json!(kinds);
        fields.insert("consumes".into(), kinds);
    }
    fields.insert("produces".into(), json!([JSON]));
    for response in fields["responses"]
        .as_object_mut()
        .into_iter()
        .flat_map(Map::values_mut)
    {
        let mut schema = response["content"][JSON]["schema"].take();
        reduce_schema(&mut schema);
        let told = response["description"].take();
        *response = match schema {
            Value::Null => json!({"description": told}),
            schema => json!({"description": told, "schema": schema}),
        };
    }
}

/// The operations: method, action (that kubectl looks for), the beginning of the name, what is sent, what is answered
/// with, and the parameters.
const OPERATIONS: [&str; 7] = [
    "get get read - Object resourceVersion",
    "put put replace Object Object dryRun fieldManager fieldValidation",
    "patch patch patch Patch Object dryRun fieldManager fieldValidation force",
    "delete delete delete DeleteOptions Status dryRun gracePeriodSeconds orphanDependents propagationPolicy",
    "get list list - List allowWatchBookmarks continue fieldSelector labelSelector limit resourceVersion \
     resourceVersionMatch sendInitialEvents timeoutSeconds watch",
    "post post create Object Object dryRun fieldManager fieldValidation",
    "delete deletecollection delete DeleteOptions Status continue dryRun fieldSelector gracePeriodSeconds labelSelector \
     limit orphanDependents propagationPolicy resourceVersion resourceVersionMatch timeoutSeconds",
];

/// Adds the paths by which a resource is reached.
fn add_paths(resource: &Resource, version: &Version, paths: &mut Map<String, Value>) {
    let root = format!("/{}", place(&resource.group, &version.name));
    let (plural, kind) = (&resource.plural, &resource.kind);
    let whole = match resource.namespaced {
        true => format!("{root}/namespaces/{{namespace}}/{plural}"),
        false => format!("{root}/{plural}"),
    };
    let mut add = |path: String, scope: &str, subresource: &str, actions: &[&str]| {
        let names = ["name", "namespace"].into_iter();
        let names = names.filter(|name| path.contains(&format!("{{{name}}}")));
        let mut parameters: Vec<Value> = names
            .map(|name| json!({"name": name, "in": "path", "required": true, "schema": typed("string")}))
            .collect();
        parameters.push(parameter("pretty"));
        let mut described = Map::from_iter([("parameters".to_owned(), parameters.into())]);
        for operation in OPERATIONS.map(|operation| operation.split(' ').collect::<Vec<_>>()) {
            let (method, action, verb) = (operation[0], operation[1], operation[2]);
            if !actions.contains(&action) {
                continue;
            }
            let group = camel(resource, &version.name);
            let collection = if action == "deletecollection" {
                "Collection"
            } else {
                ""
            };
            let id = format!("{verb}{group}{collection}{scope}{kind}{subresource}");
            described.insert(
                method.to_owned(),
                operation_of(resource, version, &operation[1..], &id),
            );
        }
        paths.insert(path, described.into());
    };
    let scope = if resource.namespaced { "Namespaced" } else { "" };
    if resource.namespaced {
        add(format!("{root}/{plural}"), "", "ForAllNamespaces", &["list"]);
    }
    match resource.family {
        Family::Namespace => add(whole.clone(), scope, "", &["list", "post"]),
        _ => add(whole.clone(), scope, "", &["list", "post", "deletecollection"]),
    }
    add(
        format!("{whole}/{{name}}"),
        scope,
        "",
        &["get", "put", "delete", "patch"],
    );
    if version.status_subresource {
        add(
            format!("{whole}/{{name}}/status"),
            scope,
            "Status",
            &["get", "put", "patch"],
        );
    }
}

/// A group and version within the name of an operation: `MulticlusterXK8sIoV1alpha1`, `CoordinationV1`.
fn camel(resource: &Resource, version: &str) -> String {
    let group = match resource.group.as_str() {
        "" => "core",
        group => group.strip_suffix(".k8s.io").unwrap_or(group),
    };
    let words = group.split(['.', '-']).chain([version]);
    words
        .map(|word| {
            let (first, rest) = word.split_at(word.len().min(1));
            first.to_uppercase() + rest
        })
        .collect()
}

fn typed(kind: &str) -> Value {
    json!({"type": kind, "uniqueItems": true})
}

fn parameter(name: &str) -> Value {
    let kind = match name {
        "allowWatchBookmarks" | "force" | "orphanDependents" | "sendInitialEvents" | "watch" => "boolean",
        "gracePeriodSeconds" | "limit" | "timeoutSeconds" => "integer",
        _ => "string",
    };
    json!({"name": name, "in": "query", "schema": typed(kind)})
}

/// Describes an operation, from its action on, under this name.
fn operation_of(resource: &Resource, version: &Version, operation: &[&str], id: &str) -> Value {
    let (action, sent, answered) = (operation[0], operation[2], operation[3]);
    let name = schema_name(resource, &version.name);
    let content = |content: &str, kinds: &[&str]| -> Value {
        let name = match content {
            "Object" => name.clone(),
            "List" => format!("{name}List"),
            shared => format!("{META}.{shared}"),
        };
        let kinds = kinds
            .iter()
            .map(|kind| ((*kind).to_owned(), json!({"schema": reference(&name)})));
        json!({"content": Map::from_iter(kinds)})
    };
    let codes: &[(&str, &str)] = match action {
        "post" => &[("200", "OK"), ("201", "Created"), ("202", "Accepted")],
        "put" => &[("200", "OK"), ("201", "Created")],
        "delete" => &[("200", "OK"), ("202", "Accepted")],
        _ => &[("200", "OK")],
    };
    let mut responses = Map::from_iter([("401".to_owned(), json!({"description": "Unauthorized"}))]);
    for (code, told) in codes {
        let mut response = content(answered, &[JSON]);
        response["description"] = (*told).into();
        responses.insert((*code).to_owned(), response);
    }
    let parameters: Vec<Value> = operation[4..].iter().map(|name| parameter(name)).collect();
    let kind = json!({"group": resource.group, "version": version.name, "kind": resource.kind});
    let mut described = json!({
        "operationId": id, "parameters": parameters, "responses": responses, "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": kind,
    });
    if sent != "-" {
        let kinds: &[&str] = if sent == "Patch" { &PATCHES } else { &[JSON] };
        described["requestBody"] = content(sent, kinds);
        described["requestBody"]["required"] = (sent != "DeleteOptions").into();
    }
    described
}
