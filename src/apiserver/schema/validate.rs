//! Validates values against a structural schema, with the causes of kube-apiserver.
//!
//! On updates, unchanged invalid values are accepted ("ratcheting"): the walk follows the old value wherever it can be
//! correlated.

use std::{cmp::Ordering, fmt::Display};

use serde::Serialize;
use serde_json::Value;

use super::{
    formats::SchemaFormat,
    structural::{JsonType, ListType, Schema},
};
use crate::{
    object::field::{ErrorCollector, Errors, Problem, quoted},
    schema::structural::{At, list_key},
};

/// Returns the errors of `value`. `old` is the value it replaces; `prefix` is its path, empty for a whole object.
pub(crate) fn validate(value: &Value, old: Option<&Value>, schema: &Schema, prefix: &str) -> Errors {
    validate_at(&At::root(value, old, schema), prefix)
}

fn validate_at(at: &At<'_>, prefix: &str) -> Errors {
    let errors = Vec::new();
    let mut walk = Walk { prefix, errors };
    walk.check(at);
    walk.errors
}

struct Walk<'a> {
    prefix: &'a str,
    errors: Errors,
}

impl Walk<'_> {
    fn field(&self, path: impl Display) -> String {
        match (self.prefix, format!("{path:#}")) {
            ("", path) => path,
            (prefix, path) if path.is_empty() => prefix.to_owned(),
            (prefix, path) => format!("{prefix}.{path}"),
        }
    }

    fn wrong(&mut self, at: &At<'_>, value: impl Serialize, why: impl Display) {
        let why = format!("{:#} in body {why}", at.path);
        self.errors.invalid(self.field(at.path), value, &why);
    }

    fn wrong_type(&mut self, at: &At<'_>, types: &str, got: &str, value: &str) {
        let why = format!("{:#} in body must be of type {types}: {}", at.path, quoted(got));
        let (field, value) = (self.field(at.path), Some(quoted(value)));
        self.errors.note(Problem::TypeInvalid, field, value, &why);
    }

    /// As in kube-apiserver, the error is about the whole object.
    fn wrong_branch(&mut self, at: &At<'_>, why: impl Display) {
        let path = quoted(&format!("{:#}", at.path));
        self.errors.invalid(self.prefix, "", &format!("{path} {why}"));
    }

    /// Adds the errors of a value and its descendants, unless it is unchanged. The order is kube-apiserver's, except that
    /// it takes the fields of an object in any order.
    fn check(&mut self, at: &At<'_>) {
        let before = self.errors.len();
        self.check_type(at);
        self.check_branches(at);
        match at.value {
            Value::String(text) => self.check_text(text, at),
            Value::Number(_) => self.check_number(at),
            Value::Array(items) => {
                at.visit_below(&mut |item| self.check(item));
                let bounds = [at.schema.min_items, at.schema.max_items];
                self.check_count(items.len(), bounds, "items", at);
            }
            Value::Object(_) | Value::Null | Value::Bool(_) => {}
        }
        self.check_allowed(at);
        if let Value::Object(fields) = at.value {
            let bounds = [at.schema.min_properties, at.schema.max_properties];
            self.check_count(fields.len(), bounds, "properties", at);
            at.visit_below(&mut |field| self.check(field));
            let required = at.schema.required.iter();
            for name in required.filter(|name| !fields.contains_key(*name)) {
                self.errors.required(self.field(at.path.child(name)), "");
            }
        }
        if self.errors.len() > before && at.old == Some(at.value) {
            self.errors.truncate(before);
        }
    }

    fn check_type(&mut self, at: &At<'_>) {
        let (kind, types) = (JsonType::of(at.value), &at.schema.types);
        let fits = |expected: &JsonType| match expected {
            JsonType::Number => at.value.is_number(),
            JsonType::Integer => is_integer(at.value),
            expected => kind == Some(*expected),
        };
        // As in kube-apiserver, a string format makes the type check accept strings and lists.
        let is_lenient = at.schema.format.is_some()
            && matches!(kind, Some(JsonType::String | JsonType::Array))
            && !types.contains(&JsonType::Integer)
            && !types.contains(&JsonType::Number);
        let is_null = at.value.is_null() && at.schema.nullable;
        if !types.is_empty() && !is_null && !is_lenient && !types.iter().any(fits) {
            let names: Vec<String> = types.iter().map(|kind| kind.name()).collect();
            let actual = kind.map_or("null".to_owned(), JsonType::name);
            self.wrong_type(at, &names.join(","), &actual, &actual);
        }
    }

    fn check_text(&mut self, text: &str, at: &At<'_>) {
        let (schema, length) = (at.schema, text.chars().count() as i64);
        if let Some(max) = schema.max_length.filter(|max| length > *max) {
            self.errors.too_long(self.field(at.path), max);
        } else if let Some(min) = schema.min_length.filter(|min| length < *min) {
            self.wrong(at, text, format!("should be at least {min} chars long"));
        } else if let Some(pattern) = schema.pattern.as_ref().filter(|pattern| !pattern.is_match(text)) {
            self.wrong(at, text, format!("should match '{pattern}'"));
        }
        if let Some(format) = schema.format.filter(|format| !format.matches(text)) {
            self.wrong_type(at, format.name(), text, text);
        }
    }

    fn check_number(&mut self, at: &At<'_>) {
        let (value, schema) = (at.value, at.schema);
        let number = value.as_f64().unwrap_or(f64::NAN);
        let fits = match schema.format {
            Some(SchemaFormat::INT32) => value.as_i64().is_some_and(|n| i32::try_from(n).is_ok()),
            _ => is_integer(value),
        };
        if schema.types == [JsonType::Integer] && !fits {
            let format = match schema.format {
                Some(format) => format!("with format {}", format.name()),
                None => "(default format)".to_owned(),
            };
            let why = format!("Checked value must be of type integer {format} in {:#}", at.path);
            // As in kube-apiserver, too.
            self.errors.invalid(self.prefix, "", &why);
        }
        if let Some(factor) = schema.multiple_of.filter(|factor| number % factor != 0.0) {
            self.wrong(at, value, format!("should be a multiple of {factor}"));
        }
        let (minimum, maximum) = (schema.minimum, schema.maximum);
        self.check_bound(at, minimum, schema.exclusive_minimum, Ordering::Less, "greater");
        self.check_bound(at, maximum, schema.exclusive_maximum, Ordering::Greater, "less");
    }

    /// Checks one bound of a number. A number on the side `beyond` of it is wrong.
    fn check_bound(
        &mut self,
        at: &At<'_>,
        bound: Option<f64>,
        exclusive: bool,
        beyond: Ordering,
        than: &str,
    ) {
        let Some(bound) = bound else { return };
        let side = at.value.as_f64().and_then(|number| number.partial_cmp(&bound));
        if side == Some(beyond) || exclusive && side == Some(Ordering::Equal) {
            let or = if exclusive { "" } else { " or equal to" };
            self.wrong(at, at.value, format!("should be {than} than{or} {bound}"));
        }
    }

    /// Checks the number of items or properties.
    fn check_count(&mut self, count: usize, [min, max]: [Option<i64>; 2], what: &str, at: &At<'_>) {
        let count = count as i64;
        if let Some(min) = min.filter(|min| count < *min) {
            self.wrong(at, count, format!("should have at least {min} {what}"));
        }
        if let Some(max) = max.filter(|max| count > *max) {
            self.errors.too_many(self.field(at.path), count, max);
        }
    }

    fn check_allowed(&mut self, at: &At<'_>) {
        let Some(allowed) = &at.schema.allowed else { return };
        if allowed.contains(at.value) || at.value.is_null() && at.schema.nullable {
            return;
        }
        let display = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let allowed: Vec<String> = allowed.iter().map(display).collect();
        self.errors.not_supported(self.field(at.path), at.value, &allowed);
    }

    /// `anyOf`, `oneOf`, `allOf`, `not`.
    fn check_branches(&mut self, at: &At<'_>) {
        if at.value.is_null() {
            return;
        }
        let (prefix, old) = (self.prefix, None);
        let tried = |schema: &Schema| validate_at(&At { schema, old, ..*at }, prefix);
        let all_tried = |branches: &[Schema]| -> Vec<_> { branches.iter().map(tried).collect() };
        let count = |tried: &[Vec<_>]| tried.iter().filter(|errors| errors.is_empty()).count();
        let [any, one, all] =
            [&at.schema.any_of, &at.schema.one_of, &at.schema.all_of].map(|of| all_tried(of));
        if !any.is_empty() && count(&any) == 0 {
            self.wrong_branch(at, "must validate at least one schema (anyOf)");
            self.errors.extend(nearest(any));
        }
        let only = "must validate one and only one schema (oneOf). Found";
        match count(&one) {
            _ if one.is_empty() => {}
            0 => {
                self.wrong_branch(at, format!("{only} none valid"));
                self.errors.extend(nearest(one));
            }
            1 => {}
            many => self.wrong_branch(at, format!("{only} {many} valid alternatives")),
        }
        let good = count(&all);
        if good != all.len() {
            let none = if good == 0 { ". None validated" } else { "" };
            self.wrong_branch(at, format!("must validate all the schemas (allOf){none}"));
            self.errors.extend(all.into_iter().flatten());
        }
        if at.schema.not.as_deref().is_some_and(|not| tried(not).is_empty()) {
            self.wrong_branch(at, "must not validate the schema (not)");
        }
    }
}

/// Chooses, of several failed alternatives, the one that the client most likely meant.
fn nearest(alternatives: Vec<Errors>) -> Errors {
    alternatives.into_iter().min_by_key(Vec::len).unwrap_or_default()
}

fn is_integer(value: &Value) -> bool {
    value.as_f64().is_some_and(|value| value.fract() == 0.0)
}

/// Checks that sets have no duplicate items and maps no duplicate keys.
pub(crate) fn check_lists(value: &Value, schema: &Schema) -> Errors {
    let mut errors = Vec::new();
    let root = At::root(value, None, schema);
    root.each(|schema| schema.has_keyed_lists, &mut |at| {
        check_list(at, &mut errors)
    });
    errors
}

fn check_list(at: &At<'_>, errors: &mut Errors) {
    let Value::Array(items) = at.value else { return };
    let is_map = match at.schema.list_type {
        ListType::Atomic => return,
        ListType::Set => false,
        ListType::Map => true,
    };
    let strange = |item: &Value| is_map && !item.is_null() && !item.is_object();
    if let Some(i) = items.iter().position(strange) {
        let why = "must be an object for an array of list-type map";
        return errors.invalid(at.path.index(i), &items[i], why);
    }
    let identity = |item: &Value| {
        if is_map {
            Value::Object(list_key(item, at.schema))
        } else {
            item.clone()
        }
    };
    let identities: Vec<Value> = items.iter().map(identity).collect();
    for (i, identity) in identities.iter().enumerate() {
        // Only the first duplicate is reported.
        if identities[..i].iter().filter(|other| *other == identity).count() == 1 {
            errors.duplicate(at.path.index(i), identity);
        }
    }
}
