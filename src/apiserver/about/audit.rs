//! The audit log: one event for each request, as `audit.k8s.io/v1`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::audit_log::AuditLevel;
use crate::{
    access::{rbac::Decision, user::User},
    http::request::RequestInfo,
    object::{meta, status::unless_empty},
    state::State,
};

/// One request, as far as it is known.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    state: Arc<State>,
    event: Value,
    /// The Status with which it is answered, if it is one.
    pub(crate) status: Value,
}

impl Entry {
    /// Notes that a request came.
    pub(crate) fn begin(state: &Arc<State>, info: &RequestInfo, uri: &http::Uri, agent: &str) -> Self {
        let mut event = json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "auditID": state.new_uid(), "verb": info.verb,
            "requestURI": uri.path_and_query().map_or("/", |uri| uri.as_str()), "user": {},
            "sourceIPs": ["127.0.0.1"], "requestReceivedTimestamp": time(state),
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
            state: state.clone(),
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
        if is_read || is_secret || object["subresource"] == "token" {
            AuditLevel::Metadata
        } else {
            self.state.audit.lock().level
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
        self.event["stageTimestamp"] = time(&self.state).into();
        self.state.audit.lock().push(&self.event);
    }
}

/// The present moment as events tell it: in microseconds.
fn time(state: &State) -> String {
    format!("{:.6}", state.now())
}
