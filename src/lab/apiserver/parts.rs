//! Parts of a definition's version: printer columns, selectable fields, where the scale is.

use std::sync::Arc;

use serde_json::Value;

use super::field::{FieldError, Path};
use super::resource::Scale;

/// More fields than this cannot be selected by.
const MAX_SELECTABLE: usize = 8;
const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] = [
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];

pub(super) fn selectable(fields: &Value) -> Vec<String> {
    let fields = fields.as_array().into_iter().flatten();
    let paths = fields.filter_map(|field| field["jsonPath"].as_str());
    paths
        .map(|path| path.trim_start_matches('.').to_owned())
        .collect()
}

pub(super) fn scale(scale: &Value) -> Option<Arc<Scale>> {
    let path = |name: &str| scale[name].as_str().unwrap_or_default().to_owned();
    scale.is_object().then(|| {
        Arc::new(Scale {
            spec_replicas: path("specReplicasPath"),
            status_replicas: path("statusReplicasPath"),
            label_selector: path("labelSelectorPath"),
        })
    })
}

pub(super) fn check_columns(columns: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    for (i, column) in columns.as_array().into_iter().flatten().enumerate() {
        let path = path.index(i);
        let text = |field: &str| column[field].as_str().unwrap_or_default();
        if text("name").is_empty() {
            errors.push(FieldError::required(path.child("name"), ""));
        }
        let why = format!("must be one of {}", COLUMN_TYPES.join(","));
        match text("type") {
            "" => errors.push(FieldError::required(path.child("type"), &why)),
            known if COLUMN_TYPES.contains(&known) => {}
            other => errors.push(FieldError::invalid_text(path.child("type"), other, &why)),
        }
        let format = text("format");
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
            let why = format!("must be one of {}", COLUMN_FORMATS.join(","));
            errors.push(FieldError::invalid_text(path.child("format"), format, &why));
        }
        check_simple(text("jsonPath"), &path.child("JSONPath"), errors);
    }
}

/// Whether a path is there, and of the plain kind. Says whether it is.
fn check_simple(text: &str, path: &Path<'_>, errors: &mut Vec<FieldError>) -> bool {
    let error = match text {
        "" => FieldError::required(path, ""),
        text if !text.starts_with('.') => {
            FieldError::invalid_text(path, text, "must be a simple json path starting with .")
        }
        _ => return true,
    };
    errors.push(error);
    false
}

pub(super) fn check_scale(scale: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    for (field, below, optional, why) in [
        (
            "specReplicasPath",
            &[".spec."][..],
            false,
            "should be a json path under .spec",
        ),
        (
            "statusReplicasPath",
            &[".status."],
            false,
            "should be a json path under .status",
        ),
        (
            "labelSelectorPath",
            &[".spec.", ".status."],
            true,
            "should be a json path under either .spec or .status",
        ),
    ] {
        let (text, path) = (scale[field].as_str().unwrap_or_default(), path.child(field));
        if !(optional && text.is_empty())
            && check_simple(text, &path, errors)
            && !below.iter().any(|below| text.starts_with(below))
        {
            errors.push(FieldError::invalid_text(path, text, why));
        }
    }
}

pub(super) fn check_selectable(
    fields: &Value,
    schema: &Value,
    path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    let fields = fields.as_array().map_or(&[][..], Vec::as_slice);
    if fields.len() > MAX_SELECTABLE {
        let many = Some(fields.len() as u64);
        errors.push(FieldError::too_many(path, many, MAX_SELECTABLE as u64));
    }
    for (i, field) in fields.iter().enumerate() {
        let at = path.index(i);
        let at = at.child("jsonPath");
        let text = field["jsonPath"].as_str().unwrap_or_default();
        let wrong = |why: &str| FieldError::invalid_text(at, text, why);
        if text.is_empty() {
            errors.push(FieldError::required(at, ""));
        } else if !text.starts_with('.') {
            let first = text.split(['.', '[']).next().unwrap_or_default();
            errors.push(wrong(&format!(
                "is an invalid path: expected [ or . but got: {first}"
            )));
        } else if fields[..i].contains(field) {
            errors.push(FieldError::duplicate(at, &text.into()));
        } else {
            let found = text
                .split('.')
                .skip(1)
                .fold(schema, |schema, name| &schema["properties"][name]);
            match found["type"].as_str() {
                Some("string" | "boolean" | "integer") => {}
                None => errors.push(wrong("is an invalid path: does not refer to a valid field")),
                Some(_) => errors.push(wrong(
                    "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                     formats are allowed.",
                )),
            }
        }
    }
}
