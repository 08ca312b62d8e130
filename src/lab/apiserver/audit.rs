//! The audit log: one event for each request, as `audit.k8s.io/v1`.

use std::fs::File;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};

use super::auth::User;
use super::rbac::Decision;
use super::request::RequestInfo;

/// How much the audit log tells of a request that writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuditLevel {
    /// Who did what to which object, and the answer's code.
    #[default]
    Metadata,
    /// Also the object that was sent. Never for Secrets.
    Request,
    /// Also the object that was answered. Never for Secrets.
    RequestResponse,
}

/// Where events go.
#[derive(Debug)]
enum Log {
    /// They are remembered.
    Kept(Vec<Value>),
    /// They are written there, one a line, or nowhere.
    Sent(Option<File>),
}

impl Default for Log {
    fn default() -> Self {
        Log::Kept(Vec::new())
    }
}

/// The events so far.
#[derive(Debug, Default)]
pub(super) struct AuditLog {
    events: Mutex<Log>,
    level: Mutex<AuditLevel>,
}

impl AuditLog {
    pub(super) fn set_level(&self, level: AuditLevel) {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = level;
    }

    pub(super) fn events(&self) -> Vec<Value> {
        match &*self.events.lock().unwrap_or_else(PoisonError::into_inner) {
            Log::Kept(events) => events.clone(),
            Log::Sent(_) => Vec::new(),
        }
    }

    /// Lets events go there from now on, instead of remembering them.
    pub(super) fn send_to(&self, file: Option<File>) {
        *self.events.lock().unwrap_or_else(PoisonError::into_inner) = Log::Sent(file);
    }

    fn push(&self, event: Value) {
        match &mut *self.events.lock().unwrap_or_else(PoisonError::into_inner) {
            Log::Kept(events) => events.push(event),
            Log::Sent(Some(file)) => {
                // A log that cannot be written is no reason to answer otherwise.
                let _ = file.write_all(format!("{event}\n").as_bytes());
            }
            Log::Sent(None) => {}
        }
    }
}

/// One request, as far as it is known.
#[derive(Debug)]
pub(super) struct Entry {
    log: Arc<AuditLog>,
    event: Map<String, Value>,
    /// The Status that a success is answered with, if it is one.
    success: Option<Value>,
}

impl Entry {
    /// Notes that a request came. `uri` is its path and query.
    pub(super) fn begin(
        log: &Arc<AuditLog>,
        id: String,
        info: &RequestInfo,
        uri: &http::Uri,
        agent: &str,
        time: String,
    ) -> Self {
        let uri = uri.path_and_query().map_or("/", |uri| uri.as_str());
        let mut event = Map::new();
        event.insert("kind".into(), "Event".into());
        event.insert("apiVersion".into(), "audit.k8s.io/v1".into());
        event.insert("level".into(), Value::Null);
        event.insert("auditID".into(), id.into());
        event.insert("stage".into(), Value::Null);
        event.insert("requestURI".into(), uri.into());
        event.insert("verb".into(), info.verb.into());
        event.insert("user".into(), json!({}));
        event.insert("sourceIPs".into(), json!(["127.0.0.1"]));
        if !agent.is_empty() {
            event.insert("userAgent".into(), agent.into());
        }
        if let Some(target) = &info.target {
            let mut object = Map::new();
            for (key, value) in [
                ("resource", &target.resource),
                ("namespace", &target.namespace),
                ("name", &target.name),
                ("apiGroup", &target.group),
                ("apiVersion", &target.version),
                ("subresource", &target.subresource),
            ] {
                if !value.is_empty() {
                    object.insert(key.into(), value.clone().into());
                }
            }
            event.insert("objectRef".into(), object.into());
        }
        event.insert("requestReceivedTimestamp".into(), time.into());
        Self {
            log: log.clone(),
            event,
            success: None,
        }
    }

    /// The same request, for an answer that outlives its handler.
    pub(super) fn branch(&self) -> Self {
        Self {
            log: self.log.clone(),
            event: self.event.clone(),
            success: None,
        }
    }

    /// Notes who asks: the `user`, or the `impersonatedUser`.
    pub(super) fn user(&mut self, field: &str, user: &User) {
        self.event.insert(field.into(), json!(user));
    }

    pub(super) fn decision(&mut self, Decision { allowed, reason }: &Decision) {
        let decision = if *allowed { "allow" } else { "forbid" };
        let told = json!({"authorization.k8s.io/decision": decision, "authorization.k8s.io/reason": reason});
        self.event.insert("annotations".into(), told);
    }

    /// Notes the object that was sent, and what it says of which object is meant.
    pub(super) fn object(&mut self, sent: &Value) {
        let Some(reference) = self.event.get_mut("objectRef").and_then(Value::as_object_mut) else {
            return;
        };
        for key in ["name", "namespace", "uid", "resourceVersion"] {
            let value = &sent["metadata"][key];
            if value.as_str().is_some_and(|text| !text.is_empty()) && !reference.contains_key(key) {
                reference.insert(key.into(), value.clone());
            }
        }
        self.request(sent);
    }

    /// Notes what was sent: an object, a patch, the options of a deletion.
    pub(super) fn request(&mut self, sent: &Value) {
        if self.level() >= AuditLevel::Request {
            self.event.insert("requestObject".into(), sent.clone());
        }
    }

    /// Notes what is answered, as JSON.
    pub(super) fn answer(&mut self, body: &[u8]) {
        if self.level() == AuditLevel::RequestResponse
            && let Ok(answer) = serde_json::from_slice(body)
        {
            self.event.insert("responseObject".into(), answer);
        }
    }

    /// How much is told of this request. Of reads little: with what they list, the log would be as long as that, time
    /// and again.
    fn level(&self) -> AuditLevel {
        let told = *self.log.level.lock().unwrap_or_else(PoisonError::into_inner);
        let verb = self.event["verb"].as_str().unwrap_or_default();
        let object = self.event.get("objectRef");
        let is_secret = object.is_none_or(|object| {
            object["resource"] == "secrets"
                || object["resource"] == "tokenreviews"
                || object
                    .get("subresource")
                    .is_some_and(|subresource| subresource == "token")
        });
        match is_secret || matches!(verb, "get" | "list" | "watch") {
            true => AuditLevel::Metadata,
            false => told,
        }
    }

    /// Notes the Status with which a success is answered.
    pub(super) fn success(&mut self, status: &Value) {
        self.success = Some(status.clone());
    }

    /// Notes that an answer begins: of a watch, or to somebody unknown. `failure` is the status that was answered, if
    /// it was one.
    pub(super) fn started(&mut self, code: u16, failure: Option<&Value>, time: String) {
        self.write("ResponseStarted", code, failure, time);
    }

    /// Notes that the request is over.
    pub(super) fn complete(&mut self, code: u16, failure: Option<&Value>, time: String) {
        let success = self.success.take();
        self.write("ResponseComplete", code, failure.or(success.as_ref()), time);
    }

    fn write(&mut self, stage: &str, code: u16, failure: Option<&Value>, time: String) {
        let mut status = json!({"metadata": {}, "code": code});
        for key in ["status", "message", "reason", "details"] {
            if let Some(value) = failure.and_then(|failure| failure.get(key)) {
                status[key] = value.clone();
            }
        }
        let level = match self.level() {
            AuditLevel::Metadata => "Metadata",
            AuditLevel::Request => "Request",
            AuditLevel::RequestResponse => "RequestResponse",
        };
        self.event.insert("level".into(), level.into());
        self.event.insert("stage".into(), stage.into());
        self.event.insert("responseStatus".into(), status);
        self.event.insert("stageTimestamp".into(), time.into());
        self.log.push(Value::Object(self.event.clone()));
    }
}
