//! OpenAPI documents, which kubectl explains kinds by. Version 3 has one document for each group and version and an
//! index, version 2 has one document.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::StatusCode;
use ring::digest::{SHA512, digest};
use serde_json::{Map, Value, json};

use crate::{
    object::value::flag,
    store::{
        builtin::is_own,
        resource::{Family, Resource, Version, path_of},
        storage::{Documents, Storage},
    },
    typed::{KNOWN_SCHEMAS, SCHEMAS, references},
};

pub(crate) const JSON: &str = "application/json";
/// The index is JSON, but kube-apiserver calls it text.
pub(crate) const INDEX: &str = "text/plain; charset=utf-8";
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
/// The patch types of all resources. Strategic ones are omitted: kubectl would merge by these schemas instead of by its
/// own, which say more.
const PATCHES: [&str; 3] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
];

/// Builds the documents.
pub(crate) fn documents(storage: &Storage) -> Documents {
    let mut swagger = Parts::default();
    let mut places: BTreeMap<_, Parts> = BTreeMap::new();
    for (resource, version) in storage.served() {
        let place = places.entry((&resource.group, &version.name)).or_default();
        place.add_schemas(resource, version);
        place.add_paths(resource, version);
    }
    let mut documents = BTreeMap::new();
    let mut index = Map::new();
    for ((group, version), Parts { schemas, paths }) in places {
        let (title, told) = if is_own(group) {
            ("Kubernetes", "1.36")
        } else {
            ("Kubernetes CRD Swagger", "v0.1.0")
        };
        let document = json!({
            "openapi": "3.0.0", "info": {"title": title, "version": told}, "paths": paths,
            "components": {"schemas": schemas},
        });
        let document = Bytes::from(document.to_string());
        // Clients cache by the hash in the URL.
        let hash = digest(&SHA512, &document);
        let hash: String = hash.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
        let path = path_of(group, version);
        let address = format!("/openapi/v3{path}?hash={hash}");
        index.insert(path[1..].to_owned(), json!({"serverRelativeURL": address}));
        documents.insert((format!("/openapi/v3{path}"), JSON), document);
        swagger.schemas.extend(schemas);
        swagger.paths.extend(paths);
    }
    swagger.schemas.values_mut().for_each(reduce);
    swagger.paths.values_mut().for_each(reduce_operations);
    let swagger = json!({
        "swagger": "2.0", "info": {"title": "Kubernetes", "version": "1.36"}, "produces": [JSON],
        "paths": swagger.paths, "definitions": swagger.schemas,
    });
    let swagger = swagger.to_string().replace(SCHEMAS, "#/definitions/");
    documents.insert(("/openapi/v2".to_owned(), JSON), swagger.into());
    let index = json!({"paths": index}).to_string();
    documents.insert(("/openapi/v3".to_owned(), INDEX), index.into());
    documents
}

/// Calls `change` for the direct subschemas.
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

/// Adds what CRDs leave implicit: the types of int-or-string values.
fn complete(schema: &mut Value) {
    if flag(schema, "x-kubernetes-int-or-string") && schema["anyOf"].is_null() {
        schema["anyOf"] = json!([{"type": "integer"}, {"type": "string"}]);
    }
    for_each_below(schema, complete);
}

/// Removes what version 2 does not support, and what kubectl would take too literally.
fn reduce(schema: &mut Value) {
    let nullable = flag(schema, "nullable");
    let preserves = flag(schema, "x-kubernetes-preserve-unknown-fields");
    let has_any_type = nullable || preserves || flag(schema, "x-kubernetes-int-or-string");
    let Value::Object(fields) = schema else { return };
    // In version 2, a reference and a description stand side by side.
    let all = fields.remove("allOf").unwrap_or_default();
    if let Some(target) = all[0].get("$ref") {
        fields.insert("$ref".into(), target.clone());
    }
    fields.retain(|key, _| match key.as_str() {
        "anyOf" | "oneOf" | "not" | "default" | "nullable" => false,
        "type" => !has_any_type,
        "properties" | "items" | "additionalProperties" => !nullable && !preserves,
        _ => true,
    });
    for_each_below(schema, reduce);
}

/// The parts of a document.
#[derive(Default)]
struct Parts {
    schemas: Map<String, Value>,
    paths: Map<String, Value>,
}

impl Parts {
    /// Adds a known schema and all schemas it references.
    fn add_known(&mut self, name: &str) {
        if let Some(schema) = KNOWN_SCHEMAS.get(name)
            && !self.schemas.contains_key(name)
        {
            self.schemas.insert(name.to_owned(), schema.clone());
            for name in references(schema) {
                self.add_known(&name);
            }
        }
    }

    /// Adds the schemas of a kind, its list and the shared types.
    fn add_schemas(&mut self, resource: &Resource, version: &Version) {
        let name = schema_name(resource, version);
        for shared in ["ObjectMeta", "ListMeta", "DeleteOptions", "Patch", "Status"] {
            self.add_known(&format!("{META}.{shared}"));
        }
        self.add_known(&name);
        let complete_like = |known: &str, schema: &mut Value| {
            for field in ["apiVersion", "kind", "metadata"] {
                schema["properties"][field] = KNOWN_SCHEMAS[known]["properties"][field].clone();
            }
        };
        let mut one = self.schemas.remove(&name).unwrap_or_else(|| {
            let mut schema = (*version.openapi).clone();
            complete(&mut schema);
            complete_like("io.k8s.api.core.v1.Namespace", &mut schema);
            schema
        });
        let told = format!(
            "List of {}. More info: \
             https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md",
            resource.plural
        );
        let items = json!({"$ref": format!("{SCHEMAS}{name}")});
        let mut list = json!({
            "description": format!("{} is a list of {}", resource.list_kind, resource.kind), "type": "object",
            "required": ["items"],
            "properties": {"items": {"description": told, "type": "array", "items": items}},
        });
        complete_like(&format!("{META}.Status"), &mut list);
        for (schema, kind) in [(&mut one, &resource.kind), (&mut list, &resource.list_kind)] {
            schema["x-kubernetes-group-version-kind"] = json!([tag(resource, version, kind)]);
            if resource.family == Family::Custom && !version.selectable.is_empty() {
                let fields = version.selectable.iter().map(|path| json!({"fieldPath": path}));
                schema["x-kubernetes-selectable-fields"] = fields.collect();
            }
        }
        self.schemas.insert(format!("{name}List"), list);
        self.schemas.insert(name, one);
    }

    /// Adds the paths of a resource.
    fn add_paths(&mut self, resource: &Resource, version: &Version) {
        let (namespaces, scope) = if resource.namespaced {
            ("/namespaces/{namespace}", "Namespaced")
        } else {
            ("", "")
        };
        let lines = include_str!("operations.txt")
            .replace("{root}", &path_of(&resource.group, &version.name))
            .replace("{namespaces}", namespaces)
            .replace("{plural}", &resource.plural)
            .replace("{place}", &camel(&resource.group, &version.name))
            .replace("{scope}", scope)
            .replace("{kind}", &resource.kind)
            .replace("{schema}", &schema_name(resource, version))
            .replace("{meta}", META);
        let mut path = "";
        for line in lines.lines().filter(|line| !line.starts_with('#')) {
            if line.starts_with('/') {
                path = line;
            }
            match line.trim().split(' ').collect::<Vec<_>>().as_slice() {
                _ if path.ends_with("/status") && !version.status_subresource => {}
                [_, "deletecollection", ..] if resource.family == Family::Namespace => {}
                [method, action, name, told @ ..] => {
                    let described = &mut self.paths[path][method];
                    *described = operation(told);
                    described["operationId"] = (*name).into();
                    described["x-kubernetes-action"] = (*action).into();
                    described["x-kubernetes-group-version-kind"] = tag(resource, version, &resource.kind);
                }
                _ => {
                    let names = ["name", "namespace", "pretty"].into_iter();
                    let names =
                        names.filter(|name| *name == "pretty" || path.contains(&format!("{{{name}}}")));
                    let parameters: Vec<Value> = names.map(parameter).collect();
                    self.paths
                        .insert(path.to_owned(), json!({"parameters": parameters}));
                }
            }
        }
    }
}

/// The name of a kind's schema: `com.example.v1.Widget`.
fn schema_name(resource: &Resource, version: &Version) -> String {
    let labels: Vec<&str> = resource.group.rsplit('.').collect();
    let package = match (resource.family, labels.last()) {
        (Family::Custom, _) => labels.join("."),
        (Family::Definition, _) => "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions".to_owned(),
        (_, None | Some(&"")) => "io.k8s.api.core".to_owned(),
        (_, Some(group)) => format!("io.k8s.api.{group}"),
    };
    format!("{package}.{}.{}", version.name, resource.kind)
}

/// The tag that clients find a kind by.
fn tag(resource: &Resource, version: &Version, kind: &str) -> Value {
    json!({"group": resource.group, "version": version.name, "kind": kind})
}

/// Describes an operation: request schema, response schema, status codes, parameters.
fn operation(told: &[&str]) -> Value {
    let [sent, answered, codes, parameters @ ..] = told else {
        return Value::Null;
    };
    let content = |name: &str, kinds: &[&str]| -> Value {
        let schema = json!({"schema": {"$ref": format!("{SCHEMAS}{name}")}});
        let kinds = kinds.iter().map(|kind| ((*kind).to_owned(), schema.clone()));
        kinds.collect()
    };
    let mut responses = json!({"401": {"description": "Unauthorized"}});
    for code in codes.split(',') {
        let told = StatusCode::from_bytes(code.as_bytes()).ok();
        let told = told.and_then(|code| code.canonical_reason());
        responses[code] = json!({"content": content(answered, &[JSON]), "description": told});
    }
    let parameters: Vec<Value> = parameters.iter().map(|name| parameter(name)).collect();
    let mut described = json!({"parameters": parameters, "responses": responses});
    if *sent != "-" {
        let kinds: &[&str] = if sent.ends_with(".Patch") {
            &PATCHES
        } else {
            &[JSON]
        };
        let is_needed = !sent.ends_with(".DeleteOptions");
        described["requestBody"] = json!({"content": content(sent, kinds), "required": is_needed});
    }
    described
}

/// A group and version in operation ids: `ExampleComV1`, `CoordinationV1`.
fn camel(group: &str, version: &str) -> String {
    let group = match group {
        "" => "core",
        group => group.strip_suffix(".k8s.io").unwrap_or(group),
    };
    let capital = |word: &str| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_uppercase() + rest
    };
    group.split(['.', '-']).chain([version]).map(capital).collect()
}

/// Describes a parameter.
fn parameter(name: &str) -> Value {
    let kind = match name {
        "allowWatchBookmarks" | "force" | "orphanDependents" | "sendInitialEvents" | "watch" => "boolean",
        "gracePeriodSeconds" | "limit" | "timeoutSeconds" => "integer",
        _ => "string",
    };
    let schema = json!({"type": kind, "uniqueItems": true});
    match name {
        "name" | "namespace" => json!({"name": name, "in": "path", "required": true, "schema": schema}),
        _ => json!({"name": name, "in": "query", "schema": schema}),
    }
}

/// Converts operations to version 2.
fn reduce_operations(told: &mut Value) {
    let fields = match told {
        Value::Array(items) => return items.iter_mut().for_each(reduce_operations),
        Value::Object(fields) => fields,
        _ => return,
    };
    if let (Some(mut body), Some(Value::Array(parameters))) =
        (fields.remove("requestBody"), fields.get_mut("parameters"))
    {
        let kinds = body["content"].as_object().into_iter().flat_map(Map::keys);
        let kinds = kinds.cloned().collect();
        body["name"] = "body".into();
        body["in"] = "body".into();
        parameters.push(body);
        fields.insert("consumes".to_owned(), kinds);
    }
    // All content types share one schema.
    if let Some(Value::Object(content)) = fields.remove("content") {
        for mut told in content.into_values().take(1) {
            fields.insert("schema".to_owned(), told["schema"].take());
        }
    }
    if fields.get("in").is_some_and(|place| place != "body")
        && let Some(Value::Object(schema)) = fields.remove("schema")
    {
        fields.extend(schema);
    }
    fields.values_mut().for_each(reduce_operations);
}
