//! What a definition's rules may say. The real API server knows the type of every expression; this knows that of
//! literals, and where a chain of fields leads that begins at `self`.

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{EntryExpr, Expr, LiteralValue};
use serde_json::json;

use super::cel::{Expression, Rule, escaped};
use super::structural::{Extra, Schema, Type};
use crate::lab::apiserver::field::{FieldError, Path, quoted};
use crate::lab::apiserver::found::Found;

/// What is always there, on whatever is an object of its own.
const OF_OBJECTS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Adds what is wrong with the rules at `path`, those of a node which may be in a list whose items cannot be found
/// again.
pub(in crate::lab::apiserver) fn judge_rules(
    schema: &Schema,
    path: &Path<'_>,
    within: Option<&str>,
    errors: &mut Vec<FieldError>,
) {
    for (i, rule) in schema.rules.iter().enumerate() {
        let path = path.index(i);
        judge_words(rule, schema, &path, errors);
        judge_expressions(rule, schema, &path, errors);
        if let Some(within) = within.filter(|_| rule.is_transition()) {
            let why =
                format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {within}");
            errors.invalid(path.child("rule"), &rule.rule.text, &why);
        }
    }
}

/// What is wrong with a rule besides its expressions.
fn judge_words(rule: &Rule, schema: &Schema, path: &Path<'_>, errors: &mut Vec<FieldError>) {
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
    // Keys in brackets are those of maps and lists, and of fields with odd names: whatever they are, they may be there.
    if !field.is_empty() && !field.contains('[') {
        let found = field.split('.').skip(1).try_fold(schema, Schema::field);
        if !field.starts_with('.') || found.is_none() {
            errors.invalid(path.child("fieldPath"), field, "must be a valid path");
        }
    }
    let mut expressions = [&rule.rule, &rule.message_expression].into_iter();
    if rule.optional_old_self == Some(true) && !expressions.any(|source| source.text.contains("oldSelf")) {
        let why = "may not be set if oldSelf is not used in rule";
        errors.invalid(path.child("optionalOldSelf"), true, why);
    }
}

/// What is wrong with the expressions of a rule; a message is not looked at where the rule is wrong.
fn judge_expressions(rule: &Rule, schema: &Schema, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    for (name, expression, wanted) in [
        ("rule", &rule.rule, Type::Boolean),
        ("messageExpression", &rule.message_expression, Type::String),
    ] {
        let wrong = judge(expression, schema, wanted);
        if let Some(why) = wrong.filter(|_| !expression.text.is_empty()) {
            return errors.push(FieldError::invalid_raw(path.child(name), &as_told(rule), &why));
        }
    }
}

/// What is wrong with an expression, as the real server's compiler tells it.
fn judge(expression: &Expression, schema: &Schema, wanted: Type) -> Option<String> {
    let failed = |why: &str| format!("compilation failed: {}", why.replace("\n|", "\n |"));
    let text = &expression.text;
    let program = match &expression.program {
        Ok(program) => program.expression(),
        Err(why) => return Some(failed(why)),
    };
    let undefined = |name| (format!(".{name}"), format!("undefined field '{name}'"));
    let undefined = || schema_of(program, schema).err().map(undefined);
    if let Some((place, what)) = mismatch(program, schema).or_else(undefined) {
        let at = text.find(&place).unwrap_or_default();
        let (column, dots) = (at + 1, ".".repeat(at));
        let why = format!("ERROR: <input>:1:{column}: {what}\n| {text}\n| {dots}^");
        return Some(failed(&why));
    }
    let why = match wanted {
        Type::Boolean => "cel expression must evaluate to a bool",
        _ => "messageExpression must evaluate to a string",
    };
    (kind_of(program, schema)? != wanted).then(|| why.to_owned())
}

/// A rule as refusals of it tell it.
fn as_told(rule: &Rule) -> String {
    format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\"FieldPath\":{},\"OptionalOldSelf\":{}}}",
        quoted(&rule.rule.text),
        quoted(&rule.message),
        quoted(&rule.message_expression.text),
        json!(rule.reason),
        quoted(&rule.field_path),
        json!(rule.optional_old_self),
    )
}

/// The type of an expression's value, where it is plain to see: a literal, or a field with a schema.
fn kind_of(expression: &IdedExpr, schema: &Schema) -> Option<Type> {
    match &expression.expr {
        Expr::Literal(LiteralValue::String(_)) => Some(Type::String),
        Expr::Literal(LiteralValue::Int(_)) => Some(Type::Integer),
        Expr::Literal(LiteralValue::Double(_)) => Some(Type::Number),
        Expr::Literal(LiteralValue::Boolean(_)) => Some(Type::Boolean),
        _ => {
            let found = schema_of(expression, schema).ok().flatten()?;
            // Formats make other types of texts.
            let is_plain = found.format.is_none() && !found.nullable && found.types.len() == 1;
            found.types.first().copied().filter(|_| is_plain)
        }
    }
}

/// The first comparison of two values that cannot be compared: the operator, and what is wrong with it.
fn mismatch(expression: &IdedExpr, schema: &Schema) -> Option<(String, String)> {
    let Expr::Call(call) = &expression.expr else {
        return None;
    };
    let below = call.args.iter().find_map(|argument| mismatch(argument, schema));
    let (operator, [left, right]) = (call.func_name.as_str(), call.args.as_slice()) else {
        return below;
    };
    if below.is_some() || !matches!(operator, "_==_" | "_!=_") {
        return below;
    }
    let named = |argument| match kind_of(argument, schema)? {
        Type::String => Some("string"),
        Type::Integer => Some("int"),
        Type::Number => Some("double"),
        Type::Boolean => Some("bool"),
        Type::Object | Type::Array => None,
    };
    let (left, right) = (named(left)?, named(right)?);
    let what = format!("found no matching overload for '{operator}' applied to '({left}, {right})'");
    (left != right).then(|| (operator.trim_matches('_').to_owned(), what))
}

/// The schema of an expression's value, as far as it is known; the error is the first field that is named and that the
/// value of `self`, which has this schema, cannot have.
fn schema_of<'a>(expression: &IdedExpr, schema: &'a Schema) -> Result<Option<&'a Schema>, String> {
    match &expression.expr {
        Expr::Ident(name) if name == "self" || name == "oldSelf" => Ok(Some(schema)),
        Expr::Select(select) => match schema_of(&select.operand, schema)? {
            Some(parent) => field(parent, &select.field),
            None => Ok(None),
        },
        other => {
            for part in parts(other) {
                schema_of(part, schema)?;
            }
            Ok(None)
        }
    }
}

/// The expressions within an expression.
fn parts(expression: &Expr) -> Vec<&IdedExpr> {
    match expression {
        Expr::Call(call) => call.target.as_deref().into_iter().chain(&call.args).collect(),
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => map
            .entries
            .iter()
            .flat_map(|entry| parts_of_entry(&entry.expr))
            .collect(),
        Expr::Struct(object) => object
            .entries
            .iter()
            .flat_map(|entry| parts_of_entry(&entry.expr))
            .collect(),
        Expr::Comprehension(loops) => vec![
            &loops.iter_range,
            &loops.accu_init,
            &loops.loop_cond,
            &loops.loop_step,
            &loops.result,
        ],
        Expr::Select(select) => vec![&select.operand],
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => Vec::new(),
    }
}

fn parts_of_entry(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}

/// The schema of a field of an object with this schema.
fn field<'a>(schema: &'a Schema, name: &str) -> Result<Option<&'a Schema>, String> {
    let mut properties = schema.properties.iter();
    match properties.find(|(known, _)| escaped(known) == name) {
        _ if OF_OBJECTS.contains(&name) => Ok(None),
        Some((_, schema)) => Ok(Some(schema)),
        // Maps have any key; what is no object is found out when the rule is asked.
        None if schema.types != [Type::Object] || matches!(schema.extra, Extra::Schema(_)) => Ok(None),
        None => Err(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_cel::cel::Program;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case("self.a == 1", None)]
    #[case("self.b.c__dash__d == 1", None)]
    #[case("self.map.anything == 'x'", None)]
    #[case("self.metadata.name == 'x'", None)]
    #[case("self.list.all(item, item.whatever == 1)", None)]
    #[case("self.c == 1", Some("c"))]
    #[case("has(self.b.x)", Some("x"))]
    #[case("self.list.all(item, item == oldSelf.y)", Some("y"))]
    #[case("self.a == 1 ? {'k': self.z} : {}", Some("z"))]
    fn finds_fields_that_are_not_there(#[case] rule: &str, #[case] expected: Option<&str>) {
        let schema = json!({"type": "object", "properties": {
            "a": {"type": "integer"},
            "metadata": {"type": "object"},
            "b": {"type": "object", "properties": {"c-d": {"type": "integer"}}},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
            "list": {"type": "array", "items": {"type": "object"}},
        }});
        let schema = Schema::read_constant(&schema);
        let program = Program::compile(rule).unwrap();
        let found = schema_of(program.expression(), &schema);
        assert_eq!(found.err().as_deref(), expected);
    }
}
