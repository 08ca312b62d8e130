//! Validation against a structural schema, with the causes a real API server gives.
//!
//! On updates, what was wrong before and did not change is let pass ("ratcheting"): the old value is walked along
//! wherever it can be told which one it is.

use std::cmp::Ordering;
use std::fmt::Display;

use serde::Serialize;
use serde_json::{Map, Value};

use super::formats::Format;
use super::structural::{Schema, Type};
use crate::lab::apiserver::field::{FieldError, Path, quoted};
use crate::lab::apiserver::found::Found;

/// The errors of `value`. `old` is what it replaces; `prefix` is the field that `value` is, empty for a whole object.
pub(in crate::lab::apiserver) fn validate(
    value: &Value,
    old: Option<&Value>,
    schema: &Schema,
    prefix: &str,
) -> Vec<FieldError> {
    validate_below(value, old, schema, prefix, &Path::ROOT)
}

fn validate_below(
    value: &Value,
    old: Option<&Value>,
    schema: &Schema,
    prefix: &str,
    path: &Path<'_>,
) -> Vec<FieldError> {
    let errors = Vec::new();
    let mut walk = Walk { prefix, errors };
    walk.check(value, old, schema, path);
    walk.errors
}

struct Walk<'a> {
    prefix: &'a str,
    errors: Vec<FieldError>,
}

impl Walk<'_> {
    fn field(&self, path: &Path<'_>) -> String {
        let path = path.to_string();
        match (self.prefix, path.as_str()) {
            ("", _) => path,
            (prefix, "") => prefix.to_owned(),
            (prefix, path) => format!("{prefix}.{path}"),
        }
    }

    fn wrong(&mut self, path: &Path<'_>, value: impl Serialize, why: impl Display) {
        let why = format!("{path} in body {why}");
        self.errors.invalid(self.field(path), value, &why);
    }

    fn wrong_type(&mut self, path: &Path<'_>, wanted: &str, seen: &str, value: &str) {
        let why = format!("{path} in body must be of type {wanted}: {}", quoted(seen));
        self.errors
            .push(FieldError::type_invalid(self.field(path), value, &why));
    }

    /// What is told of the whole object, wherever it is, as upstream.
    fn wrong_whole(&mut self, why: &str) {
        self.errors.invalid(self.prefix, "", why);
    }

    /// Adds the errors at and below `value`, unless it is what it was.
    fn check(&mut self, value: &Value, old: Option<&Value>, schema: &Schema, path: &Path<'_>) {
        let before = self.errors.len();
        self.check_type(value, schema, path);
        if !value.is_null() {
            self.check_branches(value, schema, path);
        }
        match value {
            Value::String(text) => self.check_text(text, schema, path),
            Value::Number(_) => self.check_number(value, schema, path),
            Value::Array(items) => self.check_items(items, old, schema, path),
            Value::Object(fields) => self.check_fields(fields, old, schema, path),
            Value::Null | Value::Bool(_) => {}
        }
        self.check_allowed(value, schema, path);
        if self.errors.len() > before && old == Some(value) {
            self.errors.truncate(before);
        }
    }

    fn check_type(&mut self, value: &Value, schema: &Schema, path: &Path<'_>) {
        let kind = Type::of(value);
        let fits = |wanted: &Type| match wanted {
            Type::Number => value.is_number(),
            Type::Integer => is_integer(value),
            wanted => kind == Some(*wanted),
        };
        // A format for texts makes the check of the type lenient with texts and lists, as upstream.
        let is_lenient = schema.format.is_some()
            && matches!(kind, Some(Type::String | Type::Array))
            && !schema.types.contains(&Type::Integer)
            && !schema.types.contains(&Type::Number);
        let is_null = value.is_null() && schema.nullable;
        if schema.types.is_empty() || is_null || is_lenient || schema.types.iter().any(fits) {
            return;
        }
        let wanted: Vec<&str> = schema.types.iter().map(|kind| kind.name()).collect();
        let seen = kind.map_or("null", Type::name);
        self.wrong_type(path, &wanted.join(","), seen, seen);
    }

    fn check_text(&mut self, text: &str, schema: &Schema, path: &Path<'_>) {
        let length = text.chars().count() as i64;
        if let Some(max) = schema.max_length.filter(|max| length > *max) {
            let at = self.field(path);
            self.errors.push(FieldError::too_long(at, max.unsigned_abs()));
        } else if let Some(min) = schema.min_length.filter(|min| length < *min) {
            self.wrong(path, text, format!("should be at least {min} chars long"));
        } else if let Some(pattern) = schema.pattern.as_ref().filter(|pattern| !pattern.is_match(text)) {
            self.wrong(path, text, format!("should match '{pattern}'"));
        }
        if let Some(format) = schema.format.filter(|format| !format.matches(text)) {
            self.wrong_type(path, format.name(), text, text);
        }
    }

    fn check_number(&mut self, value: &Value, schema: &Schema, path: &Path<'_>) {
        let number = value.as_f64().unwrap_or(f64::NAN);
        let fits = match schema.format {
            Some(Format::INT32) => value.as_i64().is_some_and(|n| i32::try_from(n).is_ok()),
            _ => is_integer(value),
        };
        if schema.types == [Type::Integer] && !fits {
            let format = match schema.format {
                Some(format) => format!("with format {}", format.name()),
                None => "(default format)".to_owned(),
            };
            self.wrong_whole(&format!(
                "Checked value must be of type integer {format} in {path}"
            ));
        }
        if let Some(factor) = schema.multiple_of.filter(|factor| number % factor != 0.0) {
            self.wrong(path, value, format!("should be a multiple of {factor}"));
        }
        for (bound, exclusive, beyond, than) in [
            (
                schema.minimum,
                schema.exclusive_minimum,
                Ordering::Less,
                "greater",
            ),
            (
                schema.maximum,
                schema.exclusive_maximum,
                Ordering::Greater,
                "less",
            ),
        ] {
            let Some(bound) = bound else { continue };
            let side = number.partial_cmp(&bound);
            if side == Some(beyond) || exclusive && side == Some(Ordering::Equal) {
                let or = if exclusive { "" } else { " or equal to" };
                self.wrong(path, value, format!("should be {than} than{or} {bound}"));
            }
        }
    }

    /// Checks how many items or properties there are.
    fn check_count(&mut self, count: usize, [min, max]: [Option<i64>; 2], what: &str, path: &Path<'_>) {
        let count = count as i64;
        if let Some(min) = min.filter(|min| count < *min) {
            self.wrong(path, count, format!("should have at least {min} {what}"));
        }
        if let Some(max) = max.filter(|max| count > *max) {
            let (at, count) = (self.field(path), Some(count.unsigned_abs()));
            self.errors
                .push(FieldError::too_many(at, count, max.unsigned_abs()));
        }
    }

    fn check_items(&mut self, items: &[Value], old: Option<&Value>, schema: &Schema, path: &Path<'_>) {
        if let Some(below) = &schema.items {
            for (i, item) in items.iter().enumerate() {
                self.check(item, schema.correlated(item, old), below, &path.index(i));
            }
        }
        self.check_count(items.len(), [schema.min_items, schema.max_items], "items", path);
        let repeats = |i: usize| items[..i].contains(&items[i]);
        if schema.unique_items && (1..items.len()).any(repeats) {
            self.wrong(path, "", "shouldn't contain duplicates");
        }
    }

    fn check_fields(
        &mut self,
        fields: &Map<String, Value>,
        old: Option<&Value>,
        schema: &Schema,
        path: &Path<'_>,
    ) {
        let bounds = [schema.min_properties, schema.max_properties];
        self.check_count(fields.len(), bounds, "properties", path);
        for (name, field) in fields {
            if let Some(below) = schema.field(name) {
                let old = old.and_then(|old| old.get(name));
                self.check(field, old, below, &path.child(name));
            }
        }
        for name in schema.required.iter().filter(|name| !fields.contains_key(*name)) {
            self.errors.required(self.field(&path.child(name)), "");
        }
    }

    fn check_allowed(&mut self, value: &Value, schema: &Schema, path: &Path<'_>) {
        let Some(allowed) = &schema.allowed else { return };
        if allowed.contains(value) || value.is_null() && schema.nullable {
            return;
        }
        let told = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let allowed: Vec<String> = allowed.iter().map(told).collect();
        let at = self.field(path);
        self.errors.push(FieldError::not_supported(at, value, &allowed));
    }

    /// `anyOf`, `oneOf`, `allOf`, `not`.
    fn check_branches(&mut self, value: &Value, schema: &Schema, path: &Path<'_>) {
        let told = || quoted(&path.to_string());
        let prefix = self.prefix;
        let tried = |branch: &Schema| validate_below(value, None, branch, prefix, path);
        let all_tried = |branches: &[Schema]| -> Vec<_> { branches.iter().map(&tried).collect() };
        let count = |tried: &[Vec<_>]| tried.iter().filter(|errors| errors.is_empty()).count();
        let any = all_tried(&schema.any_of);
        if !any.is_empty() && count(&any) == 0 {
            self.wrong_whole(&format!("{} must validate at least one schema (anyOf)", told()));
            self.errors.extend(nearest(any));
        }
        let one = all_tried(&schema.one_of);
        let good = count(&one);
        if !one.is_empty() && good != 1 {
            let found = match good {
                0 => "Found none valid".to_owned(),
                many => format!("Found {many} valid alternatives"),
            };
            self.wrong_whole(&format!(
                "{} must validate one and only one schema (oneOf). {found}",
                told()
            ));
            if good == 0 {
                self.errors.extend(nearest(one));
            }
        }
        let all = all_tried(&schema.all_of);
        let good = count(&all);
        if good != all.len() {
            let none = if good == 0 { ". None validated" } else { "" };
            self.wrong_whole(&format!("{} must validate all the schemas (allOf){none}", told()));
            self.errors.extend(all.into_iter().flatten());
        }
        if schema.not.as_deref().is_some_and(|not| tried(not).is_empty()) {
            self.wrong_whole(&format!("{} must not validate the schema (not)", told()));
        }
    }
}

/// Of several failed alternatives, the one that a client most likely meant.
fn nearest(alternatives: Vec<Vec<FieldError>>) -> Vec<FieldError> {
    alternatives.into_iter().min_by_key(Vec::len).unwrap_or_default()
}

fn is_integer(value: &Value) -> bool {
    value.as_f64().is_some_and(|value| value.fract() == 0.0)
}
