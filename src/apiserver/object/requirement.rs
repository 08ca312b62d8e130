//! Requirements of selectors that objects contain: a key, an operator and values.

use serde_json::Value;

use super::{
    field::{Errors, Found},
    value::{list, text},
};

/// Checks that a requirement has values if its operator takes any. Returns false if the operator is unknown.
pub(crate) fn check_values(at: &str, requirement: &Value, errors: &mut Errors) -> bool {
    let has_values = !list(requirement, "values").is_empty();
    match text(requirement, "operator") {
        "In" | "NotIn" if !has_values => {
            let why = "must be specified when `operator` is 'In' or 'NotIn'";
            errors.required(format!("{at}.values"), why);
        }
        "Exists" | "DoesNotExist" if has_values => {
            let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.forbidden(format!("{at}.values"), why);
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        _ => return false,
    }
    true
}
