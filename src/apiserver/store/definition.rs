//! CustomResourceDefinitions: defaults, checks, and the resources they define.

use std::sync::Arc;

use serde_json::{Map, Value, from_value, json};

use super::resource::{ApiVersion, Family, Resource, priority};
use crate::{
    object::{
        field::{ErrorCollector, Errors, Path},
        json::{flag, list, text, texts},
        meta, names, parts,
        parts::{COLUMNS, SELECTABLE},
    },
    schema::{Schema, structure},
};

/// The annotation that links the approval of a CRD in a community group.
const APPROVAL: &str = "api-approved.kubernetes.io";

/// Fills in the defaults of a CRD.
pub(crate) fn set_defaults(object: &mut Map<String, Value>) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    spec.entry("conversion")
        .or_insert_with(|| json!({"strategy": "None"}));
    if spec.get("preserveUnknownFields") == Some(&Value::Bool(false)) {
        spec.remove("preserveUnknownFields");
    }
    let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) else {
        return;
    };
    let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default();
    if !kind.is_empty() {
        let (singular, list_kind) = (kind.to_lowercase(), format!("{kind}List"));
        names.entry("singular").or_insert_with(|| singular.into());
        names.entry("listKind").or_insert_with(|| list_kind.into());
    }
}

fn versions(definition: &Value) -> &[Value] {
    list(&definition["spec"], "versions")
}

/// The names of the storage versions: one, if the CRD is valid.
fn storing(definition: &Value) -> Vec<Value> {
    let versions = versions(definition).iter();
    let storing = versions.filter(|version| flag(version, "storage"));
    storing.map(|version| version["name"].clone()).collect()
}

/// Checks a CRD, also as an update of `old`.
pub(crate) fn check(new: &Value, old: Option<&Value>) -> Errors {
    let mut errors = read(new, true).err().unwrap_or_default();
    let Some(old) = old else {
        check_approval(new, &mut errors);
        return errors;
    };
    // The name cannot change; the immutable fields below are reported instead.
    errors.retain(|error| error.field != "metadata.name");
    let established = is_true(old, "Established");
    for (pointer, always) in [
        ("/spec/scope", false),
        ("/spec/group", true),
        ("/spec/names/kind", false),
        ("/spec/names/plural", true),
    ] {
        if (always || established) && new.pointer(pointer) != old.pointer(pointer) {
            let field = pointer[1..].replace('/', ".");
            errors.invalid(field, new.pointer(pointer), "field is immutable");
        }
    }
    for (i, version) in texts::<&str>(&new["status"], "storedVersions").iter().enumerate() {
        if !versions(new).iter().any(|entry| entry["name"] == *version) {
            let why = format!(
                "missing from spec.versions; {version} was previously a storage version, and must remain in \
                 spec.versions until a storage migration ensures no data remains persisted in {version} and removes \
                 {version} from status.storedVersions"
            );
            errors.invalid(format!("status.storedVersions[{i}]"), version, &why);
        }
    }
    errors
}

/// CRDs in groups of the Kubernetes community need its approval.
fn check_approval(definition: &Value, errors: &mut Errors) {
    let group = text(&definition["spec"], "group");
    let is_of = |domain: &str| group == domain || group.ends_with(&format!(".{domain}"));
    let approval = text(&definition["metadata"]["annotations"], APPROVAL);
    if (is_of("k8s.io") || is_of("kubernetes.io")) && approval.is_empty() {
        let why = format!(
            "protected groups must have approval annotation \"{APPROVAL}\", see \
             https://github.com/kubernetes/enhancements/pull/1111"
        );
        errors.required(format!("metadata.annotations[{APPROVAL}]"), &why);
    }
}

/// The resource that a CRD defines, by its accepted names.
pub(crate) fn read_accepted(object: &Value) -> Result<Resource, Errors> {
    let mut accepted = object.clone();
    accepted["spec"]["names"] = object["status"]["acceptedNames"].clone();
    read(&accepted, false)
}

/// Reads the resource of a CRD, or returns its errors. `is_new` requires a domain as its group: only Kubernetes itself has
/// groups without a dot.
fn read(object: &Value, is_new: bool) -> Result<Resource, Errors> {
    let mut errors = Vec::new();
    let (spec, names) = (&object["spec"], &object["spec"]["names"]);
    check_names(object, is_new, &mut errors);
    if flag(spec, "preserveUnknownFields") {
        let why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.invalid("spec.preserveUnknownFields", true, why);
    }
    check_conversion(&spec["conversion"], &mut errors);
    let scope = text(spec, "scope");
    match scope {
        "" => errors.required("spec.scope", ""),
        _ => errors.one_of("spec.scope", scope, &["Cluster", "Namespaced"]),
    }
    check_versions(object, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(Resource {
        group: text(spec, "group").to_owned(),
        plural: text(names, "plural").to_owned(),
        singular: text(names, "singular").to_owned(),
        kind: text(names, "kind").to_owned(),
        list_kind: text(names, "listKind").to_owned(),
        short_names: texts(names, "shortNames"),
        categories: texts(names, "categories"),
        namespaced: scope == "Namespaced",
        family: Family::Custom,
        decode: None,
        versions: versions(object)
            .iter()
            .map(|version| read_version(object, version))
            .collect(),
    })
}

fn read_version(definition: &Value, version: &Value) -> ApiVersion {
    let schema = &version["schema"]["openAPIV3Schema"];
    ApiVersion {
        name: text(version, "name").to_owned(),
        served: flag(version, "served"),
        storage: flag(version, "storage"),
        status_subresource: version["subresources"]["status"].is_object(),
        schema: Schema::compile(schema).unwrap_or_default(),
        selectable: parts::selectable(version),
        columns: from_value(version[COLUMNS].clone()).unwrap_or_default(),
        openapi: Arc::new(schema.clone()),
        warning: deprecation(definition, version),
    }
}

/// Conversion changes only `apiVersion`. Webhooks are refused rather than ignored.
fn check_conversion(conversion: &Value, errors: &mut Errors) {
    match text(conversion, "strategy") {
        "None" => {}
        "Webhook" => errors.forbidden("spec.conversion.strategy", "no webhook is called from here"),
        other => errors.not_supported("spec.conversion.strategy", other, &["None", "Webhook"]),
    }
}

fn check_names(definition: &Value, is_new: bool, errors: &mut Errors) {
    let (spec, names) = (&definition["spec"], &definition["spec"]["names"]);
    let (group, plural) = (text(spec, "group"), text(names, "plural"));
    let before = errors.len();
    match group {
        "" if is_new => errors.required("spec.group", ""),
        "" => {}
        _ => errors.judge("spec.group", group, names::dns_subdomain),
    }
    if is_new && errors.len() == before && !group.contains('.') {
        errors.invalid("spec.group", group, "should be a domain with at least one dot");
    }
    for field in ["plural", "singular", "kind", "listKind"] {
        if text(names, field).is_empty() {
            errors.required(format!("spec.names.{field}"), "");
        }
    }
    check_words(names, "spec.names", errors);
    let name = meta::text(definition, "name");
    if !group.is_empty() && !plural.is_empty() && name != format!("{plural}.{group}") {
        let why = "must be spec.names.plural+\".\"+spec.group";
        errors.invalid("metadata.name", name, why);
    }
}

/// Adds the errors of the names that are set.
fn check_words(names: &Value, at: &str, errors: &mut Errors) {
    for field in ["plural", "singular", "kind", "listKind"] {
        let (at, name) = (format!("{at}.{field}"), text(names, field));
        match field {
            _ if name.is_empty() => {}
            "kind" | "listKind" => errors.judge(at, name, names::kind),
            _ => errors.judge(at, name, names::dns_1035_label),
        }
    }
    for field in ["shortNames", "categories"] {
        for (i, name) in texts(names, field).into_iter().enumerate() {
            errors.judge(format!("{at}.{field}[{i}]"), name, names::dns_1035_label);
        }
    }
    let kind = text(names, "kind");
    if !kind.is_empty() && names["listKind"] == kind {
        let why = "kind and listKind may not be the same";
        errors.invalid(format!("{at}.listKind"), kind, why);
    }
}

/// Adds the errors of a CRD's status.
pub(crate) fn check_status(definition: &Value, errors: &mut Errors) {
    let names = &definition["status"]["acceptedNames"];
    check_words(names, "status.acceptedNames", errors);
}

fn check_versions(definition: &Value, errors: &mut Errors) {
    let versions = versions(definition);
    if versions.is_empty() {
        return errors.required("spec.versions", "must have at least one version");
    }
    for (i, version) in versions.iter().enumerate() {
        let at = |field: &str| format!("spec.versions[{i}].{field}");
        let name = text(version, "name");
        errors.judge(at("name"), name, names::dns_1035_label);
        if versions[..i].iter().any(|other| other["name"] == name) {
            errors.invalid(at("name"), name, "must contain unique version names");
        }
        if version["schema"]["openAPIV3Schema"].is_null() {
            errors.required(at("schema.openAPIV3Schema"), "");
        }
        let warning = version["deprecationWarning"].as_str();
        if let Some(warning) = warning.filter(|_| !flag(version, "deprecated")) {
            let why = "can only be set for deprecated versions";
            errors.invalid(at("deprecationWarning"), warning, why);
        }
    }
    check_storing(definition, errors);
    each_part(versions, "schema", "validation", |version, path| {
        match &version["schema"]["openAPIV3Schema"] {
            // `check_versions` has reported a missing schema.
            Value::Null => {}
            schema => structure::check(schema, &path.child("openAPIV3Schema"), errors),
        }
    });
    each_part(versions, "subresources", "subresources", |version, path| {
        if !version["subresources"]["scale"].is_null() {
            errors.forbidden(
                path.child("scale"),
                "this server does not serve the scale subresource",
            );
        }
    });
    each_part(versions, COLUMNS, COLUMNS, |version, path| {
        parts::check_columns(list(version, COLUMNS), path, errors);
    });
    each_part(versions, SELECTABLE, SELECTABLE, |version, path| {
        parts::check_selectable(version, path, errors);
    });
}

/// Calls `judge` with each version's `part` and its path. A part that all versions share is judged once, with its path
/// from before there were several versions.
fn each_part(versions: &[Value], part: &str, shared: &str, mut judge: impl FnMut(&Value, &Path<'_>)) {
    let spec = Path::ROOT.child("spec");
    if versions.iter().all(|version| version[part] == versions[0][part]) {
        return judge(&versions[0], &spec.child(shared));
    }
    let path = spec.child("versions");
    for (i, version) in versions.iter().enumerate() {
        judge(version, &path.index(i).child(part));
    }
}

/// Exactly one version is the storage version.
fn check_storing(definition: &Value, errors: &mut Errors) {
    let (storing, stored) = (storing(definition), "status.storedVersions");
    if storing.len() != 1 {
        let why = "must have exactly one version marked as storage version";
        errors.invalid("spec.versions", versions(definition), why);
    }
    match storing.as_slice() {
        [] => errors.invalid(stored, (), "must have at least one stored version"),
        [_] => {}
        [first, .., last] => {
            let why = format!(
                "must have the storage version {}",
                last.as_str().unwrap_or_default()
            );
            errors.invalid(stored, [first], &why);
        }
    }
}

/// The warning about a deprecated version.
fn deprecation(definition: &Value, version: &Value) -> Option<String> {
    if !flag(version, "deprecated") {
        return None;
    }
    if let Some(warning) = version["deprecationWarning"].as_str() {
        return Some(warning.to_owned());
    }
    let (spec, name) = (&definition["spec"], text(version, "name"));
    let full = |name: &str| format!("{}/{name} {}", text(spec, "group"), text(&spec["names"], "kind"));
    let better = versions(definition)
        .iter()
        .filter(|other| flag(other, "served") && !flag(other, "deprecated"))
        .map(|other| text(other, "name"))
        .filter(|other| priority(other) > priority(name))
        .max_by_key(|other| priority(other));
    let instead = better.map_or(String::new(), |better| format!("; use {}", full(better)));
    Some(format!("{} is deprecated{instead}", full(name)))
}

/// The initial status of a CRD.
pub(crate) fn new_status(object: &Value) -> Value {
    let names = json!({"plural": "", "kind": ""});
    json!({"conditions": null, "acceptedNames": names, "storedVersions": storing(object)})
}

/// Adds the storage version to `status.storedVersions`.
pub(crate) fn note_storage(definition: &mut Value) {
    let storing = storing(definition);
    if let Some(stored) = definition["status"]["storedVersions"].as_array_mut() {
        for name in storing {
            if !stored.contains(&name) {
                stored.push(name);
            }
        }
    }
}

/// True if a condition of this type has the status `True`.
pub(crate) fn is_true(definition: &Value, kind: &str) -> bool {
    let mut conditions = list(&definition["status"], "conditions").iter();
    conditions.any(|condition| condition["type"] == kind && condition["status"] == "True")
}

/// Sets a condition. `lastTransitionTime` changes only with the condition's status.
pub(crate) fn set_condition(
    status: &mut Value,
    kind: &str,
    value: &str,
    (reason, message): (&str, &str),
    time: &str,
) {
    let mut condition = json!({
        "type": kind, "status": value, "lastTransitionTime": time, "reason": reason, "message": message,
    });
    let mut conditions = list(status, "conditions").to_vec();
    match conditions.iter_mut().find(|old| old["type"] == kind) {
        Some(old) => {
            if old["status"] == value {
                condition["lastTransitionTime"] = old["lastTransitionTime"].clone();
            }
            *old = condition;
        }
        None => conditions.push(condition),
    }
    status["conditions"] = conditions.into();
}
