//! Rules in the Common Expression Language: `x-kubernetes-validations`.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube_cel::KubeCelExt;
use kube_cel::cel::extractors::This;
use kube_cel::cel::objects::{Key, Map as CelMap};
use kube_cel::cel::{Context, ExecutionError, Program, Value as Cel};
use serde_json::{Map, Value};

use super::cel_fields::{kind_of, mismatch, undefined_field};
use super::formats::Format;
use super::structural::{Extra, Schema};
use crate::lab::apiserver::field::{FieldError, Path, quoted};

/// One rule of one node.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) text: String,
    program: Program,
    message: Option<String>,
    message_program: Option<Program>,
    reason: Option<String>,
    field_path: Option<String>,
    /// The rule compares with what was before: without it, it is not asked.
    pub(super) is_transition: bool,
    old_may_be_absent: bool,
}

impl Rule {
    /// The rules that a node of a schema carries. What does not compile is an error of the CRD.
    pub(super) fn read_all(json: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) -> Vec<Self> {
        let path = path.child("x-kubernetes-validations");
        let rules = json["x-kubernetes-validations"].as_array();
        let mut read = Vec::new();
        for (i, rule) in rules.into_iter().flatten().enumerate() {
            let path = path.index(i);
            let before = errors.len();
            check_words(rule, json, &path, errors);
            match Self::read(rule, json) {
                Ok(rule) if errors.len() == before => read.push(rule),
                Ok(_) => {}
                // A rule that is not there has been missed.
                Err(_) if rule["rule"].as_str().unwrap_or_default().is_empty() => {}
                Err((field, detail)) => {
                    errors.push(FieldError::invalid_raw(
                        path.child(field),
                        &as_told(rule),
                        &detail,
                    ));
                }
            }
        }
        read
    }

    /// `schema` is that of the value which the rule calls `self`.
    fn read(json: &Value, schema: &Value) -> Result<Self, (&'static str, String)> {
        let text = |key: &str| {
            json[key]
                .as_str()
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        let compile = |source: &str| -> Result<Program, String> {
            let failed = |why: &str| format!("compilation failed: {}", why.replace("\n|", "\n |"));
            let program = Program::compile(source).map_err(|error| failed(&error.to_string()))?;
            if let Some((operator, left, right)) = mismatch(program.expression(), schema) {
                let sign = operator.trim_matches('_');
                let at = source.find(sign).unwrap_or_default();
                let (column, dots) = (at + 1, ".".repeat(at));
                return Err(failed(&format!(
                    "ERROR: <input>:1:{column}: found no matching overload for '{operator}' applied to '({left}, \
                     {right})'\n| {source}\n| {dots}^"
                )));
            }
            match undefined_field(program.expression(), schema) {
                None => Ok(program),
                Some(name) => {
                    let at = source.find(&format!(".{name}")).unwrap_or_default();
                    let (column, dots) = (at + 1, ".".repeat(at));
                    Err(failed(&format!(
                        "ERROR: <input>:1:{column}: undefined field '{name}'\n| {source}\n| {dots}^"
                    )))
                }
            }
        };
        let rule = text("rule").unwrap_or_default();
        let program = compile(&rule).map_err(|why| ("rule", why))?;
        if kind_of(program.expression(), schema).is_some_and(|kind| kind != "boolean") {
            return Err(("rule", "cel expression must evaluate to a bool".to_owned()));
        }
        let message_program = match text("messageExpression") {
            Some(source) => Some(compile(&source).map_err(|why| ("messageExpression", why))?),
            None => None,
        };
        let told = message_program.as_ref();
        if told
            .and_then(|told| kind_of(told.expression(), schema))
            .is_some_and(|kind| kind != "string")
        {
            let why = "messageExpression must evaluate to a string";
            return Err(("messageExpression", why.to_owned()));
        }
        Ok(Self {
            is_transition: program.references().has_variable("oldSelf"),
            old_may_be_absent: json["optionalOldSelf"] == Value::Bool(true),
            text: rule,
            program,
            message: text("message"),
            message_program,
            reason: text("reason"),
            field_path: text("fieldPath"),
        })
    }

    /// What to tell when the rule does not hold.
    fn explanation(&self, context: &Context<'_>) -> String {
        let computed = self.message_program.as_ref().and_then(|program| {
            match program.execute(context) {
                Ok(Cel::String(text)) => Some(text.trim().to_owned()),
                _ => None,
            }
            .filter(|text| !text.is_empty() && !text.contains('\n'))
        });
        let name = || match &self.message {
            Some(message) => message.trim().to_owned(),
            None => format!("failed rule: {}", self.text.trim()),
        };
        computed.unwrap_or_else(name)
    }
}

/// What is wrong with a rule besides its expressions.
fn check_words(rule: &Value, schema: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    const REASONS: [&str; 4] = [
        "FieldValueDuplicate",
        "FieldValueForbidden",
        "FieldValueInvalid",
        "FieldValueRequired",
    ];
    let text = |key: &str| rule[key].as_str().unwrap_or_default();
    if text("rule").trim().is_empty() {
        errors.push(FieldError::required(path.child("rule"), "rule is not specified"));
    }
    if text("message").contains('\n') {
        let why = "must not contain line breaks";
        errors.push(FieldError::invalid_text(
            path.child("message"),
            text("message"),
            why,
        ));
    }
    if !rule["reason"].is_null() && !REASONS.contains(&text("reason")) {
        let known = REASONS.map(str::to_owned);
        errors.push(FieldError::not_supported(
            path.child("reason"),
            &rule["reason"],
            &known,
        ));
    }
    let field = text("fieldPath");
    let names = field.split('.').skip(1);
    let mut at = schema;
    // Keys in brackets are those of maps and lists, and of fields with odd names: whatever they are, they may be there.
    let plain = !field.contains('[');
    for name in names.filter(|_| plain) {
        at = match &at["properties"][name] {
            Value::Null => &at["additionalProperties"],
            property => property,
        };
    }
    if !field.is_empty() && plain && (!field.starts_with('.') || at.is_null()) {
        let why = "must be a valid path";
        errors.push(FieldError::invalid_text(path.child("fieldPath"), field, why));
    }
    let uses_old = [text("rule"), text("messageExpression")]
        .iter()
        .any(|source| source.contains("oldSelf"));
    if rule["optionalOldSelf"] == Value::Bool(true) && !uses_old {
        let why = "may not be set if oldSelf is not used in rule";
        errors.push(FieldError::invalid(
            path.child("optionalOldSelf"),
            &true.into(),
            why,
        ));
    }
}

thread_local! {
    /// Registering the functions costs more than most rules.
    static FUNCTIONS: Context<'static> = functions();
    static READ_TIMESTAMP: Option<Program> = Program::compile("timestamp(text)").ok();
    static READ_DURATION: Option<Program> = Program::compile("duration(text)").ok();
}

fn functions() -> Context<'static> {
    let mut context = Context::default().with_all();
    // Kubernetes counts characters where the library counts bytes.
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
    context
}

/// The errors of the rules in `schema`. `old` is what `object` replaces.
pub(in crate::lab::apiserver) fn check_rules(
    object: &Value,
    old: Option<&Value>,
    schema: &Schema,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if schema.has_rules {
        FUNCTIONS.with(|functions| check(object, old, schema, &Path::ROOT, functions, &mut errors));
    }
    errors
}

fn check(
    value: &Value,
    old: Option<&Value>,
    schema: &Schema,
    path: &Path<'_>,
    functions: &Context<'static>,
    errors: &mut Vec<FieldError>,
) {
    if value.is_null() || !schema.has_rules {
        return;
    }
    let old = old.filter(|old| !old.is_null());
    if !schema.rules.is_empty() {
        check_here(value, old, schema, path, functions, errors);
    }
    for branch in &schema.all_of {
        check(value, old, branch, path, functions, errors);
    }
    schema.visit_below(value, old, path, &mut |value, old, schema, path| {
        check(value, old, schema, path, functions, errors);
    });
}

fn check_here(
    value: &Value,
    old: Option<&Value>,
    schema: &Schema,
    path: &Path<'_>,
    functions: &Context<'static>,
    errors: &mut Vec<FieldError>,
) {
    let mut context = functions.new_inner_scope();
    context.add_variable_from_value("self", to_cel(value, schema, functions));
    let mut optional_old = Cel::Null;
    if let Some(old) = old {
        let old = to_cel(old, schema, functions);
        context.add_variable_from_value("oldSelf", old.clone());
        optional_old = old;
    }
    for rule in &schema.rules {
        if rule.is_transition && old.is_none() && !rule.old_may_be_absent {
            continue;
        }
        let mut scope = context.new_inner_scope();
        if rule.old_may_be_absent {
            scope.add_variable_from_value("oldSelf", optional(&optional_old, functions));
        }
        let error = match rule.program.execute(&scope) {
            Ok(Cel::Bool(true)) => continue,
            Ok(_) => error(rule, value, schema, path, &rule.explanation(&scope)),
            Err(failure) => {
                let why = match &failure {
                    ExecutionError::IndexOutOfBounds(Cel::Int(index)) => {
                        format!("index out of bounds: {index}")
                    }
                    ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
                    other => other.to_string(),
                };
                let name = rule.message.as_deref().unwrap_or(&rule.text).trim();
                let kind = schema.types.first().map_or("", |kind| kind.name());
                FieldError::invalid_text(path, kind, &format!("{why} evaluating rule: {name}"))
            }
        };
        errors.push(FieldError {
            // What was wrong before, and is no business of this change, passes.
            tolerated: !rule.is_transition && old == Some(value),
            ..error
        });
    }
}

fn error(rule: &Rule, value: &Value, schema: &Schema, path: &Path<'_>, detail: &str) -> FieldError {
    let field = match &rule.field_path {
        Some(below) => {
            let field = format!("{path}{below}");
            field.strip_prefix('.').unwrap_or(&field).to_owned()
        }
        None => path.to_string(),
    };
    match rule.reason.as_deref() {
        Some("FieldValueForbidden") => FieldError::forbidden(field, detail),
        Some("FieldValueRequired") => FieldError::required(field, detail),
        Some("FieldValueDuplicate") if schema.is_object_or_array() => FieldError::duplicate_unnamed(field),
        Some("FieldValueDuplicate") => FieldError::duplicate(field, value),
        _ if schema.is_object_or_array() => FieldError::invalid_unnamed(field, detail),
        _ => FieldError::invalid(field, value, detail),
    }
}

/// An `optional` of CEL: empty where there was nothing before.
fn optional(old: &Cel, functions: &Context<'static>) -> Cel {
    let source = match old {
        Cel::Null => "optional.none()",
        _ => "optional.of(old)",
    };
    let mut scope = functions.new_inner_scope();
    scope.add_variable_from_value("old", old.clone());
    Program::compile(source)
        .ok()
        .and_then(|program| program.execute(&scope).ok())
        .unwrap_or(Cel::Null)
}

/// A JSON value as CEL sees it: typed by the schema's formats, its fields by names that CEL can spell.
fn to_cel(value: &Value, schema: &Schema, functions: &Context<'static>) -> Cel {
    match value {
        Value::Object(fields) => fields_to_cel(fields, schema, functions),
        Value::Array(items) => {
            let below = schema.items.as_deref();
            let item = |item| below.map_or_else(|| plain(item), |below| to_cel(item, below, functions));
            Cel::List(Arc::new(items.iter().map(item).collect()))
        }
        Value::String(text) => match schema.format {
            Some(Format::DATE_TIME) => READ_TIMESTAMP.with(|program| read(text, program, functions)),
            Some(Format::DURATION) => READ_DURATION.with(|program| read(text, program, functions)),
            Some(Format::BYTE) => match STANDARD.decode(text) {
                Ok(bytes) => Cel::Bytes(Arc::new(bytes)),
                Err(_) => plain(value),
            },
            _ => plain(value),
        },
        _ => plain(value),
    }
}

fn fields_to_cel(fields: &Map<String, Value>, schema: &Schema, functions: &Context<'static>) -> Cel {
    // The keys of a map are data; only the names of properties are escaped.
    let is_map = !matches!(schema.extra, Extra::Unknown);
    let mut converted = HashMap::with_capacity(fields.len());
    for (name, field) in fields {
        let key = if is_map { name.clone() } else { escaped(name) };
        let field = match schema.field(name) {
            Some(below) => to_cel(field, below, functions),
            None => plain(field),
        };
        converted.insert(Key::String(Arc::new(key)), field);
    }
    Cel::Map(CelMap {
        map: Arc::new(converted),
    })
}

fn read(text: &str, program: &Option<Program>, functions: &Context<'static>) -> Cel {
    let text = Cel::String(Arc::new(text.to_owned()));
    let mut scope = functions.new_inner_scope();
    scope.add_variable_from_value("text", text.clone());
    let read = program.as_ref().and_then(|program| program.execute(&scope).ok());
    read.unwrap_or(text)
}

/// Where no schema says more.
fn plain(value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(value) => Cel::Bool(*value),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Cel::Int(value),
            (None, Some(value)) => Cel::UInt(value),
            (None, None) => Cel::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Cel::String(Arc::new(text.clone())),
        Value::Array(items) => Cel::List(Arc::new(items.iter().map(plain).collect())),
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(name, field)| (Key::String(Arc::new(escaped(name))), plain(field)));
            Cel::Map(CelMap {
                map: Arc::new(fields.collect()),
            })
        }
    }
}

/// Words that CEL keeps for itself.
const RESERVED: &str = "true false null in as break const continue else for function if import let loop package \
                        namespace return var void while";

/// A rule as refusals of it tell it.
fn as_told(rule: &Value) -> String {
    let text = |key: &str| quoted(rule[key].as_str().unwrap_or_default());
    format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\"FieldPath\":{},\"OptionalOldSelf\":{}}}",
        text("rule"),
        text("message"),
        text("messageExpression"),
        rule["reason"],
        text("fieldPath"),
        rule["optionalOldSelf"],
    )
}

/// A field's name as an expression must write it.
pub(super) fn escaped(name: &str) -> String {
    if RESERVED.split(' ').any(|word| word == name) {
        return format!("__{name}__");
    }
    if !name.contains(['_', '.', '-', '/']) {
        return name.to_owned();
    }
    // Two underscores are escaped, one is not.
    name.replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    /// The rule with an optional old value is asked even where there is none.
    #[rstest]
    #[case("self.a == oldSelf.a", false, None, true)]
    #[case("self.a == oldSelf.a", false, Some(json!({"a": "y"})), false)]
    #[case("oldSelf.hasValue()", true, None, false)]
    #[case("oldSelf.hasValue()", true, Some(json!({"a": "y"})), true)]
    #[case(
        "self.__namespace__ == 'n' && self.x_y == 1 && self.d__dot__e == 2",
        false,
        None,
        true
    )]
    #[case("self.when > timestamp('2026-01-01T00:00:00Z')", false, None, true)]
    #[case("self.period < duration('2m')", false, None, true)]
    #[case("self.nothing == 1", false, None, false)]
    fn rules(#[case] rule: &str, #[case] optional: bool, #[case] old: Option<Value>, #[case] holds: bool) {
        let text = json!({"type": "string"});
        let schema = Schema::read_constant(&json!({
            "type": "object",
            "properties": {
                "a": text, "namespace": text, "x_y": {"type": "integer"}, "d.e": {"type": "integer"},
                "when": {"type": "string", "format": "date-time"},
                "period": {"type": "string", "format": "duration"},
                "nothing": {"type": "integer"},
            },
            "x-kubernetes-validations": [{"rule": rule, "optionalOldSelf": optional}],
        }));
        let object = json!({
            "a": "x", "namespace": "n", "x_y": 1, "d.e": 2, "when": "2026-11-20T00:00:00Z", "period": "90s",
        });
        let errors = check_rules(&object, old.as_ref(), &schema);
        assert_eq!(errors.is_empty(), holds, "{errors:?}");
    }
}
