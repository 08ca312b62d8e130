//! OpenAPI: what kubectl explains kinds by, and learns from what a server can be asked to check. Version 3 has a document
//! for each group and version and an index of them, version 2 one document for all.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bytes::Bytes;
use k8s_openapi::api::{coordination, core, events, rbac};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use k8s_openapi::schemars::generate::SchemaSettings;
use ring::digest::{SHA512, digest};
use serde_json::{Map, Value, json};

use super::discovery::{is_own, path_of};
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
    for fields in others.filter_map(|(_, schema)| schema.as_object_mut()) {
        fields.retain(|key, value| match (key.as_str(), value.as_array_mut()) {
            ("required", Some(names)) => {
                names.retain(|name| name != "metadata");
                !names.is_empty()
            }
            _ => true,
        });
    }
    schemas
});

/// All documents as they are sent, by their paths behind `/openapi/`.
pub(super) fn documents(storage: &Storage) -> BTreeMap<String, Bytes> {
    let mut swagger = Parts::default();
    let mut places: BTreeMap<_, Parts> = BTreeMap::new();
    for (resource, version) in storage.served() {
        let kind = Kind::new(resource, version);
        let place = places.entry((&resource.group, &version.name)).or_default();
        place.add(&kind);
        swagger.add(&kind);
    }
    let mut documents = BTreeMap::new();
    let mut index = Map::new();
    for ((group, version), Parts { schemas, paths }) in places {
        let (title, told) = match is_own(group) {
            true => ("Kubernetes", "1.36"),
            false => ("Kubernetes CRD Swagger", "v0.1.0"),
        };
        let document = json!({
            "openapi": "3.0.0", "info": {"title": title, "version": told}, "paths": paths,
            "components": {"schemas": schemas},
        });
        let document = Bytes::from(document.to_string());
        // The hash in the address tells clients whether what they remember is still true.
        let hash = digest(&SHA512, &document);
        let hash: String = hash.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
        let path = path_of(group, version);
        let address = format!("/openapi/v3{path}?hash={hash}");
        index.insert(path[1..].to_owned(), json!({"serverRelativeURL": address}));
        documents.insert(format!("v3{path}"), document);
    }
    swagger.schemas.values_mut().for_each(reduce);
    swagger.paths.values_mut().for_each(reduce_operations);
    let swagger = json!({
        "swagger": "2.0", "info": {"title": "Kubernetes", "version": "1.36"}, "paths": swagger.paths,
        "definitions": swagger.schemas,
    });
    let swagger = swagger.to_string().replace(SCHEMAS, "#/definitions/");
    documents.insert("v2".to_owned(), swagger.into());
    documents.insert("v3".to_owned(), json!({"paths": index}).to_string().into());
    documents
}

/// What the schema of a kind of the server's own says of a field: `spec.holderIdentity`. Empty when it is silent.
pub(super) fn description(kind: &str, path: &str) -> String {
    // Metadata is told alike everywhere.
    let (kind, path) = match path.strip_prefix("metadata.") {
        Some(path) => ("ObjectMeta", path),
        None => (kind, path),
    };
    // Both groups' Events are told alike, too.
    let is_of_kind = |name: &&String| name.rsplit('.').next() == Some(kind);
    let mut name = KNOWN.keys().find(is_of_kind).cloned();
    let mut told = &Value::Null;
    for field in path.split('.') {
        let Some(schema) = name.and_then(|name| KNOWN.get(&name)) else {
            break;
        };
        told = &schema["properties"][field];
        name = references(told).into_iter().next();
    }
    told["description"].as_str().unwrap_or_default().to_owned()
}

/// The names of the schemas that a schema refers to.
fn references(schema: &Value) -> Vec<String> {
    let text = schema.to_string();
    let names = text.split(SCHEMAS).skip(1);
    names
        .filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()))
        .collect()
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
    for_each_below(schema, complete);
}

/// Takes away what version 2 does not know, and what kubectl would take too literally there.
fn reduce(schema: &mut Value) {
    let flag = |key: &str| schema[key] == true;
    let (nullable, preserves) = (flag("nullable"), flag("x-kubernetes-preserve-unknown-fields"));
    let has_any_type = nullable || preserves || flag("x-kubernetes-int-or-string");
    let Value::Object(fields) = schema else { return };
    // A reference with a description stands beside it here.
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

/// The operations: method, action (that kubectl looks for), the beginning of the name (with group and version for `*`),
/// what is sent, what is answered with, the codes of that, and the parameters.
const OPERATIONS: [&str; 7] = [
    "get get read* - Object 200 resourceVersion",
    "put put replace* Object Object 200,201 dryRun fieldManager fieldValidation",
    "patch patch patch* Patch Object 200 dryRun fieldManager fieldValidation force",
    "delete delete delete* DeleteOptions Status 200,202 dryRun gracePeriodSeconds orphanDependents propagationPolicy",
    "get list list* - List 200 allowWatchBookmarks continue fieldSelector labelSelector limit resourceVersion \
     resourceVersionMatch sendInitialEvents timeoutSeconds watch",
    "post post create* Object Object 200,201,202 dryRun fieldManager fieldValidation",
    "delete deletecollection delete*Collection DeleteOptions Status 200 continue dryRun fieldSelector \
     gracePeriodSeconds labelSelector limit orphanDependents propagationPolicy resourceVersion resourceVersionMatch \
     timeoutSeconds",
];

/// What a document is made of.
#[derive(Default)]
struct Parts {
    schemas: Map<String, Value>,
    paths: Map<String, Value>,
}

impl Parts {
    /// Adds a known schema and all that it refers to.
    fn add_known(&mut self, name: &str) {
        if let Some(schema) = KNOWN.get(name)
            && !self.schemas.contains_key(name)
        {
            self.schemas.insert(name.to_owned(), schema.clone());
            for name in references(schema) {
                self.add_known(&name);
            }
        }
    }

    /// Adds the paths and the schemas of a kind, of lists of it, and of what comes with every kind.
    fn add(&mut self, kind: &Kind<'_>) {
        let (resource, version, name) = (kind.resource, kind.version, &kind.schema);
        for shared in ["ObjectMeta", "ListMeta", "DeleteOptions", "Patch", "Status"] {
            self.add_known(&format!("{META}.{shared}"));
        }
        self.add_known(name);
        let complete_like = |known: &str, schema: &mut Value| {
            for field in ["apiVersion", "kind", "metadata"] {
                schema["properties"][field] = KNOWN[known]["properties"][field].clone();
            }
        };
        let mut one = self.schemas.remove(name).unwrap_or_else(|| {
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
        for (schema, name) in [(&mut one, &resource.kind), (&mut list, &resource.list_kind)] {
            schema["x-kubernetes-group-version-kind"] = json!([kind.tagged(name)]);
            if resource.family == Family::Custom && !version.selectable.is_empty() {
                let fields = version.selectable.iter().map(|path| json!({"fieldPath": path}));
                schema["x-kubernetes-selectable-fields"] = fields.collect();
            }
        }
        self.schemas.insert(format!("{name}List"), list);
        self.schemas.insert(name.clone(), one);
        self.paths.extend(kind.paths());
    }
}

/// A kind, in one of its versions.
struct Kind<'a> {
    resource: &'a Resource,
    version: &'a Version,
    /// The name of its schema: `io.x-k8s.multicluster.v1alpha1.ClusterProfile`.
    schema: String,
}

impl<'a> Kind<'a> {
    fn new(resource: &'a Resource, version: &'a Version) -> Self {
        let labels: Vec<&str> = resource.group.rsplit('.').collect();
        let package = match (resource.family, labels.last()) {
            (Family::Custom, _) => labels.join("."),
            (Family::Definition, _) => "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions".to_owned(),
            (_, None | Some(&"")) => "io.k8s.api.core".to_owned(),
            (_, Some(group)) => format!("io.k8s.api.{group}"),
        };
        Self {
            resource,
            version,
            schema: format!("{package}.{}.{}", version.name, resource.kind),
        }
    }

    /// The paths by which it is reached, each described.
    fn paths(&self) -> Vec<(String, Value)> {
        let (plural, namespaced) = (&self.resource.plural, self.resource.namespaced);
        let root = path_of(&self.resource.group, &self.version.name);
        let scope = if namespaced { "/namespaces/{namespace}" } else { "" };
        let many = format!("{root}{scope}/{plural}");
        let one = format!("{many}/{{name}}");
        let all: &[&str] = match self.resource.family {
            Family::Namespace => &["list", "post"],
            _ => &["list", "post", "deletecollection"],
        };
        let mut paths = vec![
            self.path(many, "", all),
            self.path(one.clone(), "", &["get", "put", "delete", "patch"]),
        ];
        if self.version.status_subresource {
            paths.push(self.path(format!("{one}/status"), "Status", &["get", "put", "patch"]));
        }
        if namespaced {
            paths.push(self.path(format!("{root}/{plural}"), "ForAllNamespaces", &["list"]));
        }
        paths
    }

    /// Describes a path with the operations of these actions, the names of which end in `suffix`.
    fn path(&self, path: String, suffix: &str, actions: &[&str]) -> (String, Value) {
        let Self {
            resource, version, ..
        } = self;
        let of_path = ["name", "namespace", "pretty"].into_iter();
        let of_path = of_path.filter(|name| *name == "pretty" || path.contains(&format!("{{{name}}}")));
        let mut described = json!({"parameters": of_path.map(parameter).collect::<Vec<_>>()});
        let group_version = camel(&resource.group, &version.name);
        let scope = path.contains("{namespace}").then_some("Namespaced");
        let subject = format!("{}{}{suffix}", scope.unwrap_or_default(), resource.kind);
        for operation in OPERATIONS.map(|operation| operation.split(' ').collect::<Vec<_>>()) {
            let [method, action, verb, sent, answered, codes, ref query @ ..] = operation[..] else {
                continue;
            };
            if !actions.contains(&action) {
                continue;
            }
            let mut responses = json!({"401": {"description": "Unauthorized"}});
            for code in codes.split(',') {
                responses[code] = json!({"content": self.content(answered, &[JSON]), "description": match code {
                    "200" => "OK",
                    "201" => "Created",
                    _ => "Accepted",
                }});
            }
            described[method] = json!({
                "operationId": verb.replace('*', &group_version) + &subject, "responses": responses,
                "parameters": query.iter().map(|name| parameter(name)).collect::<Vec<_>>(),
                "x-kubernetes-action": action, "x-kubernetes-group-version-kind": self.tagged(&resource.kind),
            });
            if sent != "-" {
                let kinds: &[&str] = if sent == "Patch" { &PATCHES } else { &[JSON] };
                described[method]["requestBody"] =
                    json!({"content": self.content(sent, kinds), "required": sent != "DeleteOptions"});
            }
        }
        (path, described)
    }

    /// A kind of this group and version, as clients look for it.
    fn tagged(&self, kind: &str) -> Value {
        json!({"group": self.resource.group, "version": self.version.name, "kind": kind})
    }

    fn content(&self, what: &str, kinds: &[&str]) -> Value {
        let name = match what {
            "Object" => self.schema.clone(),
            "List" => format!("{}List", self.schema),
            shared => format!("{META}.{shared}"),
        };
        let schema = json!({"schema": {"$ref": format!("{SCHEMAS}{name}")}});
        let kinds = kinds.iter().map(|kind| ((*kind).to_owned(), schema.clone()));
        kinds.collect()
    }
}

/// A group and version within the name of an operation: `MulticlusterXK8sIoV1alpha1`, `CoordinationV1`.
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

/// Writes operations, and what they are made of, as version 2 does.
fn reduce_operations(told: &mut Value) {
    let fields = match told {
        Value::Array(items) => return items.iter_mut().for_each(reduce_operations),
        Value::Object(fields) => fields,
        _ => return,
    };
    if fields.contains_key("operationId") {
        fields.insert("produces".to_owned(), json!([JSON]));
    }
    if let Some(mut body) = fields.remove("requestBody") {
        let kinds = body["content"].as_object().into_iter().flat_map(Map::keys);
        fields.insert("consumes".to_owned(), kinds.cloned().collect());
        body["name"] = "body".into();
        body["in"] = "body".into();
        body["required"] = true.into();
        let parameters = fields.get_mut("parameters").and_then(Value::as_array_mut);
        parameters.into_iter().for_each(|all| all.push(body.clone()));
    }
    // Whatever the kind of the content, its schema is the same.
    if let Some(Value::Object(content)) = fields.remove("content") {
        let schemas = content.into_iter().take(1);
        fields.extend(schemas.map(|(_, mut told)| ("schema".to_owned(), told["schema"].take())));
    }
    if fields.get("in").is_some_and(|place| place != "body")
        && let Some(Value::Object(schema)) = fields.remove("schema")
    {
        fields.extend(schema);
    }
    fields.values_mut().for_each(reduce_operations);
}
