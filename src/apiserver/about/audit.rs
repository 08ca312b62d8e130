//! The audit log: one event for each request, as `audit.k8s.io/v1`.

use std::{fs::File, io::Write};

use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    access::{auth::User, rbac::Decision},
    http::request::RequestInfo,
    object::{meta, status::unless_empty},
    server::{ApiServer, lock},
};

/// How much the audit log tells of a request that writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum AuditLevel {
    /// Who did what to which object, and the answer's code.
    #[default]
    Metadata,
    /// Also the object that was sent. Never for Secrets.
    Request,
    /// Also the object that was answered. Never for Secrets.
    RequestResponse,
}

/// Where events go, and how much they tell.
#[derive(Debug, Default)]
pub(crate) struct AuditLog {
    pub(crate) level: AuditLevel,
    /// Those that were remembered.
    pub(crate) kept: Vec<Value>,
    /// They are not remembered.
    is_sent: bool,
    /// Where they are sent, one a line: there, or nowhere.
    file: Option<File>,
}

impl AuditLog {
    /// Lets events go there from now on, instead of remembering them.
    pub(crate) fn send_to(&mut self, file: Option<File>) {
        self.kept.clear();
        self.is_sent = true;
        self.file = file;
    }

    fn push(&mut self, event: &Value) {
        if let Some(file) = &mut self.file {
            // A log that cannot be written is no reason to answer otherwise.
            let _ = file.write_all(format!("{event}\n").as_bytes());
        } else if !self.is_sent {
            self.kept.push(event.clone());
        }
    }
}

/// One request, as far as it is known.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    server: ApiServer,
    event: Value,
    /// The Status with which it is answered, if it is one.
    pub(crate) status: Value,
}

impl Entry {
    /// Notes that a request came.
    pub(crate) fn begin(server: &ApiServer, info: &RequestInfo, uri: &http::Uri, agent: &str) -> Self {
        let mut event = json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "auditID": server.new_uid(), "verb": info.verb,
            "requestURI": uri.path_and_query().map_or("/", |uri| uri.as_str()), "user": {},
            "sourceIPs": ["127.0.0.1"], "requestReceivedTimestamp": time(server),
        });
        if !agent.is_empty() {
            event["userAgent"] = agent.into();
        }
        if let Some(target) = &info.target {
            event["objectRef"] = unless_empty([
                ("resource", target.resource.as_str()),
                ("namespace", &target.namespace),
                ("name", &target.name),
                ("apiGroup", &target.group),
                ("apiVersion", &target.version),
                ("subresource", &target.subresource),
            ]);
        }
        Self {
            server: server.clone(),
            event,
            status: Value::Null,
        }
    }

    /// Notes who asks: the `user`, or the `impersonatedUser`.
    pub(crate) fn user(&mut self, field: &str, user: &User) {
        self.event[field] = json!(user);
    }

    pub(crate) fn decision(&mut self, Decision { allowed, reason }: &Decision) {
        let decision = if *allowed { "allow" } else { "forbid" };
        self.event["annotations"] =
            json!({"authorization.k8s.io/decision": decision, "authorization.k8s.io/reason": reason});
    }

    /// Notes the object that was sent, and what it says of which object is meant.
    pub(crate) fn object(&mut self, sent: &Value) {
        let reference = &mut self.event["objectRef"];
        for key in ["name", "namespace", "uid", "resourceVersion"] {
            let value = meta::text(sent, key);
            if !value.is_empty() && reference.get(key).is_none() {
                reference[key] = value.into();
            }
        }
        self.request(sent);
    }

    /// Notes what was sent: an object, a patch, the options of a deletion.
    pub(crate) fn request(&mut self, sent: &Value) {
        if self.level() >= AuditLevel::Request {
            self.event["requestObject"] = sent.clone();
        }
    }

    /// Notes what is answered, as JSON.
    pub(crate) fn answer(&mut self, body: &[u8]) {
        if self.level() == AuditLevel::RequestResponse
            && let Ok(answer) = serde_json::from_slice(body)
        {
            self.event["responseObject"] = answer;
        }
    }

    /// How much is told of this request. Of reads little: with what they list, the log would be as long as that, time
    /// and again.
    fn level(&self) -> AuditLevel {
        let (verb, object) = (self.event["verb"].as_str(), &self.event["objectRef"]);
        let is_read = matches!(verb, Some("get" | "list" | "watch"));
        let is_secret = matches!(
            object["resource"].as_str(),
            None | Some("secrets" | "tokenreviews")
        );
        match is_read || is_secret || object["subresource"] == "token" {
            true => AuditLevel::Metadata,
            false => lock(&self.server.inner.audit).level,
        }
    }

    /// Notes that an answer begins: of a watch, or to somebody unknown.
    pub(crate) fn started(&mut self, code: u16) {
        self.write("ResponseStarted", code);
    }

    /// Notes that the request is over.
    pub(crate) fn complete(&mut self, code: u16) {
        self.write("ResponseComplete", code);
    }

    fn write(&mut self, stage: &str, code: u16) {
        let mut status = json!({"metadata": {}, "code": code});
        for key in ["status", "message", "reason", "details"] {
            if let Some(value) = self.status.get(key) {
                status[key] = value.clone();
            }
        }
        self.event["level"] = json!(self.level());
        self.event["stage"] = stage.into();
        self.event["responseStatus"] = status;
        self.event["stageTimestamp"] = time(&self.server).into();
        lock(&self.server.inner.audit).push(&self.event);
    }
}

/// The present moment as events tell it: in microseconds.
fn time(server: &ApiServer) -> String {
    format!("{:.6}", server.now())
}
