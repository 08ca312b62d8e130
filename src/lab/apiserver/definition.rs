//! CustomResourceDefinitions: read from posted data, judged, and turned into a resource that is served at once.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::field::{FieldError, Path};
use super::names;
use super::resource::{Column, Family, Resource, Scale, Version};
use super::schema::{Schema, validate};

/// The annotation that tells where the community approved of a definition in one of its groups.
const APPROVAL: &str = "api-approved.kubernetes.io";

/// Fills in what the API server defaults in a definition.
pub(super) fn set_defaults(object: &mut Map<String, Value>) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    spec.entry("conversion")
        .or_insert_with(|| json!({"strategy": "None"}));
    spec.remove("preserveUnknownFields");
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
        let kind = names
            .get("kind")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        if !kind.is_empty() {
            names
                .entry("singular")
                .or_insert_with(|| kind.to_lowercase().into());
            names
                .entry("listKind")
                .or_insert_with(|| format!("{kind}List").into());
        }
    }
}

/// What is wrong with a definition, above all as the successor of `old`.
pub(super) fn check(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = read(new).err().unwrap_or_default();
    let Some(old) = old else {
        errors.extend(check_approval(new));
        return errors;
    };
    // The name cannot change: what no longer goes with it is told below.
    errors.retain(|error| error.field != "metadata.name");
    for pointer in [
        "/spec/scope",
        "/spec/group",
        "/spec/names/kind",
        "/spec/names/plural",
    ] {
        if new.pointer(pointer) != old.pointer(pointer) {
            let field = pointer[1..].replace('/', ".");
            let value = new.pointer(pointer).unwrap_or(&Value::Null);
            errors.push(FieldError::invalid(field, value, "field is immutable"));
        }
    }
    let versions = new["spec"]["versions"].as_array().into_iter().flatten();
    let versions: Vec<&Value> = versions.map(|version| &version["name"]).collect();
    let stored = old["status"]["storedVersions"].as_array().into_iter().flatten();
    for (i, name) in stored.enumerate().filter(|(_, name)| !versions.contains(name)) {
        let version = name.as_str().unwrap_or_default();
        let why = format!(
            "missing from spec.versions; {version} was previously a storage version, and must remain in spec.versions \
             until a storage migration ensures no data remains persisted in {version} and removes {version} from \
             status.storedVersions"
        );
        errors.push(FieldError::invalid(
            format!("status.storedVersions[{i}]"),
            name,
            &why,
        ));
    }
    errors
}

/// Groups of the Kubernetes community need its approval.
fn check_approval(definition: &Value) -> Option<FieldError> {
    let group = definition["spec"]["group"].as_str().unwrap_or_default();
    let is_of = |domain: &str| group == domain || group.ends_with(&format!(".{domain}"));
    let approval = &definition["metadata"]["annotations"][APPROVAL];
    let protected = is_of("k8s.io") || is_of("kubernetes.io");
    (protected && approval.as_str().is_none_or(str::is_empty)).then(|| {
        let why = format!(
            "protected groups must have approval annotation \"{APPROVAL}\", see \
             https://github.com/kubernetes/enhancements/pull/1111"
        );
        FieldError::required(format!("metadata.annotations[{APPROVAL}]"), &why)
    })
}

/// What is wrong with a definition; its resource when nothing is.
pub(super) fn read(object: &Value) -> Result<Resource, Vec<FieldError>> {
    let mut errors = Vec::new();
    let spec = &object["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, names) = (text(&spec["group"]), &spec["names"]);
    let (plural, kind) = (text(&names["plural"]), text(&names["kind"]));
    check_names(object, &group, &plural, &mut errors);
    let namespaced = match spec["scope"].as_str().unwrap_or_default() {
        "Namespaced" => true,
        "Cluster" => false,
        "" => {
            errors.push(FieldError::required("spec.scope", ""));
            false
        }
        other => {
            let scopes = ["Cluster", "Namespaced"].map(str::to_owned);
            errors.push(FieldError::not_supported("spec.scope", &other.into(), &scopes));
            false
        }
    };
    let versions = read_versions(spec, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    let texts = |value: &Value| {
        let list = value.as_array().into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    Ok(Resource {
        singular: text(&names["singular"]),
        list_kind: text(&names["listKind"]),
        short_names: texts(&names["shortNames"]),
        categories: texts(&names["categories"]),
        family: Family::Custom,
        group,
        plural,
        kind,
        namespaced,
        versions,
    })
}

fn check_names(object: &Value, group: &str, plural: &str, errors: &mut Vec<FieldError>) {
    if group.is_empty() {
        errors.push(FieldError::required("spec.group", ""));
    } else {
        let wrong = names::dns_subdomain(group);
        errors.extend(
            wrong
                .iter()
                .map(|why| FieldError::invalid_text("spec.group", group, why)),
        );
        if wrong.is_empty() && !group.contains('.') {
            let why = "should be a domain with at least one dot";
            errors.push(FieldError::invalid_text("spec.group", group, why));
        }
    }
    let names_of = &object["spec"]["names"];
    for field in ["plural", "singular", "kind", "listKind"] {
        let path = format!("spec.names.{field}");
        match names_of[field].as_str() {
            None | Some("") => errors.push(FieldError::required(path, "")),
            Some(name) => {
                let wrong = names::dns_1035_label(&name.to_lowercase());
                errors.extend(wrong.iter().map(|why| FieldError::invalid_text(&path, name, why)));
            }
        }
    }
    let kind = &names_of["kind"];
    if kind.is_string() && *kind == names_of["listKind"] {
        let why = "kind and listKind may not be the same";
        errors.push(FieldError::invalid("spec.names.listKind", kind, why));
    }
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    if !group.is_empty() && !plural.is_empty() && name != format!("{plural}.{group}") {
        let why = "must be spec.names.plural+\".\"+spec.group";
        errors.push(FieldError::invalid_text("metadata.name", name, why));
    }
}

fn read_versions(spec: &Value, errors: &mut Vec<FieldError>) -> Vec<Version> {
    let listed = spec["versions"].as_array().map_or(&[][..], Vec::as_slice);
    if listed.is_empty() {
        errors.push(FieldError::required(
            "spec.versions",
            "must have at least one version",
        ));
        return Vec::new();
    }
    let root = Path::ROOT.child("spec");
    let list_path = root.child("versions");
    // A schema that all versions share is judged once, where it once stood for all of them.
    let shared_path = root.child("validation");
    let schema_of = |version: &Value| version["schema"]["openAPIV3Schema"].clone();
    let first = schema_of(&listed[0]);
    let shared = listed.iter().all(|version| schema_of(version) == first);
    let mut versions: Vec<Version> = Vec::new();
    for (i, version) in listed.iter().enumerate() {
        let path = list_path.index(i);
        let name = version["name"].as_str().unwrap_or_default();
        let wrong = names::dns_1035_label(name);
        errors.extend(
            wrong
                .iter()
                .map(|why| FieldError::invalid_text(path.child("name"), name, why)),
        );
        if versions.iter().any(|other| other.name == name) {
            let why = "must contain unique version names";
            errors.push(FieldError::invalid_text(path.child("name"), name, why));
        }
        let own_path = path.child("schema");
        let schema_path = if shared { shared_path } else { own_path };
        let judged_before = shared && i > 0;
        let schema = match &version["schema"]["openAPIV3Schema"] {
            Value::Null => {
                errors.push(FieldError::required(own_path.child("openAPIV3Schema"), ""));
                continue;
            }
            schema => schema,
        };
        if schema["type"] != "object" && !judged_before {
            let why = "must be object at the root";
            let field = schema_path.child("openAPIV3Schema");
            errors.push(match schema["type"].as_str() {
                None | Some("") => FieldError::required(field.child("type"), why),
                Some(other) => FieldError::invalid_text(field.child("type"), other, why),
            });
        }
        let schema_path = schema_path.child("openAPIV3Schema");
        if !judged_before {
            check_structure(schema, &schema_path, errors);
        }
        match Schema::compile(schema, &schema_path) {
            Ok(schema) => versions.push(Version {
                name: name.to_owned(),
                served: version["served"] == Value::Bool(true),
                storage: version["storage"] == Value::Bool(true),
                status_subresource: version["subresources"]["status"].is_object(),
                schema,
                selectable: selectable(&version["selectableFields"]),
                columns: columns(&version["additionalPrinterColumns"]),
                scale: scale(&version["subresources"]["scale"]),
                openapi: Arc::new(version["schema"]["openAPIV3Schema"].clone()),
            }),
            Err(wrong) if !judged_before => errors.extend(wrong),
            Err(_) => {}
        }
    }
    let storing = listed
        .iter()
        .filter(|version| version["storage"] == Value::Bool(true));
    let storing: Vec<&Value> = storing.map(|version| &version["name"]).collect();
    if storing.len() != 1 {
        let why = "must have exactly one version marked as storage version";
        errors.push(FieldError::invalid("spec.versions", &spec["versions"], why));
    }
    match storing.as_slice() {
        [] => {
            let why = "must have at least one stored version";
            errors.push(FieldError::invalid("status.storedVersions", &Value::Null, why));
        }
        [_] => {}
        [first, .., last] => {
            let why = format!(
                "must have the storage version {}",
                last.as_str().unwrap_or_default()
            );
            errors.push(FieldError::invalid(
                "status.storedVersions",
                &json!([first]),
                &why,
            ));
        }
    }
    versions
}

fn selectable(fields: &Value) -> Vec<String> {
    let fields = fields.as_array().into_iter().flatten();
    let paths = fields.filter_map(|field| field["jsonPath"].as_str());
    paths
        .map(|path| path.trim_start_matches('.').to_owned())
        .collect()
}

fn columns(columns: &Value) -> Arc<[Column]> {
    let columns = columns.as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    columns
        .map(|column| Column {
            name: text(&column["name"]),
            kind: text(&column["type"]),
            format: text(&column["format"]),
            description: text(&column["description"]),
            priority: column["priority"].as_i64().unwrap_or_default(),
            path: text(&column["jsonPath"]),
        })
        .collect()
}

fn scale(scale: &Value) -> Option<Arc<Scale>> {
    let path = |name: &str| scale[name].as_str().unwrap_or_default().to_owned();
    scale.is_object().then(|| {
        Arc::new(Scale {
            spec_replicas: path("specReplicasPath"),
            status_replicas: path("statusReplicasPath"),
            label_selector: path("labelSelectorPath"),
        })
    })
}

/// The few demands on a structural schema that are commonly missed.
fn check_structure(schema: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let preserves = schema["x-kubernetes-preserve-unknown-fields"] == Value::Bool(true);
    let int_or_string = schema["x-kubernetes-int-or-string"] == Value::Bool(true);
    let kind = schema["type"].as_str().unwrap_or_default();
    if kind.is_empty() && !preserves && !int_or_string {
        errors.push(FieldError::required(
            path.child("type"),
            "must not be empty for specified object fields",
        ));
    }
    let has_properties = schema["properties"]
        .as_object()
        .is_some_and(|map| !map.is_empty());
    if has_properties && schema["additionalProperties"].is_object() {
        let why = "additionalProperties and properties are mutual exclusive";
        errors.push(FieldError::forbidden(path.child("additionalProperties"), why));
    }
    if schema["x-kubernetes-list-type"] == "map" {
        let keys = schema["x-kubernetes-list-map-keys"].as_array();
        if keys.is_none_or(Vec::is_empty) {
            errors.push(FieldError::required(
                path.child("x-kubernetes-list-map-keys"),
                "must not be empty if x-kubernetes-list-type is map",
            ));
        }
    }
    if !schema["default"].is_null()
        && let Ok(compiled) = Schema::compile(schema, path)
    {
        let at = path.child("default").to_string();
        let wrong = validate(&schema["default"], None, &compiled, "").into_iter();
        errors.extend(wrong.map(|error| FieldError {
            field: match error.field.as_str() {
                "<nil>" => at.clone(),
                field => format!("{at}.{field}"),
            },
            ..error
        }));
    }
    if kind == "array" && schema["items"].is_null() {
        errors.push(FieldError::required(path.child("items"), "must be specified"));
    }
    let below = path.child("properties");
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        check_structure(property, &below.key(name), errors);
    }
    if schema["additionalProperties"].is_object() {
        let below = path.child("additionalProperties");
        check_structure(&schema["additionalProperties"], &below, errors);
    }
    if schema["items"].is_object() {
        check_structure(&schema["items"], &path.child("items"), errors);
    }
}

/// The status of a definition before anything was done about it.
pub(super) fn new_status(object: &Value) -> Value {
    let versions = object["spec"]["versions"].as_array().into_iter().flatten();
    let stored: Vec<&Value> = versions
        .filter(|version| version["storage"] == Value::Bool(true))
        .map(|version| &version["name"])
        .collect();
    json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored})
}

/// Marks a definition whose objects are about to be deleted.
pub(super) fn mark_terminating(object: &mut Value, time: &str) {
    object["metadata"]["finalizers"] = json!(["customresourcecleanup.apiextensions.k8s.io"]);
    if let Some(conditions) = object["status"]["conditions"].as_array_mut() {
        conditions.push(json!({
            "type": "Terminating", "status": "True", "lastTransitionTime": time,
            "reason": "InstanceDeletionPending",
            "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        }));
    }
}

/// The status of an accepted definition, at `time`.
pub(super) fn status(object: &Value, time: &str) -> Value {
    let spec = &object["spec"];
    let condition = |kind: &str, reason: &str, message: &str| json!({"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": time});
    let known = object["status"]["storedVersions"].as_array().cloned();
    let mut stored = known.unwrap_or_default();
    let versions = spec["versions"].as_array().into_iter().flatten();
    for version in versions.filter(|version| version["storage"] == Value::Bool(true)) {
        if !stored.contains(&version["name"]) {
            stored.push(version["name"].clone());
        }
    }
    let conditions = match object["status"]["conditions"].as_array() {
        Some(known) if !known.is_empty() => known.clone(),
        _ => vec![
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition(
                "Established",
                "InitialNamesAccepted",
                "the initial names have been accepted",
            ),
        ],
    };
    json!({"conditions": conditions, "acceptedNames": spec["names"], "storedVersions": stored})
}
