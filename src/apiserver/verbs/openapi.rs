//! OpenAPI v3, which kubectl explains kinds by: one document for each group and version, and an index.

use std::collections::BTreeMap;

use bytes::Bytes;
use ring::digest::{SHA512, digest};
use serde_json::{Map, Value, json};

use crate::{
    object::json::flag,
    store::{
        builtin::is_own,
        resource::{ApiVersion, Family, Resource, path_of},
        storage::{Documents, Storage},
    },
    typed::{OBJECT, type_schema},
};

pub(crate) const JSON: &str = "application/json";
/// The index is JSON, but kube-apiserver calls it text.
pub(crate) const INDEX: &str = "text/plain; charset=utf-8";
/// What references to schemas begin with.
const SCHEMAS: &str = "#/components/schemas/";
/// The patch types of all resources. Strategic ones are omitted: kubectl would merge by these schemas instead of by its
/// own, which say more.
const PATCHES: [&str; 3] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
];

/// Builds the documents.
pub(crate) fn documents(storage: &Storage) -> Documents {
    let mut places: BTreeMap<_, OpenApiParts> = BTreeMap::new();
    for (resource, version) in storage.served() {
        let place = places.entry((&resource.group, &version.name)).or_default();
        place.add_schemas(resource, version);
        place.add_paths(resource, version);
    }
    let mut documents = BTreeMap::new();
    let mut index = Map::new();
    for ((group, version), OpenApiParts { schemas, paths }) in places {
        let (title, info_version) = if is_own(group) {
            ("Kubernetes", "1.36")
        } else {
            ("Kubernetes CRD Swagger", "v0.1.0")
        };
        let document = json!({
            "openapi": "3.0.0", "info": {"title": title, "version": info_version}, "paths": paths,
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
    }
    let index = json!({"paths": index}).to_string();
    documents.insert(("/openapi/v3".to_owned(), INDEX), index.into());
    documents
}

/// Adds what CRDs leave implicit: the types of int-or-string values.
fn complete(schema: &mut Value) {
    if flag(schema, "x-kubernetes-int-or-string") && schema["anyOf"].is_null() {
        schema["anyOf"] = json!([{"type": "integer"}, {"type": "string"}]);
    }
    let Value::Object(fields) = schema else { return };
    for (key, below) in fields {
        match (key.as_str(), below) {
            ("properties", Value::Object(below)) => below.values_mut().for_each(complete),
            ("items" | "additionalProperties", below @ Value::Object(_)) => complete(below),
            _ => {}
        }
    }
}

/// The parts of a document.
#[derive(Default)]
struct OpenApiParts {
    schemas: Map<String, Value>,
    paths: Map<String, Value>,
}

impl OpenApiParts {
    /// Adds the schemas of a kind and of its list.
    fn add_schemas(&mut self, resource: &Resource, version: &ApiVersion) {
        let name = schema_name(resource, version);
        let mut one = (*version.openapi).clone();
        complete(&mut one);
        let description = format!("{} is a list of {}", resource.list_kind, resource.kind);
        let items = json!({"type": "array", "items": {"$ref": format!("{SCHEMAS}{name}")}});
        let mut list = json!({"description": description, "type": "object", "required": ["items"], "properties": {"items": items}});
        for field in ["apiVersion", "kind", "metadata"] {
            one["properties"][field] = OBJECT["properties"][field].clone();
            list["properties"][field] = OBJECT["properties"][field].clone();
        }
        list["properties"]["metadata"] = type_schema(".meta.v1.ListMeta");
        if let Some(required) = one["required"].as_array_mut() {
            // Objects may be sent without metadata.
            required.retain(|field| field != "metadata");
        }
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

    /// Adds what kubectl reads of a resource's operations: their kind, and the parameters and content types of patches.
    fn add_paths(&mut self, resource: &Resource, version: &ApiVersion) {
        let namespaces = if resource.namespaced {
            "/namespaces/{namespace}"
        } else {
            ""
        };
        let root = path_of(&resource.group, &version.name);
        let all = format!("{root}{namespaces}/{}", resource.plural);
        let kind = tag(resource, version, &resource.kind);
        let operation =
            |action: &str| json!({"x-kubernetes-action": action, "x-kubernetes-group-version-kind": kind});
        let parameter =
            |name| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}});
        let content: Map<_, _> = PATCHES
            .map(|kind| (kind.to_owned(), json!({})))
            .into_iter()
            .collect();
        let mut patch = operation("patch");
        patch["parameters"] = ["dryRun", "fieldManager", "fieldValidation", "force"]
            .map(parameter)
            .to_vec()
            .into();
        patch["requestBody"] = json!({"content": content, "required": true});
        let one = json!({"get": operation("get"), "put": operation("put"), "patch": patch, "delete": operation("delete")});
        self.paths.insert(format!("{all}/{{name}}"), one);
        let list = json!({"get": operation("list"), "post": operation("post")});
        self.paths.insert(all, list);
    }
}

/// The name of a kind's schema: `com.example.v1.Widget`.
fn schema_name(resource: &Resource, version: &ApiVersion) -> String {
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
fn tag(resource: &Resource, version: &ApiVersion, kind: &str) -> Value {
    json!({"group": resource.group, "version": version.name, "kind": kind})
}
