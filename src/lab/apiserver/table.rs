//! Tables: what kubectl prints. The columns of custom resources are in their definitions, those of the server's own
//! kinds here.

use std::collections::HashMap;
use std::sync::LazyLock;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use serde_json_path::JsonPath;

use super::context::Named;
use super::form::metadata_of;
use super::openapi;
use super::request::Query;
use super::resource::{Column, Family};
use super::status::{Failure, Outcome};

/// What a Table is to look like.
#[derive(Clone, Debug)]
pub(super) struct Look {
    version: &'static str,
    /// What each row tells of its object besides the cells.
    include: Include,
}

#[derive(Clone, Copy, Debug)]
enum Include {
    Nothing,
    Metadata,
    Object,
}

impl Look {
    /// Reads what the parameters say of it.
    pub(super) fn read(version: &'static str, query: &Query) -> Outcome<Self> {
        let include = match query.get("includeObject") {
            "None" => Include::Nothing,
            "" | "Metadata" => Include::Metadata,
            "Object" => Include::Object,
            other => {
                let other = super::field::quoted(other);
                return Err(Failure::bad_request(format!(
                    "Unable to convert to Table as requested: includeObject: Invalid value: {other}: must be 'Metadata', \
                     'Object', 'None', or empty"
                )));
            }
        };
        Ok(Self { version, include })
    }
}

/// A column of the server's own kinds: its name, its description or the field that has it, how its cells are made.
type OwnColumn = [&'static str; 3];

/// The columns of the server's own kinds.
static OWN_COLUMNS: LazyLock<HashMap<&str, Vec<OwnColumn>>> = LazyLock::new(|| {
    let mut kinds: HashMap<&str, Vec<OwnColumn>> = HashMap::new();
    let mut kind = "";
    for line in include_str!("columns.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
    {
        match line.split(" | ").map(str::trim).collect::<Vec<_>>().as_slice() {
            [name, told, cell] => kinds.entry(kind).or_default().push([name, told, cell]),
            _ => kind = line,
        }
    }
    kinds
});

/// The Table of `objects` of one kind, with its columns or without.
pub(super) fn of(
    look: &Look,
    named: &Named,
    objects: &[Value],
    metadata: Value,
    with_columns: bool,
    now: Timestamp,
) -> Value {
    let columns = Columns::of(named);
    let rows: Vec<Value> = objects
        .iter()
        .map(|object| {
            let included = match look.include {
                Include::Nothing => Value::Null,
                Include::Metadata => metadata_of(look.version, object),
                Include::Object => {
                    let mut object = object.clone();
                    object["apiVersion"] = named.api_version().into();
                    object["kind"] = named.resource.kind.clone().into();
                    object
                }
            };
            json!({"cells": columns.cells(object, now), "object": included})
        })
        .collect();
    let definitions = match with_columns {
        true => columns.definitions(named).into(),
        false => Value::Null,
    };
    json!({
        "kind": "Table", "apiVersion": look.version, "metadata": metadata, "columnDefinitions": definitions,
        "rows": rows,
    })
}

/// The columns of a kind.
enum Columns<'a> {
    Own(&'static [OwnColumn]),
    /// After the name; with their paths as they are looked up, where those that cannot be read find nothing.
    Custom(Vec<(&'a Column, Option<JsonPath>)>),
}

impl<'a> Columns<'a> {
    fn of(named: &'a Named) -> Self {
        let columns = &named.version().columns;
        let is_custom = named.resource.family == Family::Custom;
        if is_custom && !columns.is_empty() {
            let read = |column: &'a Column| (column, JsonPath::parse(&standard_path(&column.path)).ok());
            return Self::Custom(columns.iter().map(read).collect());
        }
        let own = match named.resource.kind.as_str() {
            _ if is_custom => &OWN_COLUMNS["any custom"],
            kind => OWN_COLUMNS.get(kind).unwrap_or(&OWN_COLUMNS["any other"]),
        };
        Self::Own(own)
    }

    fn definitions(&self, named: &Named) -> Vec<Value> {
        let own = |[name, told, _]: &OwnColumn| {
            let (name, priority) = name.strip_suffix('*').map_or((*name, 0), |name| (name, 1));
            let description = match told.contains(' ') {
                true => (*told).to_owned(),
                false => openapi::description(&named.resource, &named.version().name, told),
            };
            let (kind, format) = match (name, named.resource.family) {
                ("Name", _) => ("string", "name"),
                ("Created At", _) | ("Age", Family::Custom) => ("date", ""),
                _ => ("string", ""),
            };
            definition(name, kind, format, &description, priority)
        };
        let custom = |column: &Column| {
            let description = match column.description.as_str() {
                "" => &format!(
                    "Custom resource definition column (in JSONPath format): {}",
                    column.path
                ),
                told => told,
            };
            definition(
                &column.name,
                &column.kind,
                &column.format,
                description,
                column.priority,
            )
        };
        match self {
            Self::Own(columns) => columns.iter().map(own).collect(),
            Self::Custom(columns) => {
                let columns = columns.iter().map(|(column, _)| custom(column));
                std::iter::once(own(&OWN_COLUMNS["any custom"][0]))
                    .chain(columns)
                    .collect()
            }
        }
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        match self {
            Self::Own(columns) => columns
                .iter()
                .map(|[_, field, cell]| own_cell(cell, field, object, now))
                .collect(),
            Self::Custom(columns) => {
                let cells = columns.iter().map(|(column, path)| {
                    let found = path.as_ref().map(|path| path.query(object).all());
                    custom_cell(&column.kind, found.unwrap_or_default().first(), now)
                });
                std::iter::once(word(&object["metadata"]["name"]).into())
                    .chain(cells)
                    .collect()
            }
        }
    }
}

fn definition(name: &str, kind: &str, format: &str, description: &str, priority: i64) -> Value {
    json!({"name": name, "type": kind, "format": format, "description": description, "priority": priority})
}

fn own_cell(how: &str, field: &str, object: &Value, now: Timestamp) -> Value {
    let found = field.split('.').fold(object, |object, field| &object[field]);
    let text = match how {
        "text" => word(found),
        "known text" => match word(found) {
            text if text.is_empty() => "<unknown>".to_owned(),
            text => text,
        },
        "age" => age(found, now),
        "entries" => return entries(found).into(),
        "all entries" => return (entries(found) + entries(&object["binaryData"])).into(),
        "phase" => word(&object["status"]["phase"]),
        "last seen" => age(last_seen(object), now),
        "first seen" => age(first_seen(object), now),
        "subject" => subject(object),
        "subobject" => word(&about(object)["fieldPath"]),
        "source" => source(object),
        "message" => word(either(object, ["message", "note"])).trim().to_owned(),
        "occurrences" => return occurrences(object).into(),
        "readiness" => readiness(object),
        "roles" => roles(object),
        "role" => format!("{}/{}", word(&found["kind"]), word(&found["name"])),
        kind if kind.ends_with("IP") => address(object, kind),
        kind => subjects(object, kind),
    };
    text.into()
}

/// The cell of a custom resource, of the first that its path found.
fn custom_cell(kind: &str, found: Option<&&Value>, now: Timestamp) -> Value {
    match (kind, found) {
        ("string", Some(Value::Null)) => "<no value>".into(),
        ("string", Some(Value::String(text))) => text.as_str().into(),
        ("string", Some(other)) => other.to_string().into(),
        ("integer", Some(Value::Number(number))) => {
            let whole = number
                .as_i64()
                .or_else(|| number.as_f64().map(|number| number as i64));
            whole.map_or(Value::Null, Value::from)
        }
        ("number", Some(found @ Value::Number(_))) | ("boolean", Some(found @ Value::Bool(_))) => {
            (*found).clone()
        }
        ("date", Some(found @ Value::String(_))) => age(found, now).into(),
        _ => Value::Null,
    }
}

/// A JSONPath as the standard writes it: after `$`, names in quotes instead of bare ones with escaped dots.
fn standard_path(path: &str) -> String {
    let mut standard = "$".to_owned();
    let mut rest = path;
    while let Some(first) = rest.chars().next() {
        if first == '.' {
            let (mut name, mut end, mut escaped) = (String::new(), rest.len(), false);
            for (i, c) in rest.char_indices().skip(1) {
                match c {
                    '\\' if !escaped => {
                        escaped = true;
                        continue;
                    }
                    '.' | '[' if !escaped => {
                        end = i;
                        break;
                    }
                    c => name.push(c),
                }
                escaped = false;
            }
            standard += &match name.as_str() {
                "" => String::new(),
                "*" => "[*]".to_owned(),
                name => format!("['{}']", name.replace('\'', "\\'")),
            };
            rest = &rest[end..];
        } else {
            let end = rest.find(']').map_or(rest.len(), |end| end + 1);
            // Escaped dots within quotes.
            standard += &rest[..end].replace("\\.", ".");
            rest = &rest[end..];
        }
    }
    standard
}

/// How long ago a time was, as people say it: two units at most.
fn age(time: &Value, now: Timestamp) -> String {
    let Some(time) = time.as_str() else {
        return "<unknown>".to_owned();
    };
    match time.parse::<Timestamp>() {
        Ok(time) => human(now.duration_since(time)),
        Err(_) => "<invalid>".to_owned(),
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

/// The text of a field; what is absent is empty.
fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn entries(map: &Value) -> usize {
    map.as_object().map_or(0, serde_json::Map::len)
}

/// The first of these fields that is there.
fn either<'a, const N: usize>(object: &'a Value, names: [&str; N]) -> &'a Value {
    let mut fields = names.iter().filter_map(|name| object.get(*name));
    fields.find(|field| !field.is_null()).unwrap_or(&Value::Null)
}

fn first_seen(event: &Value) -> &Value {
    either(event, ["firstTimestamp", "deprecatedFirstTimestamp", "eventTime"])
}

fn last_seen(event: &Value) -> &Value {
    match &event["series"]["lastObservedTime"] {
        Value::Null => match either(event, ["lastTimestamp", "deprecatedLastTimestamp"]) {
            Value::Null => first_seen(event),
            time => time,
        },
        time => time,
    }
}

fn occurrences(event: &Value) -> i64 {
    let counts = [
        &event["series"]["count"],
        either(event, ["count", "deprecatedCount"]),
    ];
    let told = counts.iter().find_map(|count| count.as_i64());
    told.filter(|count| *count > 0).unwrap_or(1)
}

fn about(event: &Value) -> &Value {
    either(event, ["involvedObject", "regarding"])
}

/// What an event is about: `clusterprofile/a`.
fn subject(event: &Value) -> String {
    let about = about(event);
    let kind = word(&about["kind"]).to_lowercase();
    match word(&about["name"]) {
        name if name.is_empty() => kind,
        name => format!("{kind}/{name}"),
    }
}

/// Who reported an event, and where from.
fn source(event: &Value) -> String {
    let source = either(event, ["source", "deprecatedSource"]);
    let first = |old: &str, new: [&str; 2]| match word(&source[old]) {
        old if old.is_empty() => word(either(event, new)),
        old => old,
    };
    let component = first("component", ["reportingComponent", "reportingController"]);
    match first("host", ["reportingInstance", "reportingInstance"]) {
        host if host.is_empty() => component,
        host => format!("{component}, {host}"),
    }
}

fn readiness(node: &Value) -> String {
    let conditions = node["status"]["conditions"].as_array();
    let ready = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == "Ready");
    let ready = match ready.map(|ready| &ready["status"]) {
        Some(status) if status == "True" => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    match node["spec"]["unschedulable"] == true {
        true => format!("{ready},SchedulingDisabled"),
        false => ready.to_owned(),
    }
}

fn roles(node: &Value) -> String {
    let labels = node["metadata"]["labels"].as_object().into_iter().flatten();
    let mut roles: Vec<&str> = labels
        .filter_map(|(key, value)| match key.as_str() {
            "kubernetes.io/role" => value.as_str(),
            key => key.strip_prefix("node-role.kubernetes.io/"),
        })
        .filter(|role| !role.is_empty())
        .collect();
    roles.sort_unstable();
    roles.dedup();
    match roles.is_empty() {
        true => "<none>".to_owned(),
        false => roles.join(","),
    }
}

fn address(node: &Value, kind: &str) -> String {
    let addresses = node["status"]["addresses"].as_array();
    let address = addresses
        .into_iter()
        .flatten()
        .find(|address| address["type"] == kind);
    address.map_or_else(|| "<none>".to_owned(), |address| word(&address["address"]))
}

/// The subjects of this kind that a binding has.
fn subjects(binding: &Value, kind: &str) -> String {
    let subjects = binding["subjects"].as_array().into_iter().flatten();
    let subjects = subjects.filter(|subject| subject["kind"] == kind);
    let names: Vec<String> = subjects
        .map(|subject| match (kind, word(&subject["name"])) {
            ("ServiceAccount", name) => format!("{}/{name}", word(&subject["namespace"])),
            (_, name) => name,
        })
        .collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

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
