//! Checks that a schema is structural.

use regex::Regex;
use serde_json::Value;

use crate::{
    object::{
        field::{ErrorCollector, Errors, Path},
        json::{fields, flag, list, text, texts},
    },
    schema::{Schema, judge_rules, prune, validate},
};

/// Fields of the schema's own tree that are forbidden in branches of `allOf` and its like.
const STRUCTURAL: [(&str, &str); 7] = [
    ("type", "must be empty to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("default", "must be undefined to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("nullable", "must be false to be structural"),
    (PRESERVED, "must be false to be structural"),
];

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
const LIST_TYPE: &str = "x-kubernetes-list-type";
const MAP_TYPE: &str = "x-kubernetes-map-type";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";
const PRESERVED: &str = "x-kubernetes-preserve-unknown-fields";
const RULES: &str = "x-kubernetes-validations";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// Fields of JSON Schema that CRDs do not support.
const UNSUPPORTED: &str = "$ref definitions dependencies patternProperties additionalItems id";

/// Adds the errors of a version's schema, unless it is known to be valid. Checks that span several fields run only if the
/// single fields are valid.
pub(crate) fn check(schema: &Value, path: &Path<'_>, errors: &mut Errors) {
    let compiled = Schema::compile(schema);
    if compiled
        .as_ref()
        .is_ok_and(|compiled| compiled.valid.get().is_some())
    {
        return;
    }
    let before = errors.len();
    if schema["type"] != "object" {
        let (field, why) = (path.child("type"), "must be object at the root");
        match text(schema, "type") {
            "" => errors.required(field, why),
            other => errors.invalid(field, other, why),
        }
    }
    check_metadata(&schema["properties"]["metadata"], path, errors);
    each_node(schema, path, None, &mut |node, path, within| {
        check_node(node, path, errors);
        check_words(node, path, within, errors);
    });
    match compiled {
        _ if errors.len() > before => {}
        Ok(compiled) => {
            each_node(schema, path, None, &mut |node, path, _| {
                check_sense(node, path, errors)
            });
            if errors.len() == before {
                compiled.valid.get_or_init(|| ());
            }
        }
        Err(error) => errors.forbidden(path, &error.to_string()),
    }
}

/// Calls `judge` for each node outside of branches, with its path and that of a list above whose items cannot be
/// correlated.
fn each_node(
    schema: &Value,
    path: &Path<'_>,
    within: Option<&str>,
    judge: &mut dyn FnMut(&Value, &Path<'_>, Option<&str>),
) {
    judge(schema, path, within);
    let below = path.child("properties");
    for (name, property) in fields(schema, "properties") {
        each_node(property, &below.key(name), within, judge);
    }
    let list_path = path.to_string();
    let is_lost = !schema["items"].is_null() && schema[LIST_TYPE] != "map";
    let within = within.or(is_lost.then_some(list_path.as_str()));
    for field in ["additionalProperties", "items"] {
        if schema[field].is_object() {
            each_node(&schema[field], &path.child(field), within, judge);
        }
    }
}

fn check_metadata(metadata: &Value, path: &Path<'_>, errors: &mut Errors) {
    let valid = |key: &String| matches!(key.as_str(), "type" | "properties" | "description");
    let names = |name: &String| matches!(name.as_str(), "name" | "generateName");
    let Some(metadata_schema) = metadata.as_object() else {
        return;
    };
    if !metadata_schema.keys().all(valid) || !fields(metadata, "properties").all(|(name, _)| names(name)) {
        let why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.forbidden(path.child("properties").key("metadata"), why);
    }
}

/// Checks that apply to branches, too.
fn check_words(schema: &Value, path: &Path<'_>, within: Option<&str>, errors: &mut Errors) {
    let [kind, pattern] = ["type", "pattern"].map(|key| text(schema, key));
    for key in UNSUPPORTED.split(' ').filter(|key| !schema[*key].is_null()) {
        errors.forbidden(path.child(key), &format!("{key} is not supported"));
    }
    if !kind.is_empty() && !TYPES.contains(&kind) {
        errors.not_supported(path.child("type"), kind, &TYPES);
    }
    if !pattern.is_empty()
        && let Err(error) = Regex::new(pattern)
    {
        let why = format!("must be a valid regular expression, but isn't: {error}");
        errors.invalid(path.child("pattern"), pattern, &why);
    }
    if schema["items"].is_array() {
        let why = "items must be a schema object and not an array";
        errors.forbidden(path.child("items"), why);
    }
    if flag(schema, "uniqueItems") {
        let why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.forbidden(path.child("uniqueItems"), why);
    }
    if let (false, Ok(compiled)) = (schema[RULES].is_null(), Schema::compile(schema)) {
        judge_rules(&compiled, &path.child(RULES), within, errors);
    }
}

fn check_node(schema: &Value, path: &Path<'_>, errors: &mut Errors) {
    let kind = text(schema, "type");
    let is_empty = |key: &str| fields(schema, key).next().is_none();
    if !is_empty("properties") && schema["additionalProperties"].is_object() {
        let why = "additionalProperties and properties are mutual exclusive";
        errors.forbidden(path.child("additionalProperties"), why);
    }
    if flag(schema, EMBEDDED) {
        errors.forbidden(
            path.child(EMBEDDED),
            "this server does not support embedded objects",
        );
    }
    for (key, expected, values) in [
        (LIST_TYPE, "array", &["atomic", "set", "map"][..]),
        (MAP_TYPE, "object", &["atomic", "granular"]),
    ] {
        if schema[key].is_null() {
            continue;
        }
        if !values.contains(&text(schema, key)) {
            errors.not_supported(path.child(key), &schema[key], values);
        } else if kind != expected {
            let why = format!("must be {expected} if {key} is specified");
            errors.invalid(path.child("type"), kind, &why);
        }
    }
    match text(schema, LIST_TYPE) {
        "set" => check_set_items(&schema["items"], &path.child("items"), errors),
        "map" => check_map_items(schema, path, errors),
        _ => {}
    }
    check_branches(schema, path, flag(schema, INT_OR_STRING), errors);
}

/// Types and defaults.
fn check_sense(schema: &Value, path: &Path<'_>, errors: &mut Errors) {
    let kind = text(schema, "type");
    if kind.is_empty() && !flag(schema, PRESERVED) && !flag(schema, INT_OR_STRING) {
        let why = "must not be empty for specified object fields";
        errors.required(path.child("type"), why);
    }
    if kind == "array" && schema["items"].is_null() {
        errors.required(path.child("items"), "must be specified");
    }
    let (default, at) = (&schema["default"], path.child("default").to_string());
    if !default.is_null()
        && let Ok(compiled) = Schema::compile(schema)
    {
        if default.is_object() && !prune(&mut default.clone(), &compiled).is_empty() {
            errors.invalid(&at, default, "must not have unknown fields");
        }
        errors.extend(validate(default, None, &compiled, &at));
    }
}

/// Items of a set must be scalars, atomic lists or atomic maps.
fn check_set_items(items: &Value, path: &Path<'_>, errors: &mut Errors) {
    let key = match text(items, "type") {
        "object" => MAP_TYPE,
        "array" => LIST_TYPE,
        _ => return,
    };
    if items[key] != "atomic" && !(key == LIST_TYPE && items[key].is_null()) {
        let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
        errors.invalid(path.child(key), &items[key], why);
    }
}

fn check_map_items(schema: &Value, path: &Path<'_>, errors: &mut Errors) {
    const KEYS: &str = "x-kubernetes-list-map-keys";
    if list(schema, KEYS).is_empty() {
        let why = "must not be empty if x-kubernetes-list-type is map";
        errors.required(path.child(KEYS), why);
    }
    let items = &schema["items"];
    let items_path = path.child("items");
    let properties = items_path.child("properties");
    let required: Vec<&str> = texts(items, "required");
    for key in texts::<&str>(schema, KEYS) {
        let property = &items["properties"][key];
        let is_set = !property["default"].is_null() || required.contains(&key);
        if property.is_null() {
            let why = "entries must all be names of item properties";
            errors.invalid(path.child(KEYS), key, why);
        } else if !is_set {
            let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required \
                       property";
            errors.required(properties.key(key).child("default"), why);
        }
    }
}

/// Branches constrain values; they declare no fields. Only for int-or-string values may they name types.
fn check_branches(schema: &Value, path: &Path<'_>, may_have_type: bool, errors: &mut Errors) {
    for key in ["allOf", "anyOf", "oneOf"] {
        let path = path.child(key);
        for (i, branch) in list(schema, key).iter().enumerate() {
            check_branch(branch, &path.index(i), may_have_type, errors);
        }
    }
    if schema["not"].is_object() {
        check_branch(&schema["not"], &path.child("not"), false, errors);
    }
}

fn check_branch(branch: &Value, path: &Path<'_>, may_have_type: bool, errors: &mut Errors) {
    check_words(branch, path, None, errors);
    for (key, why) in STRUCTURAL {
        let is_said = !matches!(&branch[key], Value::Null | Value::Bool(false))
            || key == "additionalProperties" && branch[key].is_boolean();
        if is_said && !(key == "type" && may_have_type) {
            errors.forbidden(path.child(key), why);
        }
    }
    let below = path.child("properties");
    for (name, property) in fields(branch, "properties") {
        check_branch(property, &below.key(name), false, errors);
    }
    if branch["items"].is_object() {
        check_branch(&branch["items"], &path.child("items"), false, errors);
    }
    check_branches(branch, path, may_have_type, errors);
}
