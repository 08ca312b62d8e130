//! Rules of a schema: `x-kubernetes-validations`, in the Common Expression Language. [kube-cel](kube_cel) evaluates them.
//! Their types and costs are not checked.

use std::{collections::HashMap, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use kube_cel::{
    KubeCelExt,
    cel::{
        Context, ExecutionError, ParseErrors, Program, Value as Cel,
        extractors::This,
        functions::time::{duration, timestamp},
        objects::{Key, Map as CelMap, OptionalValue},
    },
};
use serde::Deserialize;
use serde_json::Value;

use super::{
    formats::{SchemaFormat, is_uri},
    structural::{Extra, JsonType, Schema},
};
use crate::{
    object::field::{ErrorCollector, Errors, Path, Problem, shown},
    schema::structural::At,
};

/// An expression of a rule, compiled once.
#[derive(Debug, Deserialize)]
#[serde(from = "String")]
struct Expression {
    text: String,
    program: Result<Program, ParseErrors>,
    /// It uses `oldSelf`.
    uses_old: bool,
}

impl From<String> for Expression {
    fn from(text: String) -> Self {
        let program = Program::compile(&text);
        let has = |program: &Program| program.references().has_variable("oldSelf");
        let uses_old = program.as_ref().is_ok_and(has);
        Self {
            text,
            program,
            uses_old,
        }
    }
}

impl Default for Expression {
    fn default() -> Self {
        String::new().into()
    }
}

/// One rule of one node.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ValidationRule {
    rule: Expression,
    message: String,
    message_expression: Expression,
    reason: Option<String>,
    field_path: String,
    optional_old_self: Option<bool>,
}

impl ValidationRule {
    /// True if it compares with the old value. Without one, it is not evaluated.
    fn is_transition(&self) -> bool {
        self.rule.uses_old
    }

    /// The message when the rule does not hold.
    fn explanation(&self, context: &Context<'_>) -> String {
        let program = self.message_expression.program.as_ref().ok();
        match program.map(|program| program.execute(context)) {
            Some(Ok(Cel::String(text))) if !text.trim().is_empty() && !text.trim().contains('\n') => {
                text.trim().to_owned()
            }
            _ if self.message.is_empty() => format!("failed rule: {}", self.rule.text.trim()),
            _ => self.message.trim().to_owned(),
        }
    }
}

/// Adds the errors of the rules of a CRD at `path`. `within` is a list above whose items cannot be correlated with old
/// ones.
pub(crate) fn judge_rules(schema: &Schema, path: &Path<'_>, within: Option<&str>, errors: &mut Errors) {
    for (i, rule) in schema.rules.iter().enumerate() {
        let path = path.index(i);
        judge_words(rule, schema, &path, errors);
        for (field, expression) in [
            ("rule", &rule.rule),
            ("messageExpression", &rule.message_expression),
        ] {
            if let (false, Err(why)) = (expression.text.trim().is_empty(), &expression.program) {
                let why = format!("compilation failed: {why}");
                errors.invalid(path.child(field), &expression.text, &why);
            }
        }
        if let Some(within) = within.filter(|_| rule.is_transition()) {
            let why =
                format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {within}");
            errors.invalid(path.child("rule"), &rule.rule.text, &why);
        }
    }
}

/// Checks a rule, except its expressions.
fn judge_words(rule: &ValidationRule, schema: &Schema, path: &Path<'_>, errors: &mut Errors) {
    if rule.rule.text.trim().is_empty() {
        errors.required(path.child("rule"), "rule is not specified");
    }
    if rule.message.contains('\n') {
        let why = "must not contain line breaks";
        errors.invalid(path.child("message"), &rule.message, why);
    }
    let reasons =
        ["Duplicate", "Forbidden", "Invalid", "Required"].map(|reason| format!("FieldValue{reason}"));
    if let Some(reason) = rule.reason.as_ref().filter(|reason| !reasons.contains(reason)) {
        errors.not_supported(path.child("reason"), reason, &reasons);
    }
    let field = rule.field_path.as_str();
    // Keys in brackets belong to maps, to lists and to fields with unusual names. Any of them may exist.
    if !field.is_empty() && !field.contains('[') {
        let target = field.split('.').skip(1).try_fold(schema, Schema::field);
        if !field.starts_with('.') || target.is_none() {
            errors.invalid(path.child("fieldPath"), field, "must be a valid path");
        }
    }
    let mut expressions = [&rule.rule, &rule.message_expression].into_iter();
    if rule.optional_old_self == Some(true) && !expressions.any(|source| source.text.contains("oldSelf")) {
        let why = "may not be set if oldSelf is not used in rule";
        errors.invalid(path.child("optionalOldSelf"), true, why);
    }
}

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
        // The library reads URLs as browsers do, which accept more than Go.
        context.add_function("isURL", |text: Arc<String>| is_uri(&text));
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
            Ok(_) => report_violation(rule, at, &rule.explanation(&scope), errors),
            Err(failure) => failed(rule, at, &failure, errors),
        }
        if let Some(error) = errors.last_mut() {
            // An unchanged value that was invalid before is tolerated.
            error.tolerated = !rule.is_transition() && at.is_unchanged();
        }
    }
}

/// Adds the error of a rule that could not be evaluated.
fn failed(rule: &ValidationRule, at: &At<'_>, failure: &ExecutionError, errors: &mut Errors) {
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
fn report_violation(rule: &ValidationRule, at: &At<'_>, why: &str, errors: &mut Errors) {
    let field = format!("{}{}", at.path, rule.field_path);
    let field = field.strip_prefix('.').unwrap_or(&field);
    // Messages do not repeat objects and lists.
    let is_large = matches!(at.schema.types.as_slice(), [JsonType::Object | JsonType::Array]);
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

fn text_to_cel(text: &str, format: Option<SchemaFormat>) -> Cel {
    let shared = Arc::new(text.to_owned());
    let typed = match format {
        Some(SchemaFormat::DATE_TIME) => timestamp(shared.clone()).ok(),
        Some(SchemaFormat::DURATION) => duration(shared.clone()).ok(),
        Some(SchemaFormat::BYTE) => STANDARD
            .decode(text)
            .ok()
            .map(|bytes| Cel::Bytes(Arc::new(bytes))),
        _ => None,
    };
    typed.unwrap_or(Cel::String(shared))
}

/// Reserved words of CEL.
const RESERVED: &str = "true false null in as break const continue else for function if import let loop package \
                        namespace return var void while";

/// A field's name, escaped for use in an expression.
fn escaped(name: &str) -> String {
    if RESERVED.split(' ').any(|word| word == name) {
        return format!("__{name}__");
    }
    if !name.contains(['_', '.', '-', '/']) {
        return name.to_owned();
    }
    // Two underscores are escaped, a single one is not.
    name.replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__")
}
