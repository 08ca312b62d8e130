//! CustomResourceDefinitions: read from posted data, judged, and turned into a resource that is served at once.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::accepting;
use super::discovery::priority;
use super::field::{FieldError, Path};
use super::names;
use super::parts;
use super::resource::{Family, Resource, Version};
use super::schema::{Schema, is_known_format};
use super::structure;

/// The annotation that tells where the community approved of a definition in one of its groups.
const APPROVAL: &str = "api-approved.kubernetes.io";

/// Fills in what the API server defaults in a definition.
pub(super) fn set_defaults(object: &mut Map<String, Value>) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    spec.entry("conversion")
        .or_insert_with(|| json!({"strategy": "None"}));
    if spec.get("preserveUnknownFields") == Some(&Value::Bool(false)) {
        spec.remove("preserveUnknownFields");
    }
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
    let established = accepting::is_true(old, "Established");
    for (pointer, always) in [
        ("/spec/scope", false),
        ("/spec/group", true),
        ("/spec/names/kind", false),
        ("/spec/names/plural", true),
    ] {
        if (always || established) && new.pointer(pointer) != old.pointer(pointer) {
            let field = pointer[1..].replace('/', ".");
            let value = new.pointer(pointer).unwrap_or(&Value::Null);
            errors.push(FieldError::invalid(field, value, "field is immutable"));
        }
    }
    let versions = new["spec"]["versions"].as_array().into_iter().flatten();
    let versions: Vec<&Value> = versions.map(|version| &version["name"]).collect();
    let stored = new["status"]["storedVersions"].as_array().into_iter().flatten();
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

/// What a definition makes of its resource, by the names that it got.
pub(super) fn read_accepted(object: &Value) -> Result<Resource, Vec<FieldError>> {
    let mut accepted = object.clone();
    accepted["spec"]["names"] = object["status"]["acceptedNames"].clone();
    read(&accepted)
}

/// What is wrong with a definition; its resource when nothing is.
fn read(object: &Value) -> Result<Resource, Vec<FieldError>> {
    let mut errors = Vec::new();
    let spec = &object["spec"];
    let (group, names) = (text(&spec["group"]), &spec["names"]);
    let (plural, kind) = (text(&names["plural"]), text(&names["kind"]));
    check_names(object, &group, &plural, &mut errors);
    if spec["preserveUnknownFields"] == Value::Bool(true) {
        let why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.push(FieldError::invalid(
            "spec.preserveUnknownFields",
            &true.into(),
            why,
        ));
    }
    check_conversion(&spec["conversion"], &mut errors);
    let scope = spec["scope"].as_str().unwrap_or_default();
    match scope {
        "Namespaced" | "Cluster" => {}
        "" => errors.push(FieldError::required("spec.scope", "")),
        other => {
            let scopes = ["Cluster", "Namespaced"].map(str::to_owned);
            errors.push(FieldError::not_supported("spec.scope", &other.into(), &scopes));
        }
    }
    let versions = read_versions(spec, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(Resource {
        singular: text(&names["singular"]),
        list_kind: text(&names["listKind"]),
        short_names: texts(&names["shortNames"]),
        categories: texts(&names["categories"]),
        family: Family::Custom,
        namespaced: scope == "Namespaced",
        group,
        plural,
        kind,
        versions,
    })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(list: &Value) -> Vec<String> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Objects are not converted but for their version. What others would convert is refused, not served wrongly.
fn check_conversion(conversion: &Value, errors: &mut Vec<FieldError>) {
    let webhook = &conversion["webhook"];
    match conversion["strategy"].as_str().unwrap_or_default() {
        "None" => {}
        "Webhook" if webhook.is_object() => {
            let why = "no webhook is called from here";
            errors.push(FieldError::forbidden("spec.conversion.strategy", why));
        }
        "Webhook" => {
            errors.push(FieldError::required(
                "spec.conversion.conversionReviewVersions",
                "",
            ));
            let why = "required when strategy is set to Webhook";
            errors.push(FieldError::required("spec.conversion.webhookClientConfig", why));
        }
        other => {
            let known = ["None", "Webhook"].map(str::to_owned);
            errors.push(FieldError::not_supported(
                "spec.conversion.strategy",
                &other.into(),
                &known,
            ));
        }
    }
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
    for field in ["plural", "singular", "kind", "listKind"] {
        if object["spec"]["names"][field]
            .as_str()
            .unwrap_or_default()
            .is_empty()
        {
            errors.push(FieldError::required(format!("spec.names.{field}"), ""));
        }
    }
    check_words(&object["spec"]["names"], "spec.names", errors);
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    if !group.is_empty() && !plural.is_empty() && name != format!("{plural}.{group}") {
        let why = "must be spec.names.plural+\".\"+spec.group";
        errors.push(FieldError::invalid_text("metadata.name", name, why));
    }
}

/// What is wrong with the names that there are.
fn check_words(names_of: &Value, at: &str, errors: &mut Vec<FieldError>) {
    for field in ["plural", "singular", "kind", "listKind"] {
        let name = names_of[field].as_str().unwrap_or_default();
        let (mixed, wrong) = match field {
            _ if name.is_empty() => continue,
            "kind" | "listKind" => (
                "may have mixed case, but should otherwise match: ",
                names::dns_1035_label(&name.to_lowercase()),
            ),
            _ => ("", names::dns_1035_label(name)),
        };
        let told = wrong.iter().map(|why| format!("{mixed}{why}"));
        errors.extend(told.map(|why| FieldError::invalid_text(format!("{at}.{field}"), name, &why)));
    }
    for field in ["shortNames", "categories"] {
        for (i, name) in texts(&names_of[field]).iter().enumerate() {
            let path = format!("{at}.{field}[{i}]");
            let wrong = names::dns_1035_label(name);
            errors.extend(wrong.iter().map(|why| FieldError::invalid_text(&path, name, why)));
        }
    }
    let kind = &names_of["kind"];
    if kind.as_str().is_some_and(|kind| !kind.is_empty()) && *kind == names_of["listKind"] {
        let why = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(format!("{at}.listKind"), kind, why));
    }
}

/// What is wrong with the status of a definition.
pub(super) fn check_status(definition: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check_words(
        &definition["status"]["acceptedNames"],
        "status.acceptedNames",
        &mut errors,
    );
    errors
}

fn read_versions(spec: &Value, errors: &mut Vec<FieldError>) -> Vec<Version> {
    let listed = spec["versions"].as_array().map_or(&[][..], Vec::as_slice);
    if listed.is_empty() {
        let why = "must have at least one version";
        errors.push(FieldError::required("spec.versions", why));
        return Vec::new();
    }
    let before = errors.len();
    check_versions(spec, listed, errors);
    each_part(listed, "schema", "validation", |_, schema, path| {
        match &schema["openAPIV3Schema"] {
            // That one is missed where it is looked for today.
            Value::Null => {}
            schema => structure::check(schema, &path.child("openAPIV3Schema"), errors),
        }
    });
    each_part(listed, "subresources", "subresources", |_, part, path| {
        if part["scale"].is_object() {
            parts::check_scale(&part["scale"], &path.child("scale"), errors);
        }
    });
    each_part(listed, COLUMNS, COLUMNS, |_, part, path| {
        parts::check_columns(part, path, errors)
    });
    each_part(listed, SELECTABLE, SELECTABLE, |i, part, path| {
        parts::check_selectable(part, &listed[i]["schema"]["openAPIV3Schema"], path, errors);
    });
    if errors.len() > before {
        return Vec::new();
    }
    let read = |version: &Value| {
        let schema = &version["schema"]["openAPIV3Schema"];
        Version {
            name: text(&version["name"]),
            served: version["served"] == Value::Bool(true),
            storage: version["storage"] == Value::Bool(true),
            status_subresource: version["subresources"]["status"].is_object(),
            schema: Schema::compile(schema, &Path::ROOT).unwrap_or_default(),
            selectable: parts::selectable(&version[SELECTABLE]),
            columns: Arc::new(version[COLUMNS].clone()),
            scale: parts::scale(&version["subresources"]["scale"]),
            openapi: Arc::new(schema.clone()),
            warning: deprecation(spec, version),
        }
    };
    listed.iter().map(read).collect()
}

const COLUMNS: &str = "additionalPrinterColumns";
const SELECTABLE: &str = "selectableFields";

/// Calls `judge` with a part of each version and its path; once with a part that all versions share, and with the
/// path where that once stood for all of them.
fn each_part(listed: &[Value], part: &str, shared: &str, mut judge: impl FnMut(usize, &Value, &Path<'_>)) {
    let spec = Path::ROOT.child("spec");
    if listed.iter().all(|version| version[part] == listed[0][part]) {
        return judge(0, &listed[0][part], &spec.child(shared));
    }
    let versions = spec.child("versions");
    for (i, version) in listed.iter().enumerate() {
        judge(i, &version[part], &versions.index(i).child(part));
    }
}

/// Names, schemas and the stored one among versions.
fn check_versions(spec: &Value, listed: &[Value], errors: &mut Vec<FieldError>) {
    for (i, version) in listed.iter().enumerate() {
        let at = |field: &str| format!("spec.versions[{i}].{field}");
        let name = version["name"].as_str().unwrap_or_default();
        let wrong = names::dns_1035_label(name);
        errors.extend(
            wrong
                .iter()
                .map(|why| FieldError::invalid_text(at("name"), name, why)),
        );
        if listed[..i].iter().any(|other| other["name"] == name) {
            let why = "must contain unique version names";
            errors.push(FieldError::invalid_text(at("name"), name, why));
        }
        if version["schema"]["openAPIV3Schema"].is_null() {
            errors.push(FieldError::required(at("schema.openAPIV3Schema"), ""));
        }
        if let Some(warning) = version["deprecationWarning"].as_str()
            && version["deprecated"] != Value::Bool(true)
        {
            let why = "can only be set for deprecated versions";
            errors.push(FieldError::invalid_text(at("deprecationWarning"), warning, why));
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
            let why = format!("must have the storage version {}", text(last));
            let seen = json!([first]);
            errors.push(FieldError::invalid("status.storedVersions", &seen, &why));
        }
    }
}

/// The formats in a definition's schemas of which nothing is known, each once.
pub(super) fn unknown_formats(definition: &Value) -> BTreeSet<String> {
    let mut unknown = BTreeSet::new();
    for version in definition["spec"]["versions"].as_array().into_iter().flatten() {
        let schema = &version["schema"]["openAPIV3Schema"];
        structure::each_node(schema, &Path::ROOT, &mut |node, _| {
            let format = node["format"].as_str().unwrap_or_default();
            if !format.is_empty() && !is_known_format(format) {
                unknown.insert(format.to_owned());
            }
        });
    }
    unknown
}

/// What those who use a deprecated version are told.
fn deprecation(spec: &Value, version: &Value) -> Option<String> {
    if version["deprecated"] != Value::Bool(true) {
        return None;
    }
    if let Some(warning) = version["deprecationWarning"].as_str() {
        return Some(warning.to_owned());
    }
    let full = |name: &str| format!("{}/{name} {}", text(&spec["group"]), text(&spec["names"]["kind"]));
    let name = text(&version["name"]);
    let others = spec["versions"].as_array().into_iter().flatten();
    let better = others
        .filter(|other| other["served"] == Value::Bool(true) && other["deprecated"] != Value::Bool(true))
        .filter_map(|other| other["name"].as_str())
        .filter(|other| priority(other) > priority(&name))
        .max_by_key(|other| priority(other));
    let instead = better.map_or(String::new(), |better| format!("; use {}", full(better)));
    Some(format!("{} is deprecated{instead}", full(&name)))
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

/// Notes in which versions objects may be stored, whenever a definition is written.
pub(super) fn note_storage(definition: &mut Value) {
    let versions = definition["spec"]["versions"].as_array().into_iter().flatten();
    let storing = versions.filter(|version| version["storage"] == Value::Bool(true));
    let storing: Vec<Value> = storing.map(|version| version["name"].clone()).collect();
    if let Some(stored) = definition["status"]["storedVersions"].as_array_mut() {
        for name in storing {
            if !stored.contains(&name) {
                stored.push(name);
            }
        }
    }
}
