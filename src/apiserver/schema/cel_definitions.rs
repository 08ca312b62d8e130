//! Checks the rules of a CRD, and what they may cost.

use serde_json::json;

use super::{
    cel_check::{Refused, check},
    cel_cost::sum,
    cel_rule::{Expression, Rule},
    cel_types::{Form, LARGEST_REQUEST, Type},
    structural::{Extra, Schema},
};
use crate::object::field::{Errors, Found, Path, Problem};

/// The cost limits of one rule, and of all rules of a version, over all values that one object can hold.
const BUDGET: u64 = 10_000_000;
const WHOLE_BUDGET: u64 = 100_000_000;
/// How many of the rules that exceed the limit together are named, and from which cost on.
const TOLD: usize = 4;
const WORTH_TELLING: u64 = WHOLE_BUDGET / 100;

/// Adds the errors of the rules at `path`, except those of their expressions. `within` is a list above whose items
/// cannot be correlated with old ones.
pub(crate) fn judge_rules(schema: &Schema, path: &Path<'_>, within: Option<&str>, errors: &mut Errors) {
    for (i, rule) in schema.rules.iter().enumerate() {
        let path = path.index(i);
        judge_words(rule, schema, &path, errors);
        if let Some(within) = within.filter(|_| rule.is_transition()) {
            let why =
                format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {within}");
            errors.invalid(path.child("rule"), &rule.rule.text, &why);
        }
    }
}

/// Checks a rule, except its expressions.
fn judge_words(rule: &Rule, schema: &Schema, path: &Path<'_>, errors: &mut Errors) {
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

/// Adds the errors of a version's expressions: what kube-apiserver's compiler refuses, and what may cost too much.
/// Skips rules about fields that have other errors.
pub(crate) fn judge_expressions(schema: &Schema, path: &Path<'_>, errors: &mut Errors) {
    let wrong: Vec<String> = errors.iter().map(|error| error.field.clone()).collect();
    let mut judge = Judge {
        wrong: &wrong,
        costs: Vec::new(),
        errors,
    };
    judge.node(schema, path, Some(1), true);
    let mut costs = judge.costs;
    let sum = sum(costs.iter().map(|(_, cost)| *cost));
    if sum > WHOLE_BUDGET {
        costs.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
        let told = costs.iter().filter(|(_, cost)| *cost >= WORTH_TELLING);
        for (path, _) in told.take(TOLD) {
            let why =
                "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            errors.forbidden(path, why);
        }
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        errors.forbidden(path, &too_much(what, sum, WHOLE_BUDGET));
    }
}

struct Judge<'a> {
    /// Paths of other errors.
    wrong: &'a [String],
    /// The cost and path of each expression.
    costs: Vec<(String, u64)>,
    errors: &'a mut Errors,
}

impl Judge<'_> {
    /// Checks the rules of a node and its descendants. An object holds at most `many` such values, if that is bounded.
    fn node(&mut self, schema: &Schema, path: &Path<'_>, many: Option<u64>, is_resource: bool) {
        if !schema.has_rules {
            return;
        }
        let here = path.to_string();
        if !schema.rules.is_empty() && !self.wrong.iter().any(|field| field.starts_with(&here)) {
            let own = Type::of_schema(schema, is_resource).unwrap_or(Form::Dyn.into());
            let rules = path.child("x-kubernetes-validations");
            for (i, rule) in schema.rules.iter().enumerate() {
                self.rule(rule, &own, &rules.index(i), many);
            }
        }
        let properties = path.child("properties");
        for (name, below) in &schema.properties {
            self.node(below, &properties.key(name), many, below.embedded_resource);
        }
        let times = |most: Option<i64>| {
            let most = u64::try_from(most?.max(0)).ok()?;
            Some(many?.saturating_mul(most))
        };
        if let Extra::Schema(below) = &schema.extra {
            let path = path.child("additionalProperties");
            self.node(
                below,
                &path,
                times(schema.max_properties),
                below.embedded_resource,
            );
        }
        if let Some(below) = &schema.items {
            let path = path.child("items");
            self.node(below, &path, times(schema.max_items), below.embedded_resource);
        }
    }

    /// Message expressions are checked only if the rule itself is valid.
    fn rule(&mut self, rule: &Rule, own: &Type, path: &Path<'_>, many: Option<u64>) {
        // Without a bound, as many as fit into a request.
        let many = many.unwrap_or(LARGEST_REQUEST / (own.least_bytes + 1));
        for (name, expression, wanted, times) in [
            ("rule", &rule.rule, "bool", many),
            ("messageExpression", &rule.message_expression, "string", 1),
        ] {
            if expression.text.is_empty() {
                continue;
            }
            let path = path.child(name);
            let cost = match cost_of(expression, own, rule.optional_old_self == Some(true), wanted) {
                Ok(cost) => cost.saturating_mul(times),
                Err(why) => {
                    let told = Some(as_go_json(rule));
                    return self.errors.note(Problem::Invalid, path, told, &why.to_string());
                }
            };
            if cost > BUDGET {
                let why = too_much(&format!("estimated {name} cost"), cost, BUDGET);
                self.errors.forbidden(path, &why);
            }
            self.costs.push((path.to_string(), cost));
        }
    }
}

/// Why an expression is refused, in kube-apiserver's words.
#[derive(Debug, thiserror::Error)]
enum ExpressionError {
    /// The compiler's message, with a pointer to the place.
    #[error("compilation failed: {0}")]
    Compilation(String),
    #[error("cel expression must evaluate to a bool")]
    NotBool,
    #[error("messageExpression must evaluate to a string")]
    NotString,
}

/// The maximum cost of an expression.
fn cost_of(
    expression: &Expression,
    own: &Type,
    old_may_be_absent: bool,
    wanted: &str,
) -> Result<u64, ExpressionError> {
    let failed = |why: &str| ExpressionError::Compilation(why.replace("\n|", "\n |"));
    let program = expression.program.as_ref();
    let program = program.map_err(|why| failed(&why.to_string()))?;
    let old = if old_may_be_absent {
        Type::plain("optional")
    } else {
        own.clone()
    };
    let text = expression.text.as_str();
    let variables = vec![("self", own.clone()), ("oldSelf", old)];
    let checked =
        check(text, program.expression(), variables).map_err(|problem| failed(&shown(text, &problem)))?;
    if !checked.result.may_be(&[wanted]) {
        return Err(match wanted {
            "bool" => ExpressionError::NotBool,
            _ => ExpressionError::NotString,
        });
    }
    Ok(checked.cost)
}

/// A problem, its line, and a pointer to its column.
fn shown(text: &str, Refused { what, at }: &Refused) -> String {
    let before = &text[..*at];
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let (row, column) = (before.matches('\n').count() + 1, at - start + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let dots = ".".repeat(column - 1);
    format!("ERROR: <input>:{row}:{column}: {what}\n| {line}\n| {dots}^")
}

fn too_much(what: &str, cost: u64, budget: u64) -> String {
    let factor = cost as f64 / budget as f64;
    let factor = match factor {
        _ if factor > 100.0 => "more than 100".to_owned(),
        _ if factor < 1.5 => format!("{factor:.6}"),
        _ => format!("{factor:.1}"),
    };
    format!(
        "{what} exceeds budget by factor of {factor}x (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}

/// A rule as messages show it: as JSON from Go, which escapes markup.
fn as_go_json(rule: &Rule) -> String {
    let told = format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\"FieldPath\":{},\"OptionalOldSelf\":{}}}",
        json!(rule.rule.text),
        json!(rule.message),
        json!(rule.message_expression.text),
        json!(rule.reason),
        json!(rule.field_path),
        json!(rule.optional_old_self),
    );
    let told = told.replace('<', "\\u003c").replace('>', "\\u003e");
    told.replace('&', "\\u0026")
}
