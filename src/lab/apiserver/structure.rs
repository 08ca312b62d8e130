//! What a schema has to be like to be structural.

use serde_json::Value;

use super::field::{FieldError, Path};
use super::schema::{Schema, prune, validate};

/// What is said at the nodes of a schema's own tree, and nowhere within the branches of `allOf` and its like.
const STRUCTURAL: [(&str, &str); 7] = [
    ("type", "must be empty to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("default", "must be undefined to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("nullable", "must be false to be structural"),
    (
        "x-kubernetes-preserve-unknown-fields",
        "must be false to be structural",
    ),
];

/// Adds what is wrong with a version's schema: first what is wrong with the parts of it, and only where nothing is
/// whether they make sense together.
pub(super) fn check(schema: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let before = errors.len();
    if schema["type"] != "object" {
        let (field, why) = (path.child("type"), "must be object at the root");
        errors.push(match schema["type"].as_str() {
            None | Some("") => FieldError::required(field, why),
            Some(other) => FieldError::invalid_text(field, other, why),
        });
    }
    check_metadata(&schema["properties"]["metadata"], path, errors);
    each_node(schema, path, &mut |node, path| check_node(node, path, errors));
    match Schema::compile(schema, path) {
        Err(wrong) => errors.extend(wrong),
        Ok(_) if errors.len() == before => {
            each_node(schema, path, &mut |node, path| check_sense(node, path, errors))
        }
        Ok(_) => {}
    }
}

/// Calls `judge` for each node of the tree, without the branches.
pub(super) fn each_node(schema: &Value, path: &Path<'_>, judge: &mut dyn FnMut(&Value, &Path<'_>)) {
    judge(schema, path);
    let below = path.child("properties");
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        each_node(property, &below.key(name), judge);
    }
    for field in ["additionalProperties", "items"] {
        if schema[field].is_object() {
            each_node(&schema[field], &path.child(field), judge);
        }
    }
}

fn check_metadata(metadata: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let named = |name: &String| matches!(name.as_str(), "name" | "generateName");
    let known = |key: &String| matches!(key.as_str(), "type" | "properties" | "description");
    let Some(said) = metadata.as_object() else { return };
    let properties = metadata["properties"].as_object();
    if !said.keys().all(known) || properties.is_some_and(|fields| !fields.keys().all(named)) {
        let why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(FieldError::forbidden(
            path.child("properties").key("metadata"),
            why,
        ));
    }
}

fn check_node(schema: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let flag = |key: &str| schema[key] == Value::Bool(true);
    let text = |key: &str| schema[key].as_str().unwrap_or_default();
    let is_empty = |key: &str| schema[key].as_object().is_none_or(serde_json::Map::is_empty);
    for (key, why) in [
        ("$ref", "$ref is not supported"),
        ("definitions", "definitions is not supported"),
        ("dependencies", "dependencies is not supported"),
        ("patternProperties", "patternProperties is not supported"),
        ("additionalItems", "additionalItems is not supported"),
        ("id", "id is not supported"),
    ] {
        if !schema[key].is_null() {
            errors.push(FieldError::forbidden(path.child(key), why));
        }
    }
    if flag("uniqueItems") {
        let why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(FieldError::forbidden(path.child("uniqueItems"), why));
    }
    if !is_empty("properties") && schema["additionalProperties"].is_object() {
        let why = "additionalProperties and properties are mutual exclusive";
        errors.push(FieldError::forbidden(path.child("additionalProperties"), why));
    }
    if flag("x-kubernetes-embedded-resource")
        && !flag("x-kubernetes-preserve-unknown-fields")
        && is_empty("properties")
    {
        let why = "must not be empty if x-kubernetes-embedded-resource is true without \
                   x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(path.child("properties"), why));
    }
    for (key, kind, known) in [
        ("x-kubernetes-list-type", "array", &["atomic", "set", "map"][..]),
        ("x-kubernetes-map-type", "object", &["atomic", "granular"]),
    ] {
        let field = path.child(key);
        if schema[key].is_null() {
            continue;
        }
        if !known.contains(&text(key)) {
            let known: Vec<String> = known.iter().map(|known| (*known).to_owned()).collect();
            errors.push(FieldError::not_supported(field, &schema[key], &known));
        } else if text("type") != kind {
            let why = format!("must be {kind} if {key} is specified");
            errors.push(FieldError::invalid_text(path.child("type"), text("type"), &why));
        }
    }
    match text("x-kubernetes-list-type") {
        "set" => check_set_items(&schema["items"], &path.child("items"), errors),
        "map" => check_map_items(schema, path, errors),
        _ => {}
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        let path = path.child(key);
        for (i, branch) in schema[key].as_array().into_iter().flatten().enumerate() {
            check_branch(branch, &path.index(i), flag("x-kubernetes-int-or-string"), errors);
        }
    }
    if schema["not"].is_object() {
        check_branch(&schema["not"], &path.child("not"), false, errors);
    }
}

/// Only what is compared as a whole is told apart in a set.
fn check_set_items(items: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let key = match items["type"].as_str() {
        Some("object") => "x-kubernetes-map-type",
        Some("array") => "x-kubernetes-list-type",
        _ => return,
    };
    if items[key] != "atomic" && !(key == "x-kubernetes-list-type" && items[key].is_null()) {
        let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
        errors.push(FieldError::invalid(path.child(key), &items[key], why));
    }
}

fn check_map_items(schema: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let field = path.child("x-kubernetes-list-map-keys");
    let keys = schema["x-kubernetes-list-map-keys"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    if keys.is_empty() {
        let why = "must not be empty if x-kubernetes-list-type is map";
        errors.push(FieldError::required(field, why));
    }
    let items = &schema["items"];
    let required = items["required"].as_array().map_or(&[][..], Vec::as_slice);
    let path = path.child("items");
    let path = path.child("properties");
    for key in keys.iter().filter_map(Value::as_str) {
        let property = &items["properties"][key];
        let given = !property["default"].is_null() || required.iter().any(|name| name == key);
        if property.is_null() {
            let why = "entries must all be names of item properties";
            errors.push(FieldError::invalid_text(field, key, why));
        } else if !given {
            let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required \
                       property";
            errors.push(FieldError::required(path.key(key).child("default"), why));
        }
    }
}

/// A branch says what values may be like, not which fields there are. Only of what is a number or a text may it say
/// which of both.
fn check_branch(branch: &Value, path: &Path<'_>, may_have_type: bool, errors: &mut Vec<FieldError>) {
    for (key, why) in STRUCTURAL {
        let is_said = !matches!(&branch[key], Value::Null | Value::Bool(false))
            || key == "additionalProperties" && branch[key].is_boolean();
        if is_said && !(key == "type" && may_have_type) {
            errors.push(FieldError::forbidden(path.child(key), why));
        }
    }
    let below = path.child("properties");
    for (name, property) in branch["properties"].as_object().into_iter().flatten() {
        check_branch(property, &below.key(name), false, errors);
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        let path = path.child(key);
        for (i, branch) in branch[key].as_array().into_iter().flatten().enumerate() {
            check_branch(branch, &path.index(i), may_have_type, errors);
        }
    }
    for key in ["items", "not"] {
        if branch[key].is_object() {
            check_branch(&branch[key], &path.child(key), false, errors);
        }
    }
}

/// Types and defaults.
fn check_sense(schema: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let flag = |key: &str| schema[key] == Value::Bool(true);
    let kind = schema["type"].as_str().unwrap_or_default();
    if kind.is_empty() && !flag("x-kubernetes-preserve-unknown-fields") && !flag("x-kubernetes-int-or-string")
    {
        let why = "must not be empty for specified object fields";
        errors.push(FieldError::required(path.child("type"), why));
    }
    if flag("x-kubernetes-embedded-resource") && !schema["additionalProperties"].is_null() {
        let why = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(path.child("additionalProperties"), why));
    }
    if kind == "array" && schema["items"].is_null() {
        errors.push(FieldError::required(path.child("items"), "must be specified"));
    }
    if !schema["default"].is_null()
        && let Ok(compiled) = Schema::compile(schema, path)
    {
        let at = path.child("default").to_string();
        let mut default = schema["default"].clone();
        if default.is_object() && !prune(&mut default, &compiled).is_empty() {
            let why = "must not have unknown fields";
            errors.push(FieldError::invalid(&at, &schema["default"], why));
        }
        let wrong = validate(&schema["default"], None, &compiled, "").into_iter();
        errors.extend(wrong.map(|error| FieldError {
            field: match error.field.as_str() {
                "<nil>" => at.clone(),
                field => format!("{at}.{field}"),
            },
            ..error
        }));
    }
}
