//! Renders answers in the requested form: objects as they are, their metadata, or a Table.

use std::sync::LazyLock;

use jiff::{SignedDuration, Timestamp};
use jsonpath_rust::{
    parser::{model::JpQuery, parse_json_path},
    query::js_path_process,
};
use regex::{Captures, Regex};
use serde_json::{Value, json};

use crate::{
    object::{
        json::text,
        status::{HandlerResult, StatusFailure},
    },
    request::{Form, Reply, ReplyBody},
    store::route::Route,
    typed::OBJECT,
};

impl Form {
    /// Renders a reply.
    pub(crate) fn reply(&self, reply: Reply, route: &Route, now: jiff::Timestamp) -> HandlerResult<Reply> {
        let (ReplyBody::Json(bytes), false) = (&reply.body, self.is_plain()) else {
            return Ok(reply);
        };
        let answer: Value = serde_json::from_slice(bytes).unwrap_or_default();
        if answer["kind"] == "Status" {
            return Ok(reply);
        }
        let mut metadata = answer["metadata"].clone();
        if let Some(fields) = metadata.as_object_mut() {
            // Lists of built-in resources have no empty `continue`.
            fields.retain(|name, value| name != "continue" || value != "");
        }
        let formed = match (self.kind.as_str(), answer["items"].as_array()) {
            ("Table", Some(items)) => table(self, route, items, metadata, true, now),
            ("PartialObjectMetadataList", Some(items)) => {
                let items: Vec<Value> = items.iter().map(|item| self.metadata_of(item)).collect();
                // kube-apiserver writes null instead of an empty list.
                let items = (!items.is_empty()).then_some(items);
                json!({"kind": self.kind, "apiVersion": self.version, "metadata": metadata, "items": items})
            }
            (_, Some(_)) => {
                let why = "you requested PartialObjectMetadata, but the requested object is a list";
                return Err(StatusFailure::new(406, "NotAcceptable", why));
            }
            ("PartialObjectMetadataList", None) => {
                return Err(StatusFailure::internal("content is not a list"));
            }
            (_, None) => self.object(&answer, route, now, true),
        };
        let body = ReplyBody::Json(formed.to_string().into());
        Ok(Reply { body, ..reply })
    }

    /// Renders one object. In a watch, only the first Table has column definitions.
    pub(crate) fn object(&self, object: &Value, route: &Route, now: jiff::Timestamp, first: bool) -> Value {
        if self.kind != "Table" {
            return self.metadata_of(object);
        }
        let metadata = json!({"resourceVersion": object["metadata"]["resourceVersion"]});
        table(self, route, std::slice::from_ref(object), metadata, first, now)
    }
}

/// A column of a Table.
struct Column {
    definition: Value,
    /// The type of cells.
    cells: String,
    /// The JSON path of cells. An invalid path yields none.
    path: Option<JpQuery>,
}

impl Column {
    /// A column with a field of metadata.
    fn metadata(name: &str, field: &str, cells: &str) -> Self {
        let description = text(
            &OBJECT["properties"]["metadata"]["properties"][field],
            "description",
        );
        let (kind, format) = if cells == "date" {
            ("date", "")
        } else {
            ("string", "name")
        };
        Self {
            definition: json!({
                "name": name, "type": kind, "format": format, "description": description, "priority": 0,
            }),
            cells: cells.to_owned(),
            path: parse_json_path(&format!("$.metadata.{field}")).ok(),
        }
    }

    /// A printer column of a CRD or of a built-in kind.
    fn printed(column: &Value) -> Self {
        let path = text(column, "jsonPath");
        let description = match text(column, "description") {
            "" => format!("Custom resource definition column (in JSONPath format): {path}"),
            other => other.to_owned(),
        };
        Self {
            definition: json!({
                "name": column["name"], "type": column["type"], "format": text(column, "format"), "description": description,
                "priority": column["priority"].as_i64().unwrap_or_default(),
            }),
            cells: text(column, "type").to_owned(),
            path: parse_json_path(&standard_path(path)).ok(),
        }
    }

    fn cell(&self, object: &Value, now: Timestamp) -> Value {
        let value = self.path.as_ref().map(|path| js_path_process(path, object));
        let value = value.and_then(|values| Some(values.ok()?.into_iter().next()?.val()));
        match (self.cells.as_str(), value) {
            ("name", value) => value.and_then(Value::as_str).unwrap_or_default().into(),
            ("string", Some(Value::Null)) => "<no value>".into(),
            ("string", Some(Value::String(text))) => text.as_str().into(),
            ("string", Some(other)) => other.to_string().into(),
            ("integer", Some(Value::Number(number))) => {
                let whole = number.as_f64().map(|number| number as i64);
                number.as_i64().or(whole).into()
            }
            ("number", Some(value @ Value::Number(_))) | ("boolean", Some(value @ Value::Bool(_))) => {
                value.clone()
            }
            ("date", Some(Value::String(time))) => age(time, now).into(),
            _ => Value::Null,
        }
    }
}

/// A Table of objects of one kind.
fn table(
    form: &Form,
    route: &Route,
    objects: &[Value],
    metadata: Value,
    with_columns: bool,
    now: Timestamp,
) -> Value {
    let printed = route.version().columns.as_array().into_iter().flatten();
    let mut columns = vec![Column::metadata("Name", "name", "name")];
    columns.extend(printed.map(Column::printed));
    if columns.len() == 1 {
        columns.push(Column::metadata("Age", "creationTimestamp", "date"));
    }
    let row = |object: &Value| {
        let cells: Vec<Value> = columns.iter().map(|column| column.cell(object, now)).collect();
        let included = match form.include.as_str() {
            "None" => Value::Null,
            "Object" => {
                let mut object = object.clone();
                object["apiVersion"] = route.api_version().into();
                object["kind"] = route.resource.kind.clone().into();
                object
            }
            _ => form.metadata_of(object),
        };
        json!({"cells": cells, "object": included})
    };
    let definitions = with_columns.then(|| {
        columns
            .iter()
            .map(|column| &column.definition)
            .collect::<Vec<_>>()
    });
    json!({
        "kind": "Table", "apiVersion": form.version, "metadata": metadata, "columnDefinitions": definitions,
        "rows": objects.iter().map(row).collect::<Vec<_>>(),
    })
}

/// Rewrites a JSONPath to the standard's form: with `$`, and names in quotes instead of escaped dots.
fn standard_path(path: &str) -> String {
    static STEP: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\.((?:\\.|[^.\[\\])*)|\[[^\]]*\]?").expect("a pattern"));
    let steps = STEP.replace_all(path, |step: &Captures<'_>| {
        match step.get(1).map(|name| name.as_str()) {
            Some("") => String::new(),
            Some("*") => "[*]".to_owned(),
            Some(name) => format!("['{}']", name.replace('\\', "").replace('\'', "\\'")),
            // Dots are escaped within quotes, too.
            None => step[0].replace("\\.", "."),
        }
    });
    format!("${steps}")
}

/// A human-readable age, in one unit.
fn age(time: &str, now: Timestamp) -> String {
    match time.parse::<Timestamp>() {
        Ok(time) => human(now.duration_since(time)),
        Err(_) => "<invalid>".to_owned(),
    }
}

fn human(age: SignedDuration) -> String {
    match age.as_secs() {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        seconds @ 0..120 => format!("{seconds}s"),
        seconds @ 120..7200 => format!("{}m", seconds / 60),
        seconds @ 7200..172_800 => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / 86400),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(-5, "<invalid>")]
    #[case(-1, "0s")]
    #[case(119, "119s")]
    #[case(120, "2m")]
    #[case(7 * 3600 + 61, "7h")]
    #[case(50 * 3600, "2d")]
    fn ages_have_one_unit(#[case] seconds: i64, #[case] expected: &str) {
        assert_eq!(human(SignedDuration::from_secs(seconds)), expected);
    }
}
