//! Audit events (`audit.k8s.io/v1`), as far as they are used, and the answered writes on profiles and slices in them.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use evidence::{
    Request, RequestBody,
    api::{ObjectKind, names},
    leak::{Grade, leaks_in_text},
    redact::without_credentials,
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, error::Category, value::RawValue};

use super::changes::tell_changes;

/// The levels of an audit policy.
const LEVELS: [&str; 3] = ["Metadata", "Request", "RequestResponse"];

/// A write that the hub has answered, with what shows whether it changed anything.
pub(super) struct Answered {
    /// The kind of the object that it wrote.
    pub(super) kind: ObjectKind,
    /// When the hub had answered.
    pub(super) done: Timestamp,
    pub(super) request: Request,
    /// The resourceVersion that the request was based upon.
    pub(super) based_on: Option<String>,
}

/// What was taken so far.
#[derive(Default)]
pub(super) struct Events {
    answered: Vec<Answered>,
    /// The ids of requests that were answered.
    seen: HashSet<String>,
    /// Shares names between events: a log has few different ones.
    names: HashMap<String, Arc<str>>,
    /// The kinds of objects that are read, or whose answered writes are logged.
    pub(super) known: HashSet<ObjectKind>,
    /// The levels of the writes on profiles.
    pub(super) levels: BTreeSet<String>,
    /// The users that read profiles, or tried to.
    pub(super) readers: HashSet<Arc<str>>,
}

/// A line of a log.
pub(super) enum Line {
    /// An event that was logged at this time.
    Event(Timestamp),
    /// Something else: an API server that logs to its standard output writes other lines there too.
    Foreign,
    /// An event that is lost, for this reason. Nothing of it is quoted: it may hold anything.
    Bad(&'static str),
}

impl Events {
    /// Takes a line.
    pub(super) fn take(&mut self, line: &[u8]) -> Line {
        let event = match serde_json::from_slice::<Event<'_>>(line) {
            Ok(event) if event.kind == "Event" && is_audit(&event.api_version) => event,
            Ok(_) => return Line::Foreign,
            Err(_) if is_klog(line) || is_other_json(line) => return Line::Foreign,
            Err(error) => {
                return Line::Bad(match error.classify() {
                    Category::Data => "a field is not of its type",
                    Category::Eof => "it ends in the middle",
                    _ => "it does not parse",
                });
            }
        };
        // Not the time of the request: a watch may have been open for long before the log begins.
        let Some(logged) = event.stage_timestamp.or(event.request_received_timestamp) else {
            return Line::Bad("it has no stageTimestamp");
        };
        if let Some(kind) = event.object_kind() {
            self.take_request(&event, kind, logged);
        }
        Line::Event(logged)
    }

    fn take_request(&mut self, event: &Event<'_>, kind: ObjectKind, logged: Timestamp) {
        match &*event.verb {
            "get" | "list" | "watch" => {
                self.known.insert(kind);
                if kind == ObjectKind::ClusterProfile {
                    let user = self.shared(event.username());
                    self.readers.insert(user);
                }
            }
            "create" | "update" | "patch" | "delete" | "deletecollection"
                if event.stage == "ResponseComplete" =>
            {
                self.known.insert(kind);
                if !event.audit_id.is_empty() && !self.seen.insert(event.audit_id.clone()) {
                    return;
                }
                if kind == ObjectKind::ClusterProfile && LEVELS.contains(&&*event.level) {
                    self.levels.insert(event.level.clone());
                }
                let answered = self.answered(event, kind, logged);
                self.answered.push(answered);
            }
            _ => {}
        }
    }

    fn answered(&mut self, event: &Event<'_>, kind: ObjectKind, done: Timestamp) -> Answered {
        let sent = object(event.request_object);
        let stored = object(event.response_object);
        let target = &event.object_ref;
        let metadata = |object: &Value, key: &str| object["metadata"][key].as_str().map(str::to_owned);
        let names = [
            Some(target.name.clone()),
            metadata(&sent, "name"),
            metadata(&stored, "name"),
        ];
        let name = names.into_iter().flatten().find(|name| !name.is_empty());
        // The reference has the version of an object that was sent; a patch has its own.
        let based_on = metadata(&sent, "resourceVersion").unwrap_or(target.resource_version.clone());
        Answered {
            kind,
            done,
            request: Request {
                at: event.request_received_timestamp.unwrap_or(done),
                verb: self.shared(&event.verb),
                user: self.shared(event.username()),
                user_agent: self.shared(&event.user_agent),
                namespace: self.shared(&target.namespace),
                name: self.shared(&name.unwrap_or_default()),
                subresource: self.shared(&target.subresource),
                code: event.response_status.code,
                dry_run: event.is_dry_run(&sent),
                changed: None,
                resource_version: metadata(&stored, "resourceVersion").map(Into::into),
                body: read_body(&sent, event.verb == "patch"),
            },
            based_on: Some(based_on).filter(|version| !matches!(&**version, "" | "0")),
        }
    }

    fn shared(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return Arc::clone(known);
        }
        let kept: Arc<str> = without_tokens(name).into();
        self.names.insert(name.to_owned(), Arc::clone(&kept));
        kept
    }

    /// The requests on profiles and those on slices, in the order in which the hub received them.
    pub(super) fn into_requests(self) -> (Vec<Request>, Vec<Request>) {
        let mut answered = self.answered;
        answered.sort_by_key(|answered| answered.done);
        tell_changes(&mut answered);
        answered.sort_by_key(|answered| answered.request.at);
        let (profiles, slices): (Vec<_>, Vec<_>) = answered
            .into_iter()
            .partition(|answered| answered.kind == ObjectKind::ClusterProfile);
        let requests = |answered: Vec<Answered>| answered.into_iter().map(|one| one.request).collect();
        (requests(profiles), requests(slices))
    }
}

/// A user or an agent may be named after a token, and so may an object. Evidence keeps no credential.
fn without_tokens(name: &str) -> Cow<'_, str> {
    let leaks = leaks_in_text(name);
    if leaks.iter().any(|leak| leak.grade == Grade::Certain) {
        without_credentials(name)
    } else {
        name.into()
    }
}

/// Whether it is a line of the API server's own log, for example `I1120 10:11:12.345678       1 …`.
fn is_klog(line: &[u8]) -> bool {
    let is_severity = matches!(line.first(), Some(b'I' | b'W' | b'E' | b'F'));
    is_severity
        && line
            .get(1..5)
            .is_some_and(|date| date.iter().all(u8::is_ascii_digit))
}

/// Whether a line is JSON of some other group than that of audit events.
fn is_other_json(line: &[u8]) -> bool {
    let value = serde_json::from_slice::<Value>(line);
    value.is_ok_and(|value| !is_audit(value["apiVersion"].as_str().unwrap_or_default()))
}

fn is_audit(api_version: &str) -> bool {
    api_version.starts_with("audit.k8s.io/")
}

/// One audit event. Most are about other kinds, so their objects stay unparsed.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Event<'a> {
    kind: String,
    api_version: String,
    #[serde(rename = "auditID")]
    audit_id: String,
    level: String,
    stage: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    verb: String,
    user: User,
    impersonated_user: Option<User>,
    user_agent: String,
    object_ref: ObjectReference,
    response_status: ResponseStatus,
    #[serde(borrow)]
    request_object: Option<&'a RawValue>,
    #[serde(borrow)]
    response_object: Option<&'a RawValue>,
    request_received_timestamp: Option<Timestamp>,
    stage_timestamp: Option<Timestamp>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct User {
    username: String,
}

/// What a request is about.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ObjectReference {
    api_group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
    /// That of an object that was sent.
    resource_version: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponseStatus {
    code: u16,
}

/// An object of an event; null where there is none or it cannot be read.
fn object(raw: Option<&RawValue>) -> Value {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default()
}

impl Event<'_> {
    /// The kind of the objects that the request is about; none if it is about others.
    fn object_kind(&self) -> Option<ObjectKind> {
        let target = &self.object_ref;
        let mut kinds = ObjectKind::ALL.into_iter();
        kinds.find(|kind| target.api_group == names::GROUP && target.resource == kind.plural())
    }

    /// Whether the request, in which this was sent, asked for nothing to be stored. Deletions may say so in their
    /// options.
    fn is_dry_run(&self, sent: &Value) -> bool {
        let query = self.request_uri.split_once('?').map_or("", |(_, query)| query);
        let in_query = query.split('&').any(|pair| pair.starts_with("dryRun="));
        let in_options = sent["dryRun"].as_array().is_some_and(|stages| !stages.is_empty());
        in_query || (self.verb.starts_with("delete") && in_options)
    }

    /// The user that the hub authenticated, or the impersonated one.
    fn username(&self) -> &str {
        let user = self.impersonated_user.as_ref().unwrap_or(&self.user);
        &user.username
    }
}

/// The manager's name and its label lie three steps deep; deeper values are not used.
const DEEPEST: usize = 3;

/// Reads a body: an object, a merge patch or an apply patch, or the operations of a JSON patch. None when it is of
/// another shape.
fn read_body(body: &Value, is_patch: bool) -> Option<RequestBody> {
    let object = match body {
        Value::Object(_) => Cow::Borrowed(body),
        Value::Array(operations) => Cow::Owned(as_merge_patch(operations)),
        _ => return None,
    };
    let metadata = &object["metadata"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Some(RequestBody {
        name: text(&metadata["name"]).filter(|name| !name.is_empty()),
        manager_label: text(&metadata["labels"][names::LABEL_MANAGER]),
        manager: text(&object["spec"]["clusterManager"]["name"]),
        parts: parts(&object, is_patch).into_iter().collect(),
    })
}

/// The parts that an object holds. Clients write empty structs and nulls of what they do not mean to set; in a patch, a
/// null removes.
fn parts(object: &Value, is_patch: bool) -> BTreeSet<String> {
    let is_set = |value: &Value| match value {
        Value::Null => is_patch,
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    };
    let mut parts = BTreeSet::new();
    for (key, value) in object.as_object().into_iter().flatten() {
        match (key.as_str(), value) {
            ("apiVersion" | "kind", _) => {}
            ("metadata", Value::Object(metadata)) => {
                let set = metadata.iter().filter(|(_, value)| is_set(value));
                parts.extend(set.map(|(key, _)| format!("metadata.{key}")));
            }
            _ if is_set(value) => {
                parts.insert(key.clone());
            }
            _ => {}
        }
    }
    parts
}

/// What the operations of a JSON patch touch, with the values that they set; null for all others.
fn as_merge_patch(operations: &[Value]) -> Value {
    let mut object = Value::Null;
    for operation in operations {
        let text = |key: &str| operation[key].as_str().unwrap_or_default();
        let value = match text("op") {
            "test" => continue,
            "add" | "replace" => &operation["value"],
            _ => &Value::Null,
        };
        if text("op") == "move" {
            put(&mut object, text("from"), &Value::Null);
        }
        put(&mut object, text("path"), value);
    }
    object
}

/// Puts a value where a JSON pointer (RFC 6901) leads.
fn put(object: &mut Value, pointer: &str, value: &Value) {
    let mut steps = pointer.split('/').skip(1);
    let mut place = object;
    for step in steps.by_ref().take(DEEPEST) {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        place = &mut place[step.replace("~1", "/").replace("~0", "~")];
    }
    let is_empty = value.as_object().is_some_and(Map::is_empty);
    // An empty struct replaces, too.
    *place = if is_empty || steps.next().is_some() {
        Value::Null
    } else {
        value.clone()
    };
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parts_of_patch(body: Value) -> Vec<String> {
        read_body(&body, true).expect("a body").parts
    }

    #[test]
    fn an_object_shows_its_parts() {
        let body = json!({"apiVersion": "v", "kind": "ClusterProfile", "status": {}, "spec": {"clusterManager": {"name": "m"}},
            "metadata": {"name": "a", "labels": {"x-k8s.io/cluster-manager": "l"}, "creationTimestamp": null}});
        let read = read_body(&body, false).expect("a body");
        assert_eq!(read.name.as_deref(), Some("a"));
        assert_eq!(read.manager_label.as_deref(), Some("l"));
        assert_eq!(read.manager.as_deref(), Some("m"));
        // Go's clients send an empty status and a null time with every object.
        assert_eq!(read.parts, ["metadata.labels", "metadata.name", "spec"]);
        // In a merge patch a null removes.
        assert_eq!(
            parts_of_patch(json!({"metadata": {"labels": null}, "status": {}})),
            ["metadata.labels"]
        );
        assert_eq!(read_body(&json!("text"), true), None);
    }

    #[test]
    fn a_json_patch_shows_what_it_touches() {
        let body = json!([
            {"op": "test", "path": "/spec/displayName", "value": "x"},
            {"op": "replace", "path": "/metadata/labels/x-k8s.io~1cluster-manager", "value": "l"},
            {"op": "add", "path": "/spec/clusterManager", "value": {"name": "m"}},
            {"op": "remove", "path": "/status/conditions/0"},
            {"op": "move", "from": "/metadata/annotations/a", "path": "/metadata/finalizers"},
        ]);
        let read = read_body(&body, true).expect("a body");
        assert_eq!(read.manager_label.as_deref(), Some("l"));
        assert_eq!(read.manager.as_deref(), Some("m"));
        assert_eq!(
            read.parts,
            [
                "metadata.annotations",
                "metadata.finalizers",
                "metadata.labels",
                "spec",
                "status"
            ]
        );
        let whole = json!([{"op": "replace", "path": "", "value": {"metadata": {"labels": {"a": "b"}}, "spec": {"a": 1}}}]);
        assert_eq!(parts_of_patch(whole), ["metadata.labels", "spec"]);
        let deep = json!([{"op": "add", "path": "/a".repeat(100_000), "value": 1}]);
        assert_eq!(parts_of_patch(deep), ["a"]);
    }
}
