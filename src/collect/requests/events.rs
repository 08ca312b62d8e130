//! The fields of audit events (`audit.k8s.io/v1`) that are used, and the answered writes on profiles and slices in them.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use evidence::{
    Gap, Request,
    api::{ObjectKind, names},
    leak::{Grade, leaks_in_text},
    redact::without_credentials,
};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{body, changes::tell_changes, coverage::gap};

/// How long the hub may take to answer: a request is given up after 60 s.
const ANSWERED_WITHIN: SignedDuration = SignedDuration::from_secs(90);

const LEVELS: [&str; 3] = ["Metadata", "Request", "RequestResponse"];

/// A write that the hub has answered, with what shows whether it changed anything.
pub(super) struct Answered {
    pub(super) kind: ObjectKind,
    pub(super) end: Timestamp,
    pub(super) request: Request,
    /// The resourceVersion that the request was based upon.
    pub(super) based_on: Option<String>,
}

impl Answered {
    /// The version that it was made upon: the hub refuses it for any other.
    pub(super) fn version_before(&self) -> Option<&str> {
        self.based_on.as_deref()
    }

    /// The version of the object that the hub answered with.
    pub(super) fn version_after(&self) -> Option<&str> {
        self.request.resource_version.as_deref()
    }
}

#[derive(Default)]
pub(super) struct AuditEvents {
    answered: Vec<Answered>,
    /// The ids of requests that were answered.
    ids: HashSet<String>,
    received: HashMap<String, Timestamp>,
    /// Shares names between events: a log has few different ones.
    names: HashMap<String, Arc<str>>,
    pub(super) kinds: HashSet<ObjectKind>,
    /// The levels of the writes on profiles.
    pub(super) levels: BTreeSet<String>,
    /// The users that read profiles, or tried to.
    pub(super) readers: HashSet<Arc<str>>,
}

/// What a line of the log is.
pub(super) enum LogLine {
    /// An event that was logged then.
    Event(Timestamp),
    /// An event that is lost, and why.
    Broken(String),
    /// A line of another log.
    Other,
}

impl AuditEvents {
    pub(super) fn read_line(&mut self, line: &[u8]) -> LogLine {
        match serde_json::from_slice::<AuditEvent<'_>>(line) {
            Ok(event) if event.is_audit() => self.read_event(&event),
            Ok(event) if is_audit(&event.api_version) => LogLine::Broken("its kind is not Event".to_owned()),
            // An API server whose audit log goes to its standard output writes its own there too.
            Ok(_) => LogLine::Other,
            Err(_) if is_klog(line) || is_foreign(line) => LogLine::Other,
            Err(error) => LogLine::Broken(without_values(&error)),
        }
    }

    fn read_event(&mut self, event: &AuditEvent<'_>) -> LogLine {
        // Not the time of the request: a watch may have been open for long before the log begins.
        let Some(logged) = event.stage_timestamp.or(event.request_received_timestamp) else {
            return LogLine::Broken("it has no stageTimestamp".to_owned());
        };
        if let Some(kind) = event.kind() {
            self.kinds.insert(kind);
            let id = event.audit_id.as_deref().unwrap_or_default();
            match event.stage.as_deref() {
                _ if event.is_read() && kind == ObjectKind::ClusterProfile => {
                    let user = self.shared(event.username());
                    self.readers.insert(user);
                }
                _ if !event.is_write() => {}
                Some("ResponseComplete") if id.is_empty() || self.ids.insert(id.to_owned()) => {
                    let level = LEVELS
                        .into_iter()
                        .find(|level| event.level.as_deref() == Some(level));
                    let level = level.filter(|_| kind == ObjectKind::ClusterProfile);
                    self.levels.extend(level.map(str::to_owned));
                    let answered = self.answered(event, kind, logged);
                    self.answered.push(answered);
                }
                Some("RequestReceived") => _ = self.received.insert(id.to_owned(), logged),
                Some("Panic") => _ = self.ids.insert(id.to_owned()),
                _ => {}
            }
        }
        LogLine::Event(logged)
    }

    fn answered(&mut self, event: &AuditEvent<'_>, kind: ObjectKind, end: Timestamp) -> Answered {
        let verb = event.verb.as_deref().unwrap_or_default();
        let (body, stored) = (object(event.request_object), object(event.response_object));
        let nothing = AuditTarget::default();
        let target = event.object_ref.as_ref().unwrap_or(&nothing);
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        let metadata = |object: &Value, field: &str| {
            let text = object["metadata"][field].as_str();
            text.unwrap_or_default().to_owned()
        };
        let names = [
            part(&target.name),
            metadata(&body, "name"),
            metadata(&stored, "name"),
        ];
        let name = names.into_iter().find(|name| !name.is_empty());
        // The reference has the version of an object that was sent; a patch has its own.
        let versions = [metadata(&body, "resourceVersion"), part(&target.resource_version)];
        let based_on = versions.into_iter().find(|version| !version.is_empty());
        let code = event.response_status.as_ref().and_then(|status| status.code);
        Answered {
            kind,
            end,
            request: Request {
                at: event.request_received_timestamp.unwrap_or(end),
                verb: self.shared(verb),
                user: self.shared(event.username()),
                user_agent: self.shared(event.user_agent.as_deref().unwrap_or_default()),
                namespace: self.shared(&part(&target.namespace)),
                name: self.shared(&name.unwrap_or_default()),
                subresource: self.shared(&part(&target.subresource)),
                code: code.unwrap_or_default(),
                dry_run: event.is_dry_run(&body),
                changed: None,
                resource_version: stored["metadata"]["resourceVersion"].as_str().map(Into::into),
                body: body::read(&body, verb, kind),
            },
            based_on: based_on.filter(|version| version != "0"),
        }
    }

    fn shared(&mut self, name: &str) -> Arc<str> {
        if let Some(shared_name) = self.names.get(name) {
            return Arc::clone(shared_name);
        }
        let clean_name: Arc<str> = without_tokens(name).into();
        self.names.insert(name.to_owned(), Arc::clone(&clean_name));
        clean_name
    }

    /// Writes received long before the end of the log, which does not contain their answers.
    pub(super) fn unanswered(&self, end: Timestamp) -> Option<Gap> {
        let is_overdue = |at: &Timestamp| end.duration_since(*at) > ANSWERED_WITHIN;
        let unanswered = self.received.iter().filter(|(id, _)| !self.ids.contains(*id));
        let times: Vec<Timestamp> = unanswered.map(|(_, at)| *at).filter(is_overdue).collect();
        let (from, until) = (times.iter().min()?, times.iter().max()?);
        let reason = format!(
            "the audit log has {} writes that were received, but not their answers: let the \
             audit policy log the stage ResponseComplete",
            times.len()
        );
        Some(gap(Some(*from), Some(*until), &reason))
    }

    /// The requests on profiles and those on slices, in the order in which the hub received them.
    pub(super) fn into_requests(self) -> (Vec<Request>, Vec<Request>) {
        let mut answered = self.answered;
        answered.sort_by_key(|answered| answered.end);
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
    match line {
        [b'I' | b'W' | b'E' | b'F', rest @ ..] => {
            rest.len() > 4 && rest[..4].iter().all(u8::is_ascii_digit) && rest[4] == b' '
        }
        _ => false,
    }
}

/// What the parser minds, without quoting the event: it may hold anything.
fn without_values(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Data => "a field is not of its type".to_owned(),
        serde_json::error::Category::Eof => "it ends in the middle".to_owned(),
        _ => "it does not parse".to_owned(),
    }
}

/// One audit event. Most are about other kinds, so their objects stay unparsed.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct AuditEvent<'a> {
    pub kind: Option<String>,
    pub api_version: Option<String>,
    #[serde(rename = "auditID")]
    pub audit_id: Option<String>,
    pub level: Option<String>,
    pub stage: Option<String>,
    #[serde(rename = "requestURI")]
    pub request_uri: Option<String>,
    pub verb: Option<String>,
    pub user: Option<AuditUser>,
    pub impersonated_user: Option<AuditUser>,
    pub user_agent: Option<String>,
    pub object_ref: Option<AuditTarget>,
    pub response_status: Option<ResponseStatus>,
    #[serde(borrow)]
    pub request_object: Option<&'a RawValue>,
    #[serde(borrow)]
    pub response_object: Option<&'a RawValue>,
    pub request_received_timestamp: Option<Timestamp>,
    pub stage_timestamp: Option<Timestamp>,
}

#[derive(Deserialize)]
pub(super) struct AuditUser {
    pub username: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct AuditTarget {
    pub api_group: Option<String>,
    pub resource: Option<String>,
    pub subresource: Option<String>,
    pub namespace: Option<String>,
    pub name: Option<String>,
    /// The version in the request body.
    pub resource_version: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct ResponseStatus {
    pub code: Option<u16>,
}

/// Whether a line is JSON of some other group than that of audit events.
pub(super) fn is_foreign(line: &[u8]) -> bool {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Type {
        api_version: Option<String>,
    }
    serde_json::from_slice::<Type>(line).is_ok_and(|head| !is_audit(&head.api_version))
}

fn is_audit(api_version: &Option<String>) -> bool {
    let group = api_version.as_deref().unwrap_or_default();
    group.starts_with("audit.k8s.io/")
}

/// An object of an event; null where there is none or it cannot be read.
fn object(raw: Option<&RawValue>) -> Value {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default()
}

impl AuditEvent<'_> {
    pub fn is_audit(&self) -> bool {
        is_audit(&self.api_version) && self.kind.as_deref() == Some("Event")
    }

    /// The kind of the objects that it is about; none if it is about others.
    pub fn kind(&self) -> Option<ObjectKind> {
        let target = self.object_ref.as_ref()?;
        if target.api_group.as_deref() != Some(names::GROUP) {
            return None;
        }
        let resource = target.resource.as_deref()?;
        ObjectKind::ALL.into_iter().find(|kind| kind.plural() == resource)
    }

    pub fn is_write(&self) -> bool {
        let verb = self.verb.as_deref().unwrap_or_default();
        matches!(
            verb,
            "create" | "update" | "patch" | "delete" | "deletecollection"
        )
    }

    pub fn is_read(&self) -> bool {
        matches!(self.verb.as_deref(), Some("get" | "list" | "watch"))
    }

    /// Whether the request, in which this was sent, asked for nothing to be stored. Deletions may say so in their
    /// options.
    pub fn is_dry_run(&self, body: &Value) -> bool {
        let uri = self.request_uri.as_deref().unwrap_or_default();
        let query = uri.split_once('?').map_or("", |(_, query)| query);
        let in_query = query.split('&').any(|pair| pair.starts_with("dryRun="));
        let is_deletion = self
            .verb
            .as_deref()
            .is_some_and(|verb| verb.starts_with("delete"));
        let in_options = body["dryRun"].as_array().is_some_and(|stages| !stages.is_empty());
        in_query || (is_deletion && in_options)
    }

    /// The user that the hub authenticated, or the impersonated one.
    pub fn username(&self) -> &str {
        let users = [&self.impersonated_user, &self.user];
        let mut names = users.into_iter().flatten().map(|user| user.username.as_deref());
        names.find_map(|name| name).unwrap_or_default()
    }
}
