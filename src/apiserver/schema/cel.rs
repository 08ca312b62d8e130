//! Evaluates `x-kubernetes-validations`, rules in the Common Expression Language.

use std::{collections::HashMap, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use kube_cel::{
    KubeCelExt,
    cel::{
        Context, ExecutionError, Value as Cel,
        extractors::This,
        functions::time::{duration, timestamp},
        objects::{Key, Map as CelMap, OptionalValue},
    },
};
use serde_json::Value;

use super::{
    at::At,
    cel_formats,
    cel_rule::{Rule, escaped},
    cel_urls,
    formats::Format,
    structural::{Extra, Schema, Type},
};
use crate::object::field::{Errors, Found, Problem, shown};

thread_local! {
    /// Shared, as registering the functions costs more than most rules.
    static FUNCTIONS: Context<'static> = {
        let mut context = Context::default().with_all();
        // The library counts bytes, Kubernetes counts characters.
        context.add_function("size", |This(this): This<Cel>| -> Result<i64, ExecutionError> {
            let size = match &this {
                Cel::String(text) => text.chars().count(),
                Cel::Bytes(bytes) => bytes.len(),
                Cel::List(items) => items.len(),
                Cel::Map(map) => map.map.len(),
                other => return Err(ExecutionError::unsupported_target_type(other.clone())),
            };
            Ok(i64::try_from(size).unwrap_or(i64::MAX))
        });
        cel_formats::register(&mut context);
        cel_urls::register(&mut context);
        context
    };
}

/// Adds the errors of the rules in `schema`. `old` is the object that `object` replaces.
pub(crate) fn check_rules(object: &Value, old: Option<&Value>, schema: &Schema, errors: &mut Errors) {
    check(&At::root(object, old, schema), errors);
}

fn check(at: &At<'_>, errors: &mut Errors) {
    if at.value.is_null() || !at.schema.has_rules {
        return;
    }
    if !at.schema.rules.is_empty() {
        FUNCTIONS.with(|functions| check_here(at, functions, errors));
    }
    for schema in &at.schema.all_of {
        check(&At { schema, ..*at }, errors);
    }
    at.visit_below(&mut |below| check(below, errors));
}

fn check_here(at: &At<'_>, functions: &Context<'static>, errors: &mut Errors) {
    let old = at.old.filter(|old| !old.is_null());
    let old_self = old.map(|old| to_cel(old, Some(at.schema)));
    let mut context = functions.new_inner_scope();
    context.add_variable_from_value("self", to_cel(at.value, Some(at.schema)));
    if let Some(old) = &old_self {
        context.add_variable_from_value("oldSelf", old.clone());
    }
    for rule in &at.schema.rules {
        let may_be_absent = rule.optional_old_self == Some(true);
        let Ok(program) = &rule.rule.program else { continue };
        if rule.is_transition() && old.is_none() && !may_be_absent {
            continue;
        }
        let mut scope = context.new_inner_scope();
        if may_be_absent {
            let none = OptionalValue::none;
            let old = old_self.clone().map_or_else(none, OptionalValue::of);
            scope.add_variable_from_value("oldSelf", Cel::Opaque(Arc::new(old)));
        }
        match program.execute(&scope) {
            Ok(Cel::Bool(true)) => continue,
            Ok(_) => broken(rule, at, &rule.explanation(&scope), errors),
            Err(failure) => failed(rule, at, &failure, errors),
        }
        if let Some(error) = errors.last_mut() {
            // An unchanged value that was invalid before is tolerated.
            error.tolerated = !rule.is_transition() && at.is_unchanged();
        }
    }
}

/// Adds the error of a rule that could not be evaluated.
fn failed(rule: &Rule, at: &At<'_>, failure: &ExecutionError, errors: &mut Errors) {
    let why = match failure {
        ExecutionError::IndexOutOfBounds(Cel::Int(index)) => format!("index out of bounds: {index}"),
        ExecutionError::FunctionError { message, .. } => message.clone(),
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        other => other.to_string(),
    };
    let name = match rule.message.trim() {
        "" => rule.rule.text.trim(),
        message => message,
    };
    let kind = at.schema.types.first().map(|kind| kind.name());
    let why = format!("{why} evaluating rule: {name}");
    errors.invalid(at.path, kind.unwrap_or_default(), &why);
}

/// Adds the error of a rule that does not hold.
fn broken(rule: &Rule, at: &At<'_>, why: &str, errors: &mut Errors) {
    let field = format!("{}{}", at.path, rule.field_path);
    let field = field.strip_prefix('.').unwrap_or(&field);
    // Messages do not repeat objects and lists.
    let is_large = matches!(at.schema.types.as_slice(), [Type::Object | Type::Array]);
    let value = (!is_large).then(|| shown(at.value));
    match rule.reason.as_deref() {
        Some("FieldValueForbidden") => errors.forbidden(field, why),
        Some("FieldValueRequired") => errors.required(field, why),
        Some("FieldValueDuplicate") => errors.note(Problem::Duplicate, field, value, ""),
        _ => errors.note(Problem::Invalid, field, value, why),
    }
}

/// Converts JSON to CEL, typed by the schema's formats, with property names escaped.
fn to_cel(value: &Value, schema: Option<&Schema>) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(value) => Cel::Bool(*value),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Cel::Int(value),
            (None, Some(value)) => Cel::UInt(value),
            (None, None) => Cel::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => text_to_cel(text, schema.and_then(|schema| schema.format)),
        Value::Array(items) => {
            let below = schema.and_then(|schema| schema.items.as_deref());
            Cel::List(Arc::new(items.iter().map(|item| to_cel(item, below)).collect()))
        }
        Value::Object(fields) => {
            // Only property names are escaped. The keys of a map are data.
            let is_map = schema.is_some_and(|schema| !matches!(schema.extra, Extra::Unknown));
            let mut converted = HashMap::with_capacity(fields.len());
            for (name, field) in fields {
                let key = if is_map { name.clone() } else { escaped(name) };
                let field = to_cel(field, schema.and_then(|schema| schema.field(name)));
                converted.insert(Key::String(Arc::new(key)), field);
            }
            let map = Arc::new(converted);
            Cel::Map(CelMap { map })
        }
    }
}

fn text_to_cel(text: &str, format: Option<Format>) -> Cel {
    let shared = Arc::new(text.to_owned());
    let typed = match format {
        Some(Format::DATE_TIME) => timestamp(shared.clone()).ok(),
        Some(Format::DURATION) => duration(shared.clone()).ok(),
        Some(Format::BYTE) => STANDARD
            .decode(text)
            .ok()
            .map(|bytes| Cel::Bytes(Arc::new(bytes))),
        _ => None,
    };
    typed.unwrap_or(Cel::String(shared))
}
