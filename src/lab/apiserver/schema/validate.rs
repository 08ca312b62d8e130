//! Validation against a structural schema, with the causes a real API server gives.
//!
//! On updates, what was wrong before and did not change is let pass ("ratcheting"): the old value is walked along
//! wherever it can be told which one it is.

use serde_json::{Number, Value};

use super::formats::Format;
use super::lists::list_key;
use super::structural::{Extra, ListType, Schema, Type};
use crate::lab::apiserver::field::{FieldError, Path, quoted};

/// The errors of `value`. `old` is what it replaces; `prefix` is the field that `value` is, empty for a whole object.
pub(in crate::lab::apiserver) fn validate(
    value: &Value,
    old: Option<&Value>,
    schema: &Schema,
    prefix: &str,
) -> Vec<FieldError> {
    Walk { prefix }.check(value, old, schema, &Path::ROOT)
}

struct Walk<'a> {
    prefix: &'a str,
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

    /// The errors at and below `value`, unless it is what it was.
    fn check(&self, value: &Value, old: Option<&Value>, schema: &Schema, path: &Path<'_>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        self.check_type(value, schema, path, &mut errors);
        if !value.is_null() {
            self.check_branches(value, schema, path, &mut errors);
        }
        match value {
            Value::String(text) => self.check_text(text, schema, path, &mut errors),
            Value::Number(number) => self.check_number(number, schema, path, &mut errors),
            Value::Array(items) => self.check_items(items, old, schema, path, &mut errors),
            _ => {}
        }
        self.check_allowed(value, schema, path, &mut errors);
        if let Value::Object(_) = value {
            self.check_fields(value, old, schema, path, &mut errors);
        }
        if !errors.is_empty() && old == Some(value) {
            errors.clear();
        }
        errors
    }

    fn check_type(&self, value: &Value, schema: &Schema, path: &Path<'_>, errors: &mut Vec<FieldError>) {
        if schema.types.is_empty() {
            return;
        }
        let is = |wanted: &Type| match (wanted, value) {
            (Type::Object, Value::Object(_))
            | (Type::Array, Value::Array(_))
            | (Type::String, Value::String(_))
            | (Type::Boolean, Value::Bool(_))
            | (Type::Number, Value::Number(_)) => true,
            (Type::Integer, Value::Number(number)) => is_integer(number),
            _ => false,
        };
        let seen = match value {
            Value::Null if schema.nullable => return,
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        // A format for texts makes the check of the type lenient with texts and lists, as upstream.
        let lenient = schema.format.is_some()
            && matches!(value, Value::String(_) | Value::Array(_))
            && !schema
                .types
                .iter()
                .any(|kind| matches!(kind, Type::Integer | Type::Number));
        if lenient || schema.types.iter().any(is) {
            return;
        }
        let wanted: Vec<&str> = schema.types.iter().map(|kind| kind.name()).collect();
        let detail = format!(
            "{path} in body must be of type {}: {}",
            wanted.join(","),
            quoted(seen)
        );
        errors.push(FieldError::type_invalid(self.field(path), seen, &detail));
    }

    fn check_text(&self, text: &str, schema: &Schema, path: &Path<'_>, errors: &mut Vec<FieldError>) {
        let length = text.chars().count() as u64;
        if let Some(max) = schema.max_length.filter(|max| length > *max) {
            errors.push(FieldError::too_long(self.field(path), max));
        } else if let Some(min) = schema.min_length.filter(|min| length < *min) {
            let detail = format!("{path} in body should be at least {min} chars long");
            errors.push(FieldError::invalid_text(self.field(path), text, &detail));
        } else if let Some(pattern) = schema.pattern.as_ref().filter(|pattern| !pattern.is_match(text)) {
            let detail = format!("{path} in body should match '{pattern}'");
            errors.push(FieldError::invalid_text(self.field(path), text, &detail));
        }
        if let Some(format) = schema.format.filter(|format| !format.matches(text)) {
            let detail = format!(
                "{path} in body must be of type {}: {}",
                format.name(),
                quoted(text)
            );
            errors.push(FieldError::type_invalid(self.field(path), text, &detail));
        }
    }

    fn check_number(&self, number: &Number, schema: &Schema, path: &Path<'_>, errors: &mut Vec<FieldError>) {
        let value = Value::Number(number.clone());
        let as_float = number.as_f64().unwrap_or(f64::NAN);
        // What does not fit the type is told of the whole object, as upstream.
        let fits = match schema.format {
            Some(Format::INT32) => number.as_i64().is_some_and(|n| i32::try_from(n).is_ok()),
            _ => is_integer(number),
        };
        if schema.types == [Type::Integer] && !fits {
            let format = match schema.format {
                Some(format) => format!("with format {}", format.name()),
                None => "(default format)".to_owned(),
            };
            let detail = format!("Checked value must be of type integer {format} in {path}");
            errors.push(FieldError::invalid_text(self.prefix, "", &detail));
        }
        let mut wrong = |detail: String| {
            errors.push(FieldError::invalid(self.field(path), &value, &detail));
        };
        if let Some(factor) = schema.multiple_of.filter(|factor| as_float % factor != 0.0) {
            wrong(format!("{path} in body should be a multiple of {factor}"));
        }
        if let Some(min) = schema.minimum {
            match schema.exclusive_minimum {
                true if as_float <= min => wrong(format!("{path} in body should be greater than {min}")),
                false if as_float < min => {
                    wrong(format!("{path} in body should be greater than or equal to {min}"))
                }
                _ => {}
            }
        }
        if let Some(max) = schema.maximum {
            match schema.exclusive_maximum {
                true if as_float >= max => wrong(format!("{path} in body should be less than {max}")),
                false if as_float > max => {
                    wrong(format!("{path} in body should be less than or equal to {max}"));
                }
                _ => {}
            }
        }
    }

    fn check_items(
        &self,
        items: &[Value],
        old: Option<&Value>,
        schema: &Schema,
        path: &Path<'_>,
        errors: &mut Vec<FieldError>,
    ) {
        if let Some(below) = &schema.items {
            for (i, item) in items.iter().enumerate() {
                let old = correlated(item, old, schema);
                errors.extend(self.check(item, old, below, &path.index(i)));
            }
        }
        let count = items.len() as u64;
        if let Some(min) = schema.min_items.filter(|min| count < *min) {
            let detail = format!("{path} in body should have at least {min} items");
            errors.push(FieldError::invalid(self.field(path), &count.into(), &detail));
        }
        if let Some(max) = schema.max_items.filter(|max| count > *max) {
            errors.push(FieldError::too_many(self.field(path), Some(count), max));
        }
        let repeats = |i: usize| items[..i].contains(&items[i]);
        if schema.unique_items && (1..items.len()).any(repeats) {
            let detail = format!("{path} in body shouldn't contain duplicates");
            errors.push(FieldError::invalid_text(self.field(path), "", &detail));
        }
    }

    fn check_fields(
        &self,
        value: &Value,
        old: Option<&Value>,
        schema: &Schema,
        path: &Path<'_>,
        errors: &mut Vec<FieldError>,
    ) {
        let Value::Object(fields) = value else { return };
        let count = fields.len() as u64;
        if let Some(min) = schema.min_properties.filter(|min| count < *min) {
            let detail = format!("{path} in body should have at least {min} properties");
            errors.push(FieldError::invalid(self.field(path), &count.into(), &detail));
        }
        if let Some(max) = schema.max_properties.filter(|max| count > *max) {
            errors.push(FieldError::too_many(self.field(path), Some(count), max));
        }
        for (name, field) in fields {
            let below = match (schema.properties.get(name), &schema.extra) {
                (Some(known), _) => known,
                (None, Extra::Schema(extra)) => extra,
                (None, Extra::Any | Extra::Unknown) => continue,
            };
            let old = old.and_then(|old| old.get(name));
            errors.extend(self.check(field, old, below, &path.child(name)));
        }
        for name in schema.required.iter().filter(|name| !fields.contains_key(*name)) {
            errors.push(FieldError::required(self.field(&path.child(name)), ""));
        }
    }

    fn check_allowed(&self, value: &Value, schema: &Schema, path: &Path<'_>, errors: &mut Vec<FieldError>) {
        let Some(allowed) = &schema.allowed else { return };
        if allowed.contains(value) || value.is_null() && schema.nullable {
            return;
        }
        let names: Vec<String> = allowed
            .iter()
            .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            .collect();
        errors.push(FieldError::not_supported(self.field(path), value, &names));
    }

    /// `anyOf`, `oneOf`, `allOf`, `not`. What they say is told of the whole object, as upstream.
    fn check_branches(&self, value: &Value, schema: &Schema, path: &Path<'_>, errors: &mut Vec<FieldError>) {
        let mut whole = |detail: String| errors.push(FieldError::invalid_text(self.prefix, "", &detail));
        let path_text = quoted(&path.to_string());
        let tried = |branches: &[Schema]| -> Vec<Vec<FieldError>> {
            branches
                .iter()
                .map(|branch| self.check(value, None, branch, path))
                .collect()
        };
        let mut below = Vec::new();
        let any = tried(&schema.any_of);
        if !any.is_empty() && !any.iter().any(Vec::is_empty) {
            whole(format!("{path_text} must validate at least one schema (anyOf)"));
            below.extend(nearest(any));
        }
        let one = tried(&schema.one_of);
        let good = one.iter().filter(|errors| errors.is_empty()).count();
        if !one.is_empty() && good != 1 {
            let found = match good {
                0 => "Found none valid".to_owned(),
                many => format!("Found {many} valid alternatives"),
            };
            whole(format!(
                "{path_text} must validate one and only one schema (oneOf). {found}"
            ));
            if good == 0 {
                below.extend(nearest(one));
            }
        }
        let all = tried(&schema.all_of);
        let good = all.iter().filter(|errors| errors.is_empty()).count();
        if good != all.len() {
            let none = if good == 0 { ". None validated" } else { "" };
            whole(format!("{path_text} must validate all the schemas (allOf){none}"));
            below.extend(all.into_iter().flatten());
        }
        if let Some(not) = &schema.not
            && self.check(value, None, not, path).is_empty()
        {
            whole(format!("{path_text} must not validate the schema (not)"));
        }
        errors.extend(below);
    }
}

/// Of several failed alternatives, the one that a client most likely meant.
fn nearest(alternatives: Vec<Vec<FieldError>>) -> Vec<FieldError> {
    alternatives.into_iter().min_by_key(Vec::len).unwrap_or_default()
}

fn is_integer(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|value| value.fract() == 0.0)
}

/// The old item that `item` replaces. Only lists of type map can tell.
pub(super) fn correlated<'a>(item: &Value, old: Option<&'a Value>, schema: &Schema) -> Option<&'a Value> {
    if schema.list_type != ListType::Map {
        return None;
    }
    let key = list_key(item, schema);
    let mut old = old?.as_array()?.iter();
    old.find(|candidate| list_key(candidate, schema) == key)
}
