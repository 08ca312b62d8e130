//! The audit log: one event for each request, as `audit.k8s.io/v1`.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    about::audit_log::AuditLevel,
    access::{rbac::Decision, user::User},
    context::state::State,
    object::{meta, status::unless_empty},
    request::info::RequestInfo,
};

/// The audit event of one request, filled in on the way.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    state: Arc<State>,
    event: Value,
    /// The answered Status, if the answer is one.
    pub(crate) status: Value,
}

impl Entry {
    /// Starts the event of a request.
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

    /// Records the `user`, or the `impersonatedUser`.
    pub(crate) fn user(&mut self, field: &str, user: &User) {
        self.event[field] = json!(user);
    }

    pub(crate) fn decision(&mut self, Decision { allowed, reason }: &Decision) {
        let decision = if *allowed { "allow" } else { "forbid" };
        self.event["annotations"] =
            json!({"authorization.k8s.io/decision": decision, "authorization.k8s.io/reason": reason});
    }

    /// Records the object that was sent, and the name and identity in it.
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

    /// Records what was sent: an object, a patch, the options of a deletion.
    pub(crate) fn request(&mut self, sent: &Value) {
        if self.level() >= AuditLevel::Request {
            self.event["requestObject"] = sent.clone();
        }
    }

    /// Records the answer's JSON.
    pub(crate) fn answer(&mut self, body: &[u8]) {
        if self.level() == AuditLevel::RequestResponse
            && let Ok(answer) = serde_json::from_slice(body)
        {
            self.event["responseObject"] = answer;
        }
    }

    /// The level of this request. Reads stay at Metadata: their answers would make the log as long as all lists
    /// together.
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

    /// Writes the event of an answer that begins: a watch, or a refusal of an unknown user.
    pub(crate) fn started(&mut self, code: u16) {
        self.write("ResponseStarted", code);
    }

    /// Writes the event of a finished request.
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

/// The current time in events: with microseconds.
fn time(state: &State) -> String {
    format!("{:.6}", state.now())
}
