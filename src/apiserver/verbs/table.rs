//! Tables, which kubectl prints. Custom resources have the columns of their CRD, built-in ones those of `columns.txt`.

use std::{
    collections::{BTreeSet, HashMap},
    sync::LazyLock,
};

use jiff::{SignedDuration, Timestamp};
use regex::{Captures, Regex};
use serde_json::{Map, Value, json};
use serde_json_path::JsonPath;

use crate::{
    object::value::{flag, text},
    request::form::Form,
    store::{named::Named, resource::Family},
    typed,
};

/// A column of a Table.
struct Column {
    definition: Value,
    /// How cells are made: the type in the CRD, or the word in `columns.txt`.
    cells: String,
    /// JSON paths of the cells. An invalid path yields none.
    paths: Vec<JsonPath>,
}

/// The columns of built-in kinds.
static OWN_COLUMNS: LazyLock<HashMap<&str, Vec<Column>>> = LazyLock::new(|| {
    let mut kinds: HashMap<&str, Vec<Column>> = HashMap::new();
    let mut kind = "";
    let lines = include_str!("columns.txt").lines();
    for line in lines.filter(|line| !line.starts_with('#')) {
        match line.trim().split(" | ").collect::<Vec<_>>().as_slice() {
            [name, told, cells, paths @ ..] => {
                let column = Column::own(kind, name, told, cells, paths.first().unwrap_or(told));
                kinds.entry(kind).or_default().push(column);
            }
            _ => kind = line,
        }
    }
    kinds
});

impl Column {
    /// A built-in column.
    fn own(kind: &str, name: &str, told: &str, cells: &str, paths: &str) -> Self {
        let (name, priority) = name.strip_suffix('*').map_or((name, 0), |name| (name, 1));
        let description = if told.contains(' ') {
            told.to_owned()
        } else {
            typed::description(kind, told)
        };
        let kind = match cells {
            "date" | "time" => "date",
            _ => "string",
        };
        let format = if name == "Name" { "name" } else { "" };
        let read = |path: &str| JsonPath::parse(&format!("$.{path}")).ok();
        Self {
            definition: json!({
                "name": name, "type": kind, "format": format, "description": description, "priority": priority,
            }),
            cells: cells.to_owned(),
            paths: paths.split(' ').filter_map(read).collect(),
        }
    }

    /// A column of a CRD.
    fn custom(column: &Value) -> Self {
        let path = text(column, "jsonPath");
        let description = match text(column, "description") {
            "" => format!("Custom resource definition column (in JSONPath format): {path}"),
            told => told.to_owned(),
        };
        Self {
            definition: json!({
                "name": column["name"], "type": column["type"], "format": text(column, "format"), "description": description,
                "priority": column["priority"].as_i64().unwrap_or_default(),
            }),
            cells: text(column, "type").to_owned(),
            paths: JsonPath::parse(&standard_path(path)).into_iter().collect(),
        }
    }

    fn cell(&self, object: &Value, now: Timestamp) -> Value {
        let paths = self.paths.iter();
        let found: Vec<&Value> = paths.flat_map(|path| path.query(object).all()).collect();
        let filled = found.iter().find(|value| !value.is_null() && **value != "");
        let first = *filled.unwrap_or(&&Value::Null);
        let listed = |told: fn(&Value) -> String| {
            let told: Vec<String> = found.iter().map(|value| told(value)).collect();
            told.join(", ")
        };
        let text = match (self.cells.as_str(), found.first().copied()) {
            ("string", Some(Value::Null)) => "<no value>".to_owned(),
            ("string", Some(Value::String(text))) => text.clone(),
            ("string", Some(other)) => other.to_string(),
            ("integer", Some(Value::Number(number))) => {
                let whole = number.as_f64().map(|number| number as i64);
                return number.as_i64().or(whole).into();
            }
            ("number", Some(found @ Value::Number(_))) | ("boolean", Some(found @ Value::Bool(_))) => {
                return found.clone();
            }
            ("date", Some(found @ Value::String(_))) => age(found, now),
            ("string" | "integer" | "number" | "boolean" | "date", _) => return Value::Null,
            ("trimmed text", _) => word(first).trim().to_owned(),
            ("age", _) => age(first, now),
            ("entries", _) => {
                let maps = found.iter().filter_map(|map| map.as_object());
                return maps.map(Map::len).sum::<usize>().into();
            }
            ("count", _) => return first.as_i64().filter(|count| *count > 0).unwrap_or(1).into(),
            ("all", _) => listed(word),
            ("accounts", _) => listed(|account| pair(account, "namespace")),
            ("role", _) => pair(first, "kind"),
            ("subject", _) => subject(first),
            ("source", _) => source(object),
            ("readiness", _) => readiness(word(first), object),
            ("roles", _) => roles(first),
            (text_or, _) => match (word(first), text_or.split_once(" or ")) {
                (text, Some((_, unsaid))) if text.is_empty() => unsaid.to_owned(),
                (text, _) => text,
            },
        };
        text.into()
    }
}

/// A Table of objects of one kind.
pub(crate) fn of(
    form: &Form,
    named: &Named,
    objects: &[Value],
    metadata: Value,
    with_columns: bool,
    now: Timestamp,
) -> Value {
    let told = named.version().columns.as_array().into_iter().flatten();
    let custom: Vec<Column> = told.map(Column::custom).collect();
    let own: &[Column] = match (named.resource.family, named.resource.kind.as_str()) {
        (Family::Custom, _) if custom.is_empty() => &OWN_COLUMNS["any custom"],
        (Family::Custom, _) => &OWN_COLUMNS["any custom"][..1],
        (_, kind) => OWN_COLUMNS.get(kind).unwrap_or(&OWN_COLUMNS["any other"]),
    };
    let columns = || own.iter().chain(&custom);
    let row = |object: &Value| {
        let cells: Vec<Value> = columns().map(|column| column.cell(object, now)).collect();
        let included = match form.include.as_str() {
            "None" => Value::Null,
            "Object" => {
                let mut object = object.clone();
                object["apiVersion"] = named.api_version().into();
                object["kind"] = named.resource.kind.clone().into();
                object
            }
            _ => form.metadata_of(object),
        };
        json!({"cells": cells, "object": included})
    };
    let definitions = with_columns.then(|| columns().map(|column| &column.definition).collect::<Vec<_>>());
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

/// A human-readable age, in two units at most.
fn age(time: &Value, now: Timestamp) -> String {
    match time.as_str().map(str::parse::<Timestamp>) {
        None => "<unknown>".to_owned(),
        Some(Ok(time)) => human(now.duration_since(time)),
        Some(Err(_)) => "<invalid>".to_owned(),
    }
}

fn human(age: SignedDuration) -> String {
    let seconds = age.as_secs();
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    let two = |count: i64, unit: &str, rest: i64, below: &str| match rest {
        0 => format!("{count}{unit}"),
        rest => format!("{count}{unit}{rest}{below}"),
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        _ if seconds < 120 => format!("{seconds}s"),
        _ if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => two(hours, "h", minutes % 60, "m"),
        _ if hours < 48 => format!("{hours}h"),
        _ if days < 8 => two(days, "d", hours % 24, "h"),
        _ if years < 2 => format!("{days}d"),
        _ if years < 8 => two(years, "y", days % 365, "d"),
        _ => format!("{years}y"),
    }
}

/// A string, empty if absent.
fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A field and the name of a reference: `ClusterRole/admin`.
fn pair(reference: &Value, first: &str) -> String {
    format!("{}/{}", text(reference, first), text(reference, "name"))
}

/// The object of an Event: `widget/a`.
fn subject(about: &Value) -> String {
    let kind = text(about, "kind").to_lowercase();
    match text(about, "name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

/// The component and the host that reported an Event.
fn source(event: &Value) -> String {
    let first = |pointers: &[&str]| {
        let told = pointers.iter().filter_map(|pointer| event.pointer(pointer));
        told.map(word).find(|text| !text.is_empty()).unwrap_or_default()
    };
    let component = first(&[
        "/source/component",
        "/deprecatedSource/component",
        "/reportingComponent",
        "/reportingController",
    ]);
    match first(&["/source/host", "/deprecatedSource/host", "/reportingInstance"]) {
        host if host.is_empty() => component,
        host => format!("{component}, {host}"),
    }
}

/// The status of a Node, and whether it is cordoned.
fn readiness(ready: String, node: &Value) -> String {
    let ready = match ready.as_str() {
        "True" => "Ready",
        "" => "Unknown",
        _ => "NotReady",
    };
    if flag(&node["spec"], "unschedulable") {
        format!("{ready},SchedulingDisabled")
    } else {
        ready.to_owned()
    }
}

fn roles(labels: &Value) -> String {
    let labels = labels.as_object().into_iter().flatten();
    let roles = labels.filter_map(|(key, value)| match key.as_str() {
        "kubernetes.io/role" => value.as_str(),
        key => key.strip_prefix("node-role.kubernetes.io/"),
    });
    let roles: BTreeSet<&str> = roles.filter(|role| !role.is_empty()).collect();
    if roles.is_empty() {
        "<none>".to_owned()
    } else {
        roles.into_iter().collect::<Vec<_>>().join(",")
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
    #[case(599, "9m59s")]
    #[case(3 * 3600 - 1, "179m")]
    #[case(7 * 3600 + 61, "7h1m")]
    #[case(47 * 3600, "47h")]
    #[case(50 * 3600, "2d2h")]
    #[case(700 * 86400, "700d")]
    #[case(735 * 86400, "2y5d")]
    #[case(9 * 365 * 86400, "9y")]
    fn ages_are_told_in_two_units_at_most(#[case] seconds: i64, #[case] expected: &str) {
        assert_eq!(human(SignedDuration::from_secs(seconds)), expected);
    }

    #[rstest]
    #[case(".spec.name", "$['spec']['name']")]
    #[case(
        r".metadata.labels.example\.com/owner",
        "$['metadata']['labels']['example.com/owner']"
    )]
    #[case(
        r".metadata.labels['example\.com/owner']",
        "$['metadata']['labels']['example.com/owner']"
    )]
    #[case(".items[*].name", "$['items'][*]['name']")]
    #[case(
        r#".conditions[?(@.type=="Ready")].status"#,
        r#"$['conditions'][?(@.type=="Ready")]['status']"#
    )]
    fn paths_are_put_as_the_standard_writes_them(#[case] path: &str, #[case] expected: &str) {
        assert_eq!(standard_path(path), expected);
        assert!(JsonPath::parse(expected).is_ok());
    }
}
