//! Type-checks rules and bounds their cost, as kube-apiserver's compiler does before any object exists. It refuses
//! rules with unknown names and with types that do not match.

use std::{collections::BTreeMap, sync::Arc};

use kube_cel::cel::{
    IdedExpr,
    common::ast::{
        CallExpr, ComprehensionExpr, EntryExpr, Expr, ListExpr, LiteralValue, MapExpr, SelectExpr,
    },
};
use regex::Regex;

use super::{
    cel_cost::{self, NEW_LIST, NEW_MAP, sum},
    cel_functions::FUNCTIONS,
    cel_types::{Form, Type},
};

/// Names that denote types.
const TYPES: &str = "bool bytes double int list map null_type string type uint google.protobuf.Duration \
                     google.protobuf.Timestamp kubernetes.URL kubernetes.Quantity kubernetes.NamedFormat \
                     kubernetes.Semver net.IP net.CIDR";

/// An accepted expression.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) result: Type,
    /// The maximum cost, in CEL's cost units.
    pub(super) cost: u64,
}

/// Why an expression is refused, and at which byte of its text.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) what: String,
    pub(super) at: usize,
}

/// Checks `expression`. `source` is its text, `variables` are the names it may use with their types.
pub(super) fn check(
    source: &str,
    expression: &IdedExpr,
    variables: Vec<(&str, Type)>,
) -> Result<Checked, Refused> {
    Walk { source, variables }.of(expression)
}

struct Walk<'a> {
    source: &'a str,
    /// Innermost scope last.
    variables: Vec<(&'a str, Type)>,
}

impl<'a> Walk<'a> {
    fn of(&mut self, expression: &'a IdedExpr) -> Result<Checked, Refused> {
        match &expression.expr {
            Expr::Literal(literal) => Ok(Checked {
                result: of_literal(literal),
                cost: 0,
            }),
            Expr::Ident(name) => self.name(name, expression),
            Expr::Select(select) => self.select(select, expression),
            Expr::Call(call) => self.call(call, expression),
            Expr::List(list) => self.list(list),
            Expr::Map(map) => self.map(map),
            Expr::Comprehension(each) => self.each(each),
            Expr::Struct(object) => Err(self.undeclared(&object.type_name, expression)),
            Expr::Unspecified => Err(self.problem("unspecified expression".to_owned(), expression)),
        }
    }

    fn name(&self, name: &str, expression: &IdedExpr) -> Result<Checked, Refused> {
        let known = self.variables.iter().rev().find(|(known, _)| *known == name);
        let result = match known {
            Some((_, known)) => known.clone(),
            None if is_type(name) => self.type_itself(),
            None => return Err(self.undeclared(name, expression)),
        };
        Ok(Checked { result, cost: 1 })
    }

    /// kube-apiserver takes the size of the type's name for that of `self`.
    fn type_itself(&self) -> Type {
        Type {
            most: self.variables.first().and_then(|(_, own)| own.most),
            ..Type::plain("type")
        }
    }

    fn select(&mut self, select: &'a SelectExpr, expression: &IdedExpr) -> Result<Checked, Refused> {
        if qualified(expression).is_some_and(|name| is_type(&name)) {
            let result = self.type_itself();
            return Ok(Checked { result, cost: 1 });
        }
        let operand = self.of(&select.operand)?;
        let (result, step) = self.field(&operand.result, &select.field, expression)?;
        Ok(if select.test {
            Checked {
                result: Type::plain("bool"),
                cost: operand.cost,
            }
        } else {
            Checked {
                result,
                cost: operand.cost.saturating_add(step),
            }
        })
    }

    /// The type of a field of `operand`, and the cost of selecting it.
    fn field(&self, operand: &Type, field: &str, expression: &IdedExpr) -> Result<(Type, u64), Refused> {
        match &operand.form {
            Form::Map(_, value) => Ok((value.as_ref().clone(), 1)),
            Form::Object(fields) => match fields.get(field) {
                Some(known) => Ok((known.clone(), 1)),
                None => Err(self.problem(format!("undefined field '{field}'"), expression)),
            },
            Form::Dyn => Ok((Form::Dyn.into(), 0)),
            Form::Plain("optional") => Ok((Type::plain("optional"), 0)),
            _ => {
                let what = format!("type '{operand}' does not support field selection");
                Err(self.problem(what, expression))
            }
        }
    }

    fn list(&mut self, list: &'a ListExpr) -> Result<Checked, Refused> {
        let mut cost = NEW_LIST;
        let mut items: Option<Type> = None;
        for element in &list.elements {
            let item = self.of(element)?;
            cost = cost.saturating_add(item.cost);
            items = Some(self.joined(items, item.result, element)?);
        }
        let form = Form::List(Arc::new(items.unwrap_or(Form::Dyn.into())));
        let most = Some(list.elements.len() as u64);
        let result = Type { most, ..form.into() };
        Ok(Checked { result, cost })
    }

    fn map(&mut self, map: &'a MapExpr) -> Result<Checked, Refused> {
        let mut cost = NEW_MAP;
        let (mut keys, mut values) = (None, None);
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else {
                continue;
            };
            let (key, value) = (self.of(&entry.key)?, self.of(&entry.value)?);
            cost = cost.saturating_add(key.cost).saturating_add(value.cost);
            keys = Some(self.joined(keys, key.result, &entry.key)?);
            values = Some(self.joined(values, value.result, &entry.value)?);
        }
        let any = || Form::Dyn.into();
        let form = Form::Map(
            Arc::new(keys.unwrap_or_else(any)),
            Arc::new(values.unwrap_or_else(any)),
        );
        let result = Type {
            most: Some(map.entries.len() as u64),
            ..form.into()
        };
        Ok(Checked { result, cost })
    }

    /// All elements of a literal have one type. The result is as large as the largest.
    fn joined(&self, before: Option<Type>, next: Type, expression: &IdedExpr) -> Result<Type, Refused> {
        let Some(before) = before else { return Ok(next) };
        if !next.takes(&before, &mut BTreeMap::new()) && !before.takes(&next, &mut BTreeMap::new()) {
            return Err(self.mismatch(&before, &next, expression));
        }
        let most = before.size().max(next.size());
        Ok(Type {
            most: Some(most),
            ..before
        })
    }

    fn each(&mut self, each: &'a ComprehensionExpr) -> Result<Checked, Refused> {
        let range = self.of(&each.iter_range)?;
        let first = self.of(&each.accu_init)?;
        let item = match &range.result.form {
            Form::List(item) | Form::Map(item, _) => item.as_ref().clone(),
            Form::Dyn => Form::Dyn.into(),
            _ => {
                let what = format!(
                    "expression of type '{}' cannot be range of a comprehension (must be list, map, or dynamic)",
                    range.result
                );
                return Err(self.problem(what, &each.iter_range));
            }
        };
        let makes_list = first.result.item().is_some();
        self.variables.push((&each.accu_var, first.result));
        self.variables.push((&each.iter_var, item));
        let condition = self.of(&each.loop_cond)?;
        let step = self.of(&each.loop_step)?;
        self.variables.pop();
        let last = self.of(&each.result)?;
        self.variables.pop();
        let once = condition.cost.saturating_add(step.cost);
        let repeated = range.result.size().saturating_mul(once);
        let cost = sum([range.cost, first.cost, last.cost, repeated]);
        let result = if makes_list {
            Type {
                most: Some(range.result.size()),
                ..step.result
            }
        } else {
            last.result
        };
        Ok(Checked { result, cost })
    }

    fn call(&mut self, call: &'a CallExpr, expression: &IdedExpr) -> Result<Checked, Refused> {
        let mut arguments = Vec::new();
        let mut costs = Vec::new();
        for argument in &call.args {
            let argument = self.of(argument)?;
            arguments.push(argument.result);
            costs.push(argument.cost);
        }
        let all = sum(costs.iter().copied());
        let name = call.func_name.as_str();
        if let ("_&&_" | "_||_", Some(i)) = (
            name,
            arguments.iter().position(|argument| !argument.may_be(&["bool"])),
        ) {
            return Err(self.mismatch(&Type::plain("bool"), &arguments[i], &call.args[i]));
        }
        if let ("_?._", Some(Expr::Literal(LiteralValue::String(field)))) =
            (name, call.args.get(1).map(|field| &field.expr))
        {
            self.field(&arguments[0], field.inner(), expression)?;
            let cost = all.saturating_add(1);
            let result = Type::plain("optional");
            return Ok(Checked { result, cost });
        }
        let space = call.target.as_deref().and_then(qualified);
        let in_space = space.map(|space| format!("{space}.{name}"));
        let (name, target) = match (
            &call.target,
            in_space.filter(|name| FUNCTIONS.contains_key(name.as_str())),
        ) {
            (Some(target), None) => (name.to_owned(), Some(self.of(target)?)),
            (_, Some(in_space)) => (in_space, None),
            (None, None) => (name.to_owned(), None),
        };
        let of_target = target.as_ref().map(|target| &target.result);
        let mut result = self.resolved(&name, of_target, &arguments, expression)?;
        if matches!(name.as_str(), "matches" | "find" | "findAll")
            && let Some(Expr::Literal(LiteralValue::String(pattern))) =
                call.args.first().map(|pattern| &pattern.expr)
            && call.target.is_some()
            && Regex::new(pattern.inner()).is_err()
        {
            let refused = self.problem(format!("invalid {name} argument"), expression);
            // The place is behind the parenthesis.
            let at = refused.at + 1;
            return Err(Refused { at, ..refused });
        }
        let cost = match name.as_str() {
            "_&&_" | "_||_" => all,
            "_?_:_" => {
                result.most = Some(arguments[1].size().max(arguments[2].size()));
                costs[0].saturating_add(costs[1].max(costs[2]))
            }
            "dyn" => {
                result.most = arguments[0].most;
                all.saturating_add(1)
            }
            _ => {
                let (own, most) = cel_cost::of_call(&name, of_target, &arguments);
                result.most = most.or(result.most);
                let target = target.as_ref().map_or(0, |target| target.cost);
                sum([all, target, own])
            }
        };
        Ok(Checked { result, cost })
    }

    /// The result of calling the function with these arguments.
    fn resolved(
        &self,
        name: &str,
        target: Option<&Type>,
        arguments: &[Type],
        expression: &IdedExpr,
    ) -> Result<Type, Refused> {
        let Some(signatures) = FUNCTIONS.get(name) else {
            return Err(self.undeclared(name, expression));
        };
        let mut results = signatures
            .iter()
            .filter_map(|signature| signature.applied(target, arguments));
        match (results.next(), results.next()) {
            (Some(result), None) => Ok(result),
            // The overload is chosen at run time.
            (Some(first), Some(second)) if first.to_string() == second.to_string() => Ok(first),
            (Some(_), Some(_)) => Ok(Form::Dyn.into()),
            (None, _) => {
                let told: Vec<String> = arguments.iter().map(Type::to_string).collect();
                let target = target.map(|target| format!("{target}.")).unwrap_or_default();
                let what = format!(
                    "found no matching overload for '{name}' applied to '{target}({})'",
                    told.join(", ")
                );
                Err(self.problem(what, expression))
            }
        }
    }

    fn undeclared(&self, name: &str, expression: &IdedExpr) -> Refused {
        self.problem(
            format!("undeclared reference to '{name}' (in container '')"),
            expression,
        )
    }

    fn mismatch(&self, expected: &Type, found: &Type, expression: &IdedExpr) -> Refused {
        self.problem(
            format!("expected type '{expected}' but found '{found}'"),
            expression,
        )
    }

    /// kube-apiserver's compiler points at a name's start, a field's dot, an operator and a call's parenthesis. Our
    /// parser keeps no positions, so this searches the text for the first match.
    fn problem(&self, what: String, expression: &IdedExpr) -> Refused {
        let (sign, offset) = match &expression.expr {
            Expr::Ident(name) => (name.clone(), 0),
            Expr::Select(select) => (format!(".{}", select.field), 0),
            Expr::Call(call) if call.func_name.contains('_') => {
                let sign = call.func_name.split('_').find(|sign| !sign.is_empty());
                (sign.unwrap_or_default().chars().take(2).collect(), 0)
            }
            Expr::Call(call) if call.func_name == "@in" => (" in ".to_owned(), 1),
            Expr::Call(call) => (format!("{}(", call.func_name), call.func_name.len()),
            Expr::Literal(LiteralValue::String(_)) => ("'".to_owned(), 0),
            _ => (String::new(), 0),
        };
        let at = self.source.find(&sign).map_or(0, |at| at + offset);
        Refused { what, at }
    }
}

fn is_type(name: &str) -> bool {
    TYPES.split(' ').any(|known| known == name)
}

/// A chain of selections, as one dotted name.
fn qualified(expression: &IdedExpr) -> Option<String> {
    match &expression.expr {
        Expr::Ident(name) => Some(name.clone()),
        Expr::Select(select) if !select.test => {
            Some(format!("{}.{}", qualified(&select.operand)?, select.field))
        }
        _ => None,
    }
}

fn of_literal(literal: &LiteralValue) -> Type {
    let (name, most) = match literal {
        LiteralValue::String(text) => ("string", text.inner().chars().count()),
        LiteralValue::Bytes(bytes) => ("bytes", bytes.inner().len()),
        LiteralValue::Boolean(_) => ("bool", 1),
        LiteralValue::Double(_) => ("double", 1),
        LiteralValue::Int(_) => ("int", 1),
        LiteralValue::UInt(_) => ("uint", 1),
        LiteralValue::Null => ("null", 1),
    };
    Type {
        most: Some(most as u64),
        ..Type::plain(name)
    }
}

#[cfg(test)]
mod tests {
    use kube_cel::cel::Program;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::schema::Schema;

    const WORDS: &str = "self oldSelf self.list self.text self.map item x é 'é\u{1F980}' 1 2.5 true null [] {} ( ) [ ] , . ? : \
                         + - * % == != < && || ! in .all( .map( .filter( .exists_one( .size() .matches( .contains( \
                         .replace( .split( .join( has( type( string( url( .getHost() optional.of( .orValue( dyn( b'x' \n";

    proptest! {
        /// Any rule is judged, and problems point into its text.
        #[test]
        fn any_expression_is_judged(words in prop::collection::vec(prop::sample::select(WORDS.split(' ').collect::<Vec<_>>()), 1..16)) {
            let text = words.concat();
            let schema = Schema::read_constant(&json!({"type": "object", "properties": {
                "text": {"type": "string"},
                "list": {"type": "array", "items": {"type": "string"}},
                "map": {"type": "object", "additionalProperties": {"type": "integer"}},
            }}));
            let own = Type::of_schema(&schema, false).unwrap();
            if let Ok(program) = Program::compile(&text)
                && let Err(problem) = check(&text, program.expression(), vec![("self", own.clone()), ("oldSelf", own)])
            {
                prop_assert!(text.is_char_boundary(problem.at), "{text}: {problem:?}");
            }
        }
    }
}
