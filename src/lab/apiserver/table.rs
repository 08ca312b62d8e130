//! Tables: what kubectl prints. The columns of custom resources are in their definitions, those of the server's own
//! kinds here.

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

/// Makes the cell of an object at a moment.
type Cell = fn(&Value, Timestamp) -> Value;

/// A column of the server's own kinds: its name, where or what its description is, and its cells. Those whose name
/// ends with `*` are for wide output.
type OwnColumn = (&'static str, &'static str, Cell);

const NAME: OwnColumn = ("Name", "metadata.name", |object, _| {
    object["metadata"]["name"].clone()
});
const AGE: OwnColumn = ("Age", "metadata.creationTimestamp", |object, now| {
    age(&object["metadata"]["creationTimestamp"], now).into()
});
const CREATED: OwnColumn = ("Created At", "metadata.creationTimestamp", |object, _| {
    object["metadata"]["creationTimestamp"].clone()
});
const EVENT_NAME: OwnColumn = ("Name*", NAME.1, NAME.2);

/// The columns of the server's own kinds; what is not here has a name and a date.
const OWN_COLUMNS: [(&str, &[OwnColumn]); 10] = [
    (
        "Namespace",
        &[
            NAME,
            ("Status", "The status of the namespace", |object, _| {
                text(&object["status"]["phase"])
            }),
            AGE,
        ],
    ),
    (
        "Secret",
        &[
            NAME,
            ("Type", "type", |object, _| text(&object["type"])),
            ("Data", "data", |object, _| count(&object["data"]).into()),
            AGE,
        ],
    ),
    (
        "ConfigMap",
        &[
            NAME,
            ("Data", "data", |object, _| {
                (count(&object["data"]) + count(&object["binaryData"])).into()
            }),
            AGE,
        ],
    ),
    ("ServiceAccount", &[NAME, AGE]),
    (
        "Lease",
        &[
            NAME,
            ("Holder", "spec.holderIdentity", |object, _| {
                text(&object["spec"]["holderIdentity"])
            }),
            AGE,
        ],
    ),
    (
        "Event",
        &[
            ("Last Seen", "lastTimestamp", |object, now| {
                age(last_seen(object), now).into()
            }),
            ("Type", "type", |object, _| text(&object["type"])),
            ("Reason", "reason", |object, _| text(&object["reason"])),
            ("Object", "involvedObject", |object, _| subject(object).into()),
            ("Subobject*", "involvedObject.fieldPath", |object, _| {
                text(&either(object, ["involvedObject", "regarding"])["fieldPath"])
            }),
            ("Source*", "source", |object, _| source(object).into()),
            ("Message", "message", |object, _| {
                let message = either(object, ["message", "note"]).as_str();
                message.unwrap_or_default().trim().into()
            }),
            ("First Seen*", "firstTimestamp", |object, now| {
                age(first_seen(object), now).into()
            }),
            ("Count*", "count", |object, _| occurrences(object).into()),
            EVENT_NAME,
        ],
    ),
    (
        "Node",
        &[
            NAME,
            ("Status", "The status of the node", |object, _| {
                readiness(object).into()
            }),
            ("Roles", "The roles of the node", |object, _| roles(object).into()),
            AGE,
            ("Version", "status.nodeInfo.kubeletVersion", |object, _| {
                text(&object["status"]["nodeInfo"]["kubeletVersion"])
            }),
            ("Internal-IP*", "status.addresses", |object, _| {
                address(object, "InternalIP")
            }),
            ("External-IP*", "status.addresses", |object, _| {
                address(object, "ExternalIP")
            }),
            ("OS-Image*", "status.nodeInfo.osImage", |object, _| {
                node_info(object, "osImage")
            }),
            ("Kernel-Version*", "status.nodeInfo.kernelVersion", |object, _| {
                node_info(object, "kernelVersion")
            }),
            (
                "Container-Runtime*",
                "status.nodeInfo.containerRuntimeVersion",
                |object, _| node_info(object, "containerRuntimeVersion"),
            ),
        ],
    ),
    ("Role", &[NAME, CREATED]),
    ("RoleBinding", &BINDING_COLUMNS),
    ("ClusterRoleBinding", &BINDING_COLUMNS),
];

const BINDING_COLUMNS: [OwnColumn; 6] = [
    NAME,
    ("Role", "roleRef", |object, _| {
        let role = &object["roleRef"];
        format!("{}/{}", word(&role["kind"]), word(&role["name"])).into()
    }),
    AGE,
    ("Users*", "Users in the {}", |object, _| {
        subjects(object, "User").into()
    }),
    ("Groups*", "Groups in the {}", |object, _| {
        subjects(object, "Group").into()
    }),
    ("ServiceAccounts*", "ServiceAccounts in the {}", |object, _| {
        subjects(object, "ServiceAccount").into()
    }),
];

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
        true => columns.definitions(named),
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
    /// With their paths as they are looked up; those that cannot be read find nothing.
    Custom(Vec<(&'a Column, Option<JsonPath>)>),
}

impl<'a> Columns<'a> {
    fn of(named: &'a Named) -> Self {
        let columns = &named.version().columns;
        let own = OWN_COLUMNS.iter().find(|(kind, _)| *kind == named.resource.kind);
        match (named.resource.family == Family::Custom, own) {
            (true, _) if !columns.is_empty() => {
                let read = |column: &'a Column| (column, JsonPath::parse(&standard_path(&column.path)).ok());
                Self::Custom(columns.iter().map(read).collect())
            }
            (true, _) => Self::Own(&[NAME, AGE]),
            (false, Some((_, columns))) => Self::Own(columns),
            (false, None) => Self::Own(&[NAME, CREATED]),
        }
    }

    fn definitions(&self, named: &Named) -> Value {
        let define = |name: &str, kind: &str, format: &str, description: &str, priority: i64| {
            json!({
                "name": name, "type": kind, "format": format, "description": description, "priority": priority,
            })
        };
        let define_own = |(name, told, _): &OwnColumn| {
            let (name, priority) = name.strip_suffix('*').map_or((*name, 0), |name| (name, 1));
            let resource = &named.resource;
            let description = match told.contains(' ') {
                true if resource.namespaced => told.replace("{}", "roleBinding"),
                true => told.replace("{}", "clusterRoleBinding"),
                false => openapi::description(resource, &named.version().name, told),
            };
            // Whoever prints a date as an age says so only of custom resources.
            let (kind, format) = match name {
                "Name" => ("string", "name"),
                "Created At" => ("date", ""),
                "Age" if resource.family == Family::Custom => ("date", ""),
                _ => ("string", ""),
            };
            define(name, kind, format, &description, priority)
        };
        match self {
            Self::Own(columns) => columns.iter().map(define_own).collect(),
            Self::Custom(columns) => std::iter::once(define_own(&NAME))
                .chain(columns.iter().map(|(column, _)| {
                    let description = match column.description.as_str() {
                        "" => &format!(
                            "Custom resource definition column (in JSONPath format): {}",
                            column.path
                        ),
                        told => told,
                    };
                    define(
                        &column.name,
                        &column.kind,
                        &column.format,
                        description,
                        column.priority,
                    )
                }))
                .collect(),
        }
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        match self {
            Self::Own(columns) => columns.iter().map(|(.., cell)| cell(object, now)).collect(),
            Self::Custom(columns) => std::iter::once(text(&object["metadata"]["name"]))
                .chain(columns.iter().map(|(column, path)| {
                    let found = path.as_ref().map(|path| path.query(object).all());
                    custom_cell(&column.kind, found.unwrap_or_default().as_slice(), now)
                }))
                .collect(),
        }
    }
}

/// The cell of a custom resource, of what its path found. Only text shows more than the first.
fn custom_cell(kind: &str, found: &[&Value], now: Timestamp) -> Value {
    let Some(first) = found.first() else {
        return Value::Null;
    };
    match kind {
        "string" if first.is_null() => "<no value>".into(),
        "string" => first
            .as_str()
            .map_or_else(|| first.to_string(), str::to_owned)
            .into(),
        "integer" => first
            .as_i64()
            .or_else(|| first.as_f64().map(|number| number as i64))
            .map_or(Value::Null, Value::from),
        "number" if first.is_number() => (*first).clone(),
        "boolean" if first.is_boolean() => (*first).clone(),
        "date" if first.is_string() => age(first, now).into(),
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
        ..0 => "0s".to_owned(),
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

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A text as a cell; what is absent is empty.
fn text(value: &Value) -> Value {
    word(value).into()
}

fn count(map: &Value) -> usize {
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

/// What an event is about: `clusterprofile/a`.
fn subject(event: &Value) -> String {
    let about = either(event, ["involvedObject", "regarding"]);
    let kind = word(&about["kind"]).to_lowercase();
    match word(&about["name"]) {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

/// Who reported an event, and where from.
fn source(event: &Value) -> String {
    let source = either(event, ["source", "deprecatedSource"]);
    let first = |old: &'static str, new: [&str; 2]| match word(&source[old]) {
        "" => word(either(event, new)).to_owned(),
        old => old.to_owned(),
    };
    let component = first("component", ["reportingComponent", "reportingController"]);
    match first("host", ["reportingInstance", "reportingInstance"]).as_str() {
        "" => component,
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

fn address(node: &Value, kind: &str) -> Value {
    let addresses = node["status"]["addresses"].as_array();
    let address = addresses
        .into_iter()
        .flatten()
        .find(|address| address["type"] == kind);
    address.map_or_else(|| "<none>".into(), |address| text(&address["address"]))
}

fn node_info(node: &Value, field: &str) -> Value {
    match word(&node["status"]["nodeInfo"][field]) {
        "" => "<unknown>".into(),
        told => told.into(),
    }
}

/// The subjects of this kind that a binding has.
fn subjects(binding: &Value, kind: &str) -> String {
    let subjects = binding["subjects"].as_array().into_iter().flatten();
    let subjects = subjects.filter(|subject| subject["kind"] == kind);
    let names: Vec<String> = subjects
        .map(|subject| match (kind, word(&subject["name"])) {
            ("ServiceAccount", name) => format!("{}/{name}", word(&subject["namespace"])),
            (_, name) => name.to_owned(),
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
