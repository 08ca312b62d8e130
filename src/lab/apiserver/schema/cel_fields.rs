//! Rules may only name fields that their schema has. The real API server knows the type of every expression; this knows
//! where a chain of fields leads that begins at `self`.

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{EntryExpr, Expr, LiteralValue};
use serde_json::Value;

use super::cel::escaped;

/// What is always there, on whatever is an object of its own.
const OF_OBJECTS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The first field that `expression` names and that the value of `self`, which has this schema, cannot have.
pub(super) fn undefined_field(expression: &IdedExpr, schema: &Value) -> Option<String> {
    Walk { schema }.of(expression).err()
}

/// The JSON type of an expression's value, where it is plain to see: a literal, or a field with a schema.
pub(super) fn kind_of<'a>(expression: &IdedExpr, schema: &'a Value) -> Option<&'a str> {
    match &expression.expr {
        Expr::Literal(LiteralValue::String(_)) => Some("string"),
        Expr::Literal(LiteralValue::Int(_)) => Some("integer"),
        Expr::Literal(LiteralValue::Double(_)) => Some("number"),
        Expr::Literal(LiteralValue::Boolean(_)) => Some("boolean"),
        _ => {
            let found = Walk { schema }.of(expression).ok().flatten()?;
            // Formats make other types of texts.
            let plain = found["format"].is_null() && found["nullable"] != Value::Bool(true);
            found["type"].as_str().filter(|_| plain)
        }
    }
}

/// The first comparison of two values that cannot be compared: the operator, and the types as CEL names them.
pub(super) fn mismatch(
    expression: &IdedExpr,
    schema: &Value,
) -> Option<(String, &'static str, &'static str)> {
    let Expr::Call(call) = &expression.expr else {
        return None;
    };
    let below = call.args.iter().find_map(|argument| mismatch(argument, schema));
    if below.is_some() || !matches!(call.func_name.as_str(), "_==_" | "_!=_") {
        return below;
    }
    let [left, right] = call.args.as_slice() else {
        return None;
    };
    let named = |argument| match kind_of(argument, schema)? {
        "string" => Some("string"),
        "integer" => Some("int"),
        "number" => Some("double"),
        "boolean" => Some("bool"),
        _ => None,
    };
    let (left, right) = (named(left)?, named(right)?);
    (left != right).then(|| (call.func_name.clone(), left, right))
}

struct Walk<'a> {
    schema: &'a Value,
}

impl<'a> Walk<'a> {
    /// The schema of the expression's value, as far as it is known.
    fn of(&self, expression: &IdedExpr) -> Result<Option<&'a Value>, String> {
        match &expression.expr {
            Expr::Ident(name) if name == "self" || name == "oldSelf" => return Ok(Some(self.schema)),
            Expr::Select(select) => {
                let parent = self.of(&select.operand)?;
                return match parent {
                    Some(parent) => field(parent, &select.field),
                    None => Ok(None),
                };
            }
            Expr::Call(call) => self.all(call.target.as_deref().into_iter().chain(&call.args))?,
            Expr::List(list) => self.all(&list.elements)?,
            Expr::Map(map) => self.entries(map.entries.iter().map(|entry| &entry.expr))?,
            Expr::Struct(object) => self.entries(object.entries.iter().map(|entry| &entry.expr))?,
            Expr::Comprehension(loops) => {
                let parts = [
                    &loops.iter_range,
                    &loops.accu_init,
                    &loops.loop_cond,
                    &loops.loop_step,
                    &loops.result,
                ];
                self.all(parts)?;
            }
            Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => {}
        }
        Ok(None)
    }

    fn all<'e>(&self, expressions: impl IntoIterator<Item = &'e IdedExpr>) -> Result<(), String> {
        expressions
            .into_iter()
            .try_for_each(|expression| self.of(expression).map(|_| ()))
    }

    fn entries<'e>(&self, mut entries: impl Iterator<Item = &'e EntryExpr>) -> Result<(), String> {
        entries.try_for_each(|entry| match entry {
            EntryExpr::StructField(field) => self.all([&field.value]),
            EntryExpr::MapEntry(entry) => self.all([&entry.key, &entry.value]),
        })
    }
}

/// The schema of a field of an object with this schema.
fn field<'a>(schema: &'a Value, name: &str) -> Result<Option<&'a Value>, String> {
    if OF_OBJECTS.contains(&name) {
        return Ok(None);
    }
    let known = schema["properties"].as_object();
    let found = known.and_then(|known| known.iter().find(|(known, _)| escaped(known) == name));
    match found {
        Some((_, schema)) => Ok(Some(schema)),
        // Maps have any key; what is no object is found out when the rule is asked.
        None if schema["type"] != "object" || schema["additionalProperties"].is_object() => Ok(None),
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
        let program = Program::compile(rule).unwrap();
        assert_eq!(
            undefined_field(program.expression(), &schema).as_deref(),
            expected
        );
    }
}
