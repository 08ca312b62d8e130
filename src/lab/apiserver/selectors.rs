//! Label and field selectors of lists and watches.

use serde_json::Value;

use super::names;
use super::resource::{Resource, Version};
use super::status::{Failure, Outcome};

/// The operators that refusals name.
const OPERATORS: &str = "in, notin, =, ==, !=, gt, lt";

/// Which objects a list or a watch is about.
#[derive(Clone, Debug, Default)]
pub(super) struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<FieldTerm>,
}

#[derive(Clone, Debug, PartialEq)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Clone, Debug, PartialEq)]
enum Operator {
    Exists,
    Absent,
    In(Vec<String>),
    NotIn(Vec<String>),
    Greater(i64),
    Less(i64),
}

#[derive(Clone, Debug)]
struct FieldTerm {
    path: String,
    value: String,
    equal: bool,
}

impl Selector {
    /// Reads the two parameters of a request for `version` of `resource`.
    pub(super) fn read(labels: &str, fields: &str, resource: &Resource, version: &Version) -> Outcome<Self> {
        let labels = read_labels(labels)
            .map_err(|why| Failure::bad_request(format!("unable to parse requirement: {why}")))?;
        let fields = read_fields(fields)?;
        for term in &fields {
            let known = term.path == "metadata.name"
                || term.path == "metadata.namespace" && resource.namespaced
                || version.selectable.contains(&term.path);
            if !known {
                let path = &term.path;
                return Err(Failure::bad_request(format!("field label not supported: {path}")));
            }
        }
        Ok(Self { labels, fields })
    }

    pub(super) fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(super) fn matches(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        let labels_match = self.labels.iter().all(|requirement| {
            let value = labels.get(&requirement.key).and_then(Value::as_str);
            match (&requirement.operator, value) {
                (Operator::Exists, value) => value.is_some(),
                (Operator::Absent, value) => value.is_none(),
                (Operator::In(wanted), value) => value.is_some_and(|value| has(wanted, value)),
                (Operator::NotIn(unwanted), value) => value.is_none_or(|value| !has(unwanted, value)),
                (Operator::Greater(bound), value) => number(value).is_some_and(|value| value > *bound),
                (Operator::Less(bound), value) => number(value).is_some_and(|value| value < *bound),
            }
        });
        labels_match
            && self
                .fields
                .iter()
                .all(|term| (text_at(object, &term.path) == term.value) == term.equal)
    }
}

/// The value of a field by which objects can be selected.
fn text_at(object: &Value, path: &str) -> String {
    let value = path.split('.').fold(object, |value, step| &value[step]);
    match value {
        Value::Null if path == "spec.unschedulable" => "false".to_owned(),
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        // The source of an Event: what it calls itself, or the controller that reports it.
        Value::Object(source) => {
            let name = source.get("component").unwrap_or(&object["reportingComponent"]);
            name.as_str().unwrap_or_default().to_owned()
        }
        other => other.to_string(),
    }
}

fn has(list: &[String], value: &str) -> bool {
    list.iter().any(|known| known == value)
}

fn number(value: Option<&str>) -> Option<i64> {
    value?.parse().ok()
}

fn read_fields(text: &str) -> Outcome<Vec<FieldTerm>> {
    let terms = text.split(',').filter(|term| !term.is_empty());
    terms
        .map(|term| {
            let mut symbols = ["!=", "==", "="].into_iter();
            let split = symbols.find_map(|symbol| Some((symbol, term.split_once(symbol)?)));
            let Some((symbol, (path, value))) = split else {
                let why = format!("invalid selector: '{text}'; can't understand '{term}'");
                return Err(Failure::bad_request(why));
            };
            Ok(FieldTerm {
                path: path.to_owned(),
                value: value.to_owned(),
                equal: symbol != "!=",
            })
        })
        .collect()
}

/// Splits at commas outside parentheses.
fn split_terms(text: &str) -> Vec<&str> {
    let (mut terms, mut depth, mut start) = (Vec::new(), 0, 0);
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                terms.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

fn read_labels(text: &str) -> Result<Vec<Requirement>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    split_terms(text).into_iter().map(read_requirement).collect()
}

fn read_requirement(term: &str) -> Result<Requirement, String> {
    let term = term.trim();
    let (key, operator) = match term.strip_prefix('!') {
        Some(key) => (key.trim(), Operator::Absent),
        None => read_comparison(term)?,
    };
    if let Some(why) = names::label_key(key).first() {
        return Err(format!("<nil>: Invalid value: \"{key}\": {why}"));
    }
    if let Operator::In(values) | Operator::NotIn(values) = &operator {
        for value in values {
            if let Some(why) = names::label_value(value).first() {
                return Err(format!("values[0][{key}]: Invalid value: \"{value}\": {why}"));
            }
        }
    }
    Ok(Requirement {
        key: key.to_owned(),
        operator,
    })
}

fn read_comparison(term: &str) -> Result<(&str, Operator), String> {
    if let Some((head, list)) = term.split_once('(') {
        let list = list
            .trim_end()
            .strip_suffix(')')
            .ok_or_else(|| format!("found '{term}', expected: ',' or ')'"))?;
        let values = list.split(',').map(|value| value.trim().to_owned()).collect();
        let mut words = head.split_whitespace();
        return match (words.next(), words.next(), words.next()) {
            (Some(key), Some("in"), None) => Ok((key, Operator::In(values))),
            (Some(key), Some("notin"), None) => Ok((key, Operator::NotIn(values))),
            _ => Err(format!("found '{}', expected: {OPERATORS}", head.trim())),
        };
    }
    for symbol in ["!=", "==", "=", ">", "<"] {
        if let Some((key, value)) = term.split_once(symbol) {
            return Ok((key.trim(), compared(symbol, value.trim())?));
        }
    }
    let mut words = term.split_whitespace().skip(1);
    match words.next() {
        None => Ok((term, Operator::Exists)),
        Some("in" | "notin") => {
            let found = words.next().unwrap_or_default();
            Err(format!("found '{found}' expected: '('"))
        }
        Some(other) => Err(format!("found '{other}', expected: {OPERATORS}")),
    }
}

fn compared(symbol: &str, value: &str) -> Result<Operator, String> {
    let bound = || {
        let why = "for 'Gt', 'Lt' operators, the value must be an integer";
        let bound = value.parse::<i64>();
        bound.map_err(|_| format!("values[0]: Invalid value: \"{value}\": {why}"))
    };
    Ok(match symbol {
        "!=" => Operator::NotIn(vec![value.to_owned()]),
        ">" => Operator::Greater(bound()?),
        "<" => Operator::Less(bound()?),
        _ => Operator::In(vec![value.to_owned()]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case("", true)]
    #[case("tier", true)]
    #[case("!tier", false)]
    #[case("tier=gold", true)]
    #[case("tier==gold,zone=a", true)]
    #[case("tier!=gold", false)]
    #[case("other!=gold", true)]
    #[case("tier in (silver, gold)", true)]
    #[case("tier notin (silver,gold),zone", false)]
    #[case("count>4", true)]
    #[case("count<5", false)]
    fn labels(#[case] text: &str, #[case] expected: bool) {
        let object = json!({"metadata": {"labels": {"tier": "gold", "zone": "a", "count": "5"}}});
        let selector = Selector {
            labels: read_labels(text).expect("a good selector"),
            fields: Vec::new(),
        };
        assert_eq!(selector.matches(&object), expected);
    }

    #[rstest]
    #[case("tier in gold")]
    #[case("tier in (gold")]
    #[case("-x=1")]
    #[case("a=b c d!")]
    fn refuses(#[case] text: &str) {
        assert!(read_labels(text).is_err());
    }
}
