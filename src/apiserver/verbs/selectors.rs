//! Label and field selectors of lists and watches.

use std::{cmp::Ordering, sync::LazyLock};

use regex::Regex;
use serde_json::Value;

use crate::{
    object::{
        field::ErrorCollector,
        names,
        status::{HandlerResult, StatusFailure},
    },
    store::resource::{ApiVersion, Resource},
};

/// A requirement of a label selector: `!key`, `key in (a, b)`, `key = a` or `key`.
static REQUIREMENT: LazyLock<Regex> = LazyLock::new(|| {
    let word = r"[^\s!=<>(),]*";
    let values = r"\s+(?<set>in|notin)\s*\((?<values>[^()]*)\)";
    let value = format!(r"\s*(?<sign>!=|==?|<|>)\s*(?<value>{word})");
    let pattern = format!(r"^(?:!\s*(?<absent>{word})|(?<key>{word})(?:{values}|{value})?)$");
    Regex::new(&pattern).expect("a pattern")
});

/// Selects objects of a list or a watch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<Requirement>,
}

#[derive(Clone, Debug)]
struct Requirement {
    /// A label's key, or a field's path.
    key: String,
    /// `in`, `=`, `==`, `notin`, `!=`, `<`, `>`; `!` for absent, empty for present.
    sign: String,
    values: Vec<String>,
}

impl Requirement {
    /// True if a value, or its absence, meets the requirement.
    fn accepts(&self, value: Option<&str>) -> bool {
        let is_among = || value.is_some_and(|value| self.values.iter().any(|allowed| allowed == value));
        let number = |text: &str| text.parse::<i64>().ok();
        let order = || Some(number(value?)?.cmp(&number(&self.values[0])?));
        match self.sign.as_str() {
            "" => value.is_some(),
            "!" => value.is_none(),
            "!=" | "notin" => !is_among(),
            ">" => order() == Some(Ordering::Greater),
            "<" => order() == Some(Ordering::Less),
            _ => is_among(),
        }
    }
}

impl Selector {
    /// Parses the label and field selectors of a request for `version` of `resource`.
    pub(crate) fn read(
        labels: &str,
        fields: &str,
        resource: &Resource,
        version: &ApiVersion,
    ) -> HandlerResult<Self> {
        let labels = read_labels(labels)?;
        let fields = read_fields(fields)?;
        for Requirement { key: path, .. } in &fields {
            let is_selectable = path == "metadata.name"
                || path == "metadata.namespace" && resource.namespaced
                || version.selectable.contains(path);
            if !is_selectable {
                return Err(StatusFailure::bad_request(format!(
                    "field label not supported: {path}"
                )));
            }
        }
        Ok(Self { labels, fields })
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        let label = |key: &str| labels.get(key).and_then(Value::as_str);
        let (mut of_labels, mut of_fields) = (self.labels.iter(), self.fields.iter());
        of_labels.all(|requirement| requirement.accepts(label(&requirement.key)))
            && of_fields.all(|requirement| requirement.accepts(Some(&text_at(object, &requirement.key))))
    }
}

/// The value of a selectable field.
fn text_at(object: &Value, path: &str) -> String {
    let value = path.split('.').fold(object, |value, step| &value[step]);
    match value {
        Value::Null if path == "spec.unschedulable" => "false".to_owned(),
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        // An Event's source: its component, or the reporting controller.
        Value::Object(source) => {
            let name = source.get("component").unwrap_or(&object["reportingComponent"]);
            name.as_str().unwrap_or_default().to_owned()
        }
        other => other.to_string(),
    }
}

fn read_fields(text: &str) -> HandlerResult<Vec<Requirement>> {
    let terms = text.split(',').filter(|term| !term.is_empty());
    terms
        .map(|term| {
            let mut symbols = ["!=", "==", "="].into_iter();
            let split = symbols.find_map(|symbol| Some((symbol, term.split_once(symbol)?)));
            let Some((symbol, (path, value))) = split else {
                let why = format!("invalid selector: '{text}'; can't understand '{term}'");
                return Err(StatusFailure::bad_request(why));
            };
            Ok(Requirement {
                key: path.to_owned(),
                sign: symbol.to_owned(),
                values: vec![value.to_owned()],
            })
        })
        .collect()
}

fn read_labels(text: &str) -> HandlerResult<Vec<Requirement>> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let mut depth = 0;
    let terms = text.split(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    });
    terms.map(|term| read_requirement(term.trim())).collect()
}

fn read_requirement(term: &str) -> HandlerResult<Requirement> {
    let Some(parts) = REQUIREMENT.captures(term) else {
        return Err(StatusFailure::bad_request(format!(
            "unable to parse requirement: {term}"
        )));
    };
    let part = |name: &str| parts.name(name).map(|part| part.as_str());
    let key = part("absent").or(part("key")).unwrap_or_default();
    let sign = match part("absent") {
        Some(_) => "!",
        None => part("set").or(part("sign")).unwrap_or_default(),
    };
    let mut errors = Vec::new();
    errors.judge("", key, names::label_key);
    let values = part("values").or(part("value")).unwrap_or_default();
    let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
    for value in &values {
        errors.judge(format!("values[0][{key}]"), value, names::label_value);
    }
    if matches!(sign, "<" | ">") && values[0].parse::<i64>().is_err() {
        let why = "for 'Gt', 'Lt' operators, the value must be an integer";
        errors.invalid("values[0]", &values[0], why);
    }
    if let Some(first) = errors.into_iter().next() {
        return Err(StatusFailure::bad_request(format!(
            "unable to parse requirement: {first}"
        )));
    }
    Ok(Requirement {
        key: key.to_owned(),
        sign: sign.to_owned(),
        values,
    })
}
