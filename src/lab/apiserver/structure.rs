//! What a schema has to be like to be structural.

use serde_json::{Map, Value};

use super::field::{FieldError, Path};
use super::found::Found;
use super::schema::{Extra, ListType, Schema, Type, judge_rules, prune, validate};
use super::value::{fields, flag, list, text, texts};

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

/// What schemas of definitions do not have.
const UNSUPPORTED: [&str; 6] = [
    "$ref",
    "definitions",
    "dependencies",
    "patternProperties",
    "additionalItems",
    "id",
];

/// A node of a schema's own tree, as it was sent and as it was read.
#[derive(Clone, Copy)]
struct Node<'a> {
    sent: &'a Value,
    schema: &'a Schema,
    path: Path<'a>,
    /// The list in which it is whose items cannot be found again.
    within: Option<&'a str>,
}

/// Adds what is wrong with a version's schema: first what is wrong with the parts of it, and only where nothing is
/// whether they make sense together.
pub(super) fn check(sent: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let before = errors.len();
    if sent["type"] != "object" {
        let (field, why) = (path.child("type"), "must be object at the root");
        match text(sent, "type") {
            "" => errors.required(field, why),
            other => errors.invalid(field, other, why),
        }
    }
    check_metadata(&sent["properties"]["metadata"], path, errors);
    let schema = match Schema::compile(sent) {
        Ok(schema) => schema,
        Err(error) => return errors.forbidden(path, &error.to_string()),
    };
    let root = Node {
        sent,
        schema: &schema,
        path: *path,
        within: None,
    };
    root.each(&mut |node| node.check(errors));
    if errors.len() == before {
        root.each(&mut |node| node.check_sense(errors));
    }
}

/// Calls `judge` for each node of the tree, without the branches.
pub(super) fn each_node(sent: &Value, judge: &mut dyn FnMut(&Value)) {
    judge(sent);
    let properties = fields(sent, "properties").map(|(_, property)| property);
    for below in properties.chain([&sent["additionalProperties"], &sent["items"]]) {
        if below.is_object() {
            each_node(below, judge);
        }
    }
}

fn check_metadata(metadata: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let is_wrong = metadata.as_object().is_some_and(|said| {
        let mut said = said.keys();
        !said.all(|key| matches!(key.as_str(), "type" | "properties" | "description"))
            || !fields(metadata, "properties")
                .all(|(name, _)| matches!(name.as_str(), "name" | "generateName"))
    });
    if is_wrong {
        let why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.forbidden(path.child("properties").key("metadata"), why);
    }
}

impl Node<'_> {
    fn each(&self, judge: &mut dyn FnMut(&Node<'_>)) {
        judge(self);
        let properties = self.path.child("properties");
        for (name, schema) in &self.schema.properties {
            let (sent, path) = (&self.sent["properties"][name], properties.key(name));
            Node {
                sent,
                schema,
                path,
                ..*self
            }
            .each(judge);
        }
        if let Extra::Schema(schema) = &self.schema.extra {
            let (sent, path) = (
                &self.sent["additionalProperties"],
                self.path.child("additionalProperties"),
            );
            Node {
                sent,
                schema,
                path,
                ..*self
            }
            .each(judge);
        }
        if let Some(schema) = &self.schema.items {
            let own = self.path.to_string();
            let is_lost = self.schema.list_type != ListType::Map;
            let within = self.within.or(is_lost.then_some(own.as_str()));
            let (sent, path) = (&self.sent["items"], self.path.child("items"));
            Node {
                sent,
                schema,
                path,
                within,
            }
            .each(judge);
        }
    }

    fn check(&self, errors: &mut Vec<FieldError>) {
        let (sent, path) = (self.sent, &self.path);
        let is_empty = |key: &str| sent[key].as_object().is_none_or(Map::is_empty);
        for key in UNSUPPORTED.iter().filter(|key| !sent[**key].is_null()) {
            errors.forbidden(path.child(key), &format!("{key} is not supported"));
        }
        if !text(sent, "type").is_empty() && Type::read(text(sent, "type")).is_none() {
            errors.not_supported(
                path.child("type"),
                &sent["type"],
                &Type::NAMES.map(|(name, _)| name),
            );
        }
        if let Err(error) = regex::Regex::new(text(sent, "pattern")) {
            let why = format!("must be a valid regular expression, but isn't: {error}");
            errors.invalid(path.child("pattern"), text(sent, "pattern"), &why);
        }
        if flag(sent, "uniqueItems") {
            let why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            errors.forbidden(path.child("uniqueItems"), why);
        }
        if !is_empty("properties") && sent["additionalProperties"].is_object() {
            let why = "additionalProperties and properties are mutual exclusive";
            errors.forbidden(path.child("additionalProperties"), why);
        }
        if self.schema.embedded_resource && !self.schema.preserve_unknown && is_empty("properties") {
            let why = "must not be empty if x-kubernetes-embedded-resource is true without \
                       x-kubernetes-preserve-unknown-fields";
            errors.required(path.child("properties"), why);
        }
        for (key, kind, known) in [
            ("x-kubernetes-list-type", "array", &["atomic", "set", "map"][..]),
            ("x-kubernetes-map-type", "object", &["atomic", "granular"]),
        ] {
            if sent[key].is_null() {
            } else if !known.contains(&text(sent, key)) {
                errors.not_supported(path.child(key), &sent[key], known);
            } else if text(sent, "type") != kind {
                let why = format!("must be {kind} if {key} is specified");
                errors.invalid(path.child("type"), text(sent, "type"), &why);
            }
        }
        match self.schema.list_type {
            ListType::Set => check_set_items(&sent["items"], &path.child("items"), errors),
            ListType::Map => check_map_items(sent, path, errors),
            ListType::Atomic => {}
        }
        check_branches(sent, path, flag(sent, "x-kubernetes-int-or-string"), errors);
        judge_rules(self.schema, path, self.within, errors);
    }

    /// Types and defaults.
    fn check_sense(&self, errors: &mut Vec<FieldError>) {
        let (sent, schema, path) = (self.sent, self.schema, &self.path);
        if schema.types.is_empty() && !schema.preserve_unknown {
            let why = "must not be empty for specified object fields";
            errors.required(path.child("type"), why);
        }
        if schema.embedded_resource && !sent["additionalProperties"].is_null() {
            let why = "must not be used if x-kubernetes-embedded-resource is set";
            errors.forbidden(path.child("additionalProperties"), why);
        }
        if schema.types == [Type::Array] && schema.items.is_none() {
            errors.required(path.child("items"), "must be specified");
        }
        let Some(default) = &schema.default else { return };
        let at = path.child("default").to_string();
        if default.is_object() && !prune(&mut default.clone(), schema).is_empty() {
            errors.invalid(&at, default, "must not have unknown fields");
        }
        errors.extend(validate(default, None, schema, &at));
    }
}

/// Only what is compared as a whole is told apart in a set.
fn check_set_items(items: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let key = match text(items, "type") {
        "object" => "x-kubernetes-map-type",
        "array" => "x-kubernetes-list-type",
        _ => return,
    };
    if items[key] != "atomic" && !(key == "x-kubernetes-list-type" && items[key].is_null()) {
        let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
        errors.invalid(path.child(key), &items[key], why);
    }
}

fn check_map_items(sent: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    const KEYS: &str = "x-kubernetes-list-map-keys";
    if list(sent, KEYS).is_empty() {
        errors.required(
            path.child(KEYS),
            "must not be empty if x-kubernetes-list-type is map",
        );
    }
    let items = &sent["items"];
    let items_path = path.child("items");
    let properties = items_path.child("properties");
    for key in texts(sent, KEYS) {
        let property = &items["properties"][key];
        let given = !property["default"].is_null() || texts(items, "required").any(|name| name == key);
        if property.is_null() {
            errors.invalid(
                path.child(KEYS),
                key,
                "entries must all be names of item properties",
            );
        } else if !given {
            let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required \
                       property";
            errors.required(properties.key(key).child("default"), why);
        }
    }
}

/// Branches say what values may be like, not which fields there are. Only of what is a number or a text may they say
/// which of both.
fn check_branches(sent: &Value, path: &Path<'_>, may_have_type: bool, errors: &mut Vec<FieldError>) {
    for key in ["allOf", "anyOf", "oneOf"] {
        let path = path.child(key);
        for (i, branch) in list(sent, key).iter().enumerate() {
            check_branch(branch, &path.index(i), may_have_type, errors);
        }
    }
    if sent["not"].is_object() {
        check_branch(&sent["not"], &path.child("not"), false, errors);
    }
}

fn check_branch(branch: &Value, path: &Path<'_>, may_have_type: bool, errors: &mut Vec<FieldError>) {
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
