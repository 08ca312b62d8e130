//! The selectors of access reviews. RBAC ignores them, so they are only checked.

use serde_json::Value;

use super::selectors::{read_fields, read_labels};
use crate::object::{
    field::{Errors, Found},
    names,
    requirement::check_values,
    value::{list, text, texts},
};

/// The kinds of selectors.
const FIELDS: &str = "fieldSelector";
const LABELS: &str = "labelSelector";

/// Adds the errors of the selectors in `spec.resourceAttributes`.
pub(super) fn check(attributes: &Value, errors: &mut Errors) {
    for name in [FIELDS, LABELS] {
        let (selector, at) = (&attributes[name], path(name));
        let (raw, requirements) = (text(selector, "rawSelector"), list(selector, "requirements"));
        match (raw.is_empty(), requirements.is_empty()) {
            _ if selector.is_null() => {}
            (false, false) => {
                let why = "may not specified at the same time as requirements";
                errors.invalid(format!("{at}.rawSelector"), raw, why);
            }
            (true, true) => {
                let why = format!("when {at} is specified, requirements or rawSelector is required");
                errors.required(format!("{at}.requirements"), &why);
            }
            _ => {}
        }
        for (i, requirement) in requirements.iter().enumerate() {
            let (at, key) = (format!("{at}.requirements[{i}]"), text(requirement, "key"));
            if name == FIELDS && key.is_empty() {
                errors.required(format!("{at}.key"), "must be specified");
            }
            // Newer clients may send operators that this server does not know.
            check_values(&at, requirement, errors);
            if name == LABELS {
                check_label(&at, requirement, errors);
            }
        }
    }
}

fn check_label(at: &str, requirement: &Value, errors: &mut Errors) {
    errors.judge(format!("{at}.key"), text(requirement, "key"), names::label_key);
    let values: Vec<&str> = texts(requirement, "values");
    for (i, value) in values.into_iter().enumerate() {
        errors.judge(format!("{at}.values[{i}]"), value, names::label_value);
    }
}

/// Says which selectors kube-apiserver cannot read, in whole or in part.
pub(super) fn ignored(attributes: &Value) -> Vec<String> {
    let ignored = [FIELDS, LABELS].into_iter().filter_map(|name| {
        let selector = &attributes[name];
        let requirements = list(selector, "requirements");
        let raw = text(selector, "rawSelector");
        let is_raw_good = match name {
            FIELDS => read_fields(raw).is_ok(),
            _ => read_labels(raw).is_ok(),
        };
        let readable = requirements.iter().filter(|one| is_readable(name, one)).count();
        let how = match readable {
            _ if is_raw_good && readable == requirements.len() => return None,
            0 => "ignored",
            _ => "partially ignored",
        };
        Some(format!("{} {how} due to parse error", path(name)))
    });
    ignored.collect()
}

/// Requirements on fields may have one value only.
fn is_readable(name: &str, requirement: &Value) -> bool {
    let operator = text(requirement, "operator");
    match name {
        FIELDS => matches!(operator, "In" | "NotIn") && list(requirement, "values").len() == 1,
        _ => matches!(operator, "In" | "NotIn" | "Exists" | "DoesNotExist"),
    }
}

fn path(selector: &str) -> String {
    format!("spec.resourceAttributes.{selector}")
}
