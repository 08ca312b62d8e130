//! Parts of a CRD's version: printer columns and selectable fields.

use serde_json::Value;

use super::field::{ErrorCollector, Errors, Path};
use crate::object::json::{list, text};

pub(crate) const COLUMNS: &str = "additionalPrinterColumns";
pub(crate) const SELECTABLE: &str = "selectableFields";

/// The maximum number of selectable fields.
const MAX_SELECTABLE: i64 = 8;
const COLUMN_TYPES: &str = "boolean,date,integer,number,string";
const COLUMN_FORMATS: &str = "byte,date,date-time,double,float,int32,int64,password";

/// The fields by which objects of a version can be selected.
pub(crate) fn selectable(version: &Value) -> Vec<String> {
    let paths = list(version, SELECTABLE).iter();
    let paths = paths.map(|field| text(field, "jsonPath").trim_start_matches('.'));
    paths.map(str::to_owned).collect()
}

pub(crate) fn check_columns(columns: &[Value], path: &Path<'_>, errors: &mut Errors) {
    for (i, column) in columns.iter().enumerate() {
        let path = path.index(i);
        if text(column, "name").is_empty() {
            errors.required(path.child("name"), "");
        }
        let [kind, format] = ["type", "format"].map(|field| text(column, field));
        let why = format!("must be one of {COLUMN_TYPES}");
        if kind.is_empty() {
            errors.required(path.child("type"), &why);
        } else if !COLUMN_TYPES.split(',').any(|name| name == kind) {
            errors.invalid(path.child("type"), kind, &why);
        }
        if !format.is_empty() && !COLUMN_FORMATS.split(',').any(|name| name == format) {
            let why = format!("must be one of {COLUMN_FORMATS}");
            errors.invalid(path.child("format"), format, &why);
        }
        match text(column, "jsonPath") {
            "" => errors.required(path.child("JSONPath"), ""),
            text if !text.starts_with('.') => {
                let why = "must be a simple json path starting with .";
                errors.invalid(path.child("JSONPath"), text, why);
            }
            _ => {}
        }
    }
}

pub(crate) fn check_selectable(version: &Value, path: &Path<'_>, errors: &mut Errors) {
    let fields = list(version, SELECTABLE);
    let count = fields.len() as i64;
    if count > MAX_SELECTABLE {
        errors.too_many(path, count, MAX_SELECTABLE);
    }
    for (i, field) in fields.iter().enumerate() {
        let at = path.index(i);
        let at = at.child("jsonPath");
        let text = text(field, "jsonPath");
        if text.is_empty() {
            errors.required(at, "");
        } else if !text.starts_with('.') {
            let first = text.split(['.', '[']).next().unwrap_or_default();
            let why = format!("is an invalid path: expected [ or . but got: {first}");
            errors.invalid(at, text, &why);
        } else if fields[..i].contains(field) {
            errors.duplicate(at, &text.into());
        } else {
            let schema = &version["schema"]["openAPIV3Schema"];
            let names = text.split('.').skip(1);
            let property = names.fold(schema, |schema, name| &schema["properties"][name]);
            match property["type"].as_str() {
                Some("string" | "boolean" | "integer") => {}
                None => errors.invalid(at, text, "is an invalid path: does not refer to a valid field"),
                Some(_) => {
                    let why = "must point to a field of type string, boolean or integer. Enum string fields and \
                               strings with formats are allowed.";
                    errors.invalid(at, text, why);
                }
            }
        }
    }
}
