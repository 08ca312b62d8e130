//! Plays a script on a hub.

use std::{collections::HashMap, time::Duration};

use bytes::Bytes;
use http::{
    HeaderMap, Request, Response,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT, WARNING},
};
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::{Value, json};

use super::{
    hubs::Hub,
    normal::Normaliser,
    script::{Script, Step},
};

/// How long a hub may take for an event or for background work.
const PATIENCE: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(50);
/// Resources that the real hub's audit policy omits.
const UNLOGGED: [&str; 3] = ["/healthz", "/livez", "/readyz"];

/// A hub's answer to one step.
#[derive(Debug)]
pub struct Answer {
    pub step: String,
    /// The code that the script expects of the real hub.
    pub expected: u16,
    pub code: u16,
    /// Code, headers, body, events and audit events, normalized.
    pub value: Value,
}

impl Answer {
    /// Whether the script expects another code.
    pub fn is_unexpected(&self) -> bool {
        self.expected != 0 && self.code != self.expected
    }

    pub fn complaint(&self) -> String {
        let Self {
            step,
            expected,
            code,
            value,
        } = self;
        format!("{step}: got {code}, want {expected}: {value}")
    }
}

pub async fn play(script: &Script, hub: &Hub) -> Vec<Answer> {
    let namespace = format!("fidelity-{}", script.name);
    hub.create_namespace(&namespace).await;
    let mut player = Player {
        hub,
        script: &script.name,
        variables: variables(&namespace),
        count: 0,
        played: Vec::new(),
    };
    player.steps(&script.steps).await;
    let audit = hub.audit_events();
    let mut normaliser = Normaliser::new(&script.text);
    let played = player.played.into_iter();
    let answers = played.map(|mut played| {
        if let Some(agent) = &played.agent {
            let events = audit.iter().filter(|event| event["userAgent"] == agent.as_str());
            // The player decides when a watch ends.
            let events = events.filter(|event| !played.is_watch || event["stage"] == "ResponseStarted");
            // The real hub's policy omits these.
            let about_health = |uri: &str| UNLOGGED.iter().any(|path| uri.starts_with(path));
            let events = events.filter(|event| !event["requestURI"].as_str().is_some_and(about_health));
            let events: Value = events.map(|event| audited(event, &played)).collect();
            played.answer.value["audit"] = events;
        }
        let Played {
            answer,
            request,
            ordered,
            ..
        } = played;
        let value = normaliser.normal(&request, &answer.value, ordered);
        Answer { value, ..answer }
    });
    answers.collect()
}

/// The paths that scripts use, by the names of their variables.
const PATHS: &str = "
profiles /apis/multicluster.x-k8s.io/v1alpha1/namespaces/NS/clusterprofiles
profiles2 /apis/multicluster.x-k8s.io/v1alpha2/namespaces/NS/clusterprofiles
placements /apis/multicluster.x-k8s.io/v1alpha1/namespaces/NS/placementdecisions
placements2 /apis/multicluster.x-k8s.io/v1alpha2/namespaces/NS/placementdecisions
widgets /apis/fidelity.example/v1/namespaces/NS/widgets
secrets /api/v1/namespaces/NS/secrets
serviceaccounts /api/v1/namespaces/NS/serviceaccounts
leases /apis/coordination.k8s.io/v1/namespaces/NS/leases
events /api/v1/namespaces/NS/events
newevents /apis/events.k8s.io/v1/namespaces/NS/events
nodes /api/v1/nodes
namespaces /api/v1/namespaces
roles /apis/rbac.authorization.k8s.io/v1/namespaces/NS/roles
rolebindings /apis/rbac.authorization.k8s.io/v1/namespaces/NS/rolebindings
clusterroles /apis/rbac.authorization.k8s.io/v1/clusterroles
clusterrolebindings /apis/rbac.authorization.k8s.io/v1/clusterrolebindings
crds /apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn variables(namespace: &str) -> HashMap<String, String> {
    let paths = PATHS.lines().filter_map(|line| line.split_once(' '));
    let paths = paths.map(|(name, path)| (name.to_owned(), path.replace("NS", namespace)));
    paths.chain([("ns".to_owned(), namespace.to_owned())]).collect()
}

/// The part of an audit event that is compared.
fn audited(event: &Value, played: &Played) -> Value {
    let body = &played.answer.value["body"];
    // Requests are the same and answers are compared already: an event only has to repeat them.
    let unless = |object: &Value, is_same: bool, placeholder: &str| {
        if is_same {
            placeholder.into()
        } else {
            object.clone()
        }
    };
    let status = &event["responseStatus"];
    let mut parts = ["message", "reason", "details", "code"].iter();
    let repeats = status["code"].as_u64() >= Some(400) && parts.all(|part| status[part] == body[part]);
    let annotation = |name: &str| &event["annotations"][format!("authorization.k8s.io/{name}")];
    let mut kept = json!({
        "stage": event["stage"], "verb": event["verb"], "requestURI": event["requestURI"],
        "objectRef": event["objectRef"], "responseStatus": unless(status, repeats, "<as answered>"),
        "user": event["user"], "impersonated": event["impersonatedUser"],
        "decision": annotation("decision"), "reason": annotation("reason"),
    });
    // Both hubs' policies include the objects of these.
    let resource = event["objectRef"]["resource"].as_str();
    if matches!(resource, Some("clusterprofiles" | "namespaces")) {
        let object = &event["requestObject"];
        kept["requestObject"] = unless(object, *object == played.sent, "<as sent>");
    }
    // And the answers to writes of these.
    if resource == Some("clusterprofiles") {
        let object = &event["responseObject"];
        kept["responseObject"] = unless(object, object == body, "<as answered>");
        kept["level"] = event["level"].clone();
    }
    kept
}

/// A step's answer as it came, and what its comparison needs.
struct Played {
    answer: Answer,
    request: String,
    /// The User-Agent that identifies this request.
    agent: Option<String>,
    is_watch: bool,
    ordered: bool,
    sent: Value,
}

struct Player<'a> {
    hub: &'a Hub,
    script: &'a str,
    variables: HashMap<String, String>,
    count: usize,
    played: Vec<Played>,
}

impl Player<'_> {
    async fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            if step.forget_history {
                self.hub.forget_history();
            }
            self.count += 1;
            let agent = format!("fidelity/{}-{}", self.script, self.count);
            let agent = step.user_agent.clone().unwrap_or(agent);
            let mut value = match step.events {
                Some(wanted) => self.watch(step, &agent, wanted).await,
                None => self.ask(step, &agent).await,
            };
            for (name, pointer) in &step.save {
                let saved = value["body"].pointer(pointer).unwrap_or(&Value::Null);
                let text = saved.as_str().map_or_else(|| saved.to_string(), str::to_owned);
                self.variables.insert(name.clone(), text);
            }
            keep_parts(&mut value["body"], step);
            let code = value["code"].as_u64().unwrap_or_default();
            // Of warnings only the text matters, not their order.
            if let Some(warnings) = value["warnings"].as_array_mut() {
                warnings.sort_by_key(Value::to_string);
            }
            let sent = step.body.as_ref().map(|body| self.filled_in(body));
            self.played.push(Played {
                answer: Answer {
                    step: step.name.clone(),
                    expected: step.expect,
                    code: u16::try_from(code).unwrap_or_default(),
                    value,
                },
                request: self.filled(&step.request),
                agent: step.until.is_none().then_some(agent),
                is_watch: step.events.is_some(),
                ordered: step.ordered,
                sent: sent.unwrap_or_default(),
            });
        }
    }

    async fn ask(&self, step: &Step, agent: &str) -> Value {
        let asking = async {
            loop {
                let (mut value, body) = self.send(step, agent).await;
                let body = body.collect().await.expect("an answer's body").to_bytes();
                value["body"] = parsed(&body);
                let Some(until) = &step.until else { break value };
                let body = &value["body"];
                let mut wanted = until.iter();
                let reached = value["code"] == step.expect
                    && wanted.all(|(pointer, wanted)| body.pointer(pointer) == Some(&self.filled_in(wanted)));
                if reached {
                    break value;
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        tokio::time::timeout(PATIENCE, asking)
            .await
            .unwrap_or_else(|_| json!({"code": 0, "body": "never answered as awaited"}))
    }

    async fn watch(&mut self, step: &Step, agent: &str, wanted: usize) -> Value {
        let (mut value, body) = self.send(step, agent).await;
        Box::pin(self.steps(&step.meanwhile)).await;
        if value["code"] != 200 {
            value["body"] = parsed(&body.collect().await.expect("an answer's body").to_bytes());
            return value;
        }
        let mut stream = EventStream {
            body,
            buffer: Vec::new(),
        };
        let mut events: Vec<Value> = Vec::new();
        // An awaited end counts as one more event.
        let wanted = wanted + usize::from(step.ends);
        let is_bookmark = |event: &Value| event["type"] == "BOOKMARK";
        while events.len() < wanted {
            let next = stream.next().await;
            // The number of bookmarks in a row depends on timing.
            if next.as_ref().is_ok_and(is_bookmark) && events.last().is_some_and(is_bookmark) {
                events.pop();
            }
            let is_over = next.is_err();
            events.push(next.unwrap_or_else(Value::from));
            if is_over {
                break;
            }
        }
        value["events"] = events.into();
        value
    }

    async fn send(&self, step: &Step, agent: &str) -> (Value, Body) {
        let request = self.filled(&step.request);
        let (method, path) = request.split_once(' ').expect("a request is a method and a path");
        let mut builder = Request::builder()
            .method(method)
            .uri(path)
            .header(USER_AGENT, agent);
        for (name, values) in &step.headers {
            for value in values {
                builder = builder.header(name, self.filled(value));
            }
        }
        let given = step.token.as_ref().map(|token| self.filled(token));
        if let Some(token) = given.as_deref().or_else(|| self.hub.token(&step.user)) {
            builder = builder.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let body = match (&step.body, &step.text) {
            (Some(body), _) => self.filled_in(body).to_string().into_bytes(),
            (None, Some(text)) => self.filled(text).into_bytes(),
            (None, None) => Vec::new(),
        };
        let kind = match (&step.content_type, body.is_empty(), method) {
            (Some(kind), ..) => kind,
            (None, true, _) => "",
            (None, false, "PATCH") => "application/merge-patch+json",
            (None, false, _) => "application/json",
        };
        if !kind.is_empty() {
            builder = builder.header(CONTENT_TYPE, kind);
        }
        builder = builder.header(ACCEPT, step.accept.as_deref().unwrap_or("application/json"));
        let request = builder.body(Body::from(body));
        let request = request.unwrap_or_else(|error| panic!("{}: {error}", step.name));
        let answer: Response<Body> = self.hub.send(request).await;
        let (parts, body) = answer.into_parts();
        let value = json!({
            "code": parts.status.as_u16(),
            "contentType": texts(&parts.headers, CONTENT_TYPE),
            "warnings": texts(&parts.headers, WARNING),
        });
        (value, body)
    }

    /// Replaces the variables in a text. `${x:N}` is a text of N characters.
    fn filled(&self, text: &str) -> String {
        if !text.contains("${") {
            return text.to_owned();
        }
        let length = text.strip_prefix("${x:").and_then(|rest| rest.strip_suffix('}'));
        if let Some(length) = length {
            return "x".repeat(length.parse().expect("a length"));
        }
        let mut filled = text.to_owned();
        for (name, value) in &self.variables {
            filled = filled.replace(&format!("${{{name}}}"), value);
        }
        let script = self.script;
        assert!(
            !filled.contains("${"),
            "{script}: there is no such variable: {filled}"
        );
        filled
    }

    fn filled_in(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.filled(text).into(),
            Value::Array(items) => {
                let items = items.iter().flat_map(repeated);
                items.map(|item| self.filled_in(&item)).collect()
            }
            Value::Object(map) => {
                let fields = map.iter();
                let filled = fields.map(|(key, value)| (self.filled(key), self.filled_in(value)));
                Value::Object(filled.collect())
            }
            other => other.clone(),
        }
    }
}

/// The items that an item stands for: `{repeat: N, item: I}` is N times I, in which `${n}` is the number.
fn repeated(item: &Value) -> Vec<Value> {
    let Some(count) = item["repeat"].as_u64() else {
        return vec![item.clone()];
    };
    let text = item["item"].to_string();
    let numbered = (0..count).map(|n| text.replace("${n}", &n.to_string()));
    numbered
        .map(|text| serde_json::from_str(&text).expect("an item"))
        .collect()
}

/// Reduces a body to the parts that its step compares.
fn keep_parts(body: &mut Value, step: &Step) {
    for among in &step.among {
        if let Some(Value::Array(items)) = body.pointer_mut(&among.list) {
            let is_named = |item: &Value| {
                let name = item.pointer(&among.key).and_then(Value::as_str);
                name.is_some_and(|name| among.names.iter().any(|known| known == name))
            };
            items.retain(is_named);
        }
    }
    if !step.only.is_empty() {
        let part = |pointer: &String| body.pointer(pointer).cloned().unwrap_or_default();
        let parts = step.only.iter().map(|pointer| (pointer.clone(), part(pointer)));
        *body = parts.collect();
    }
}

fn texts(headers: &HeaderMap, name: http::HeaderName) -> Vec<String> {
    let values = headers.get_all(name).iter();
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    values.map(text).collect()
}

fn parsed(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|_| String::from_utf8_lossy(bytes).into_owned().into())
}

/// The events of a watch, one JSON document per line.
struct EventStream {
    body: Body,
    buffer: Vec<u8>,
}

impl EventStream {
    /// The next event, or why there is none.
    async fn next(&mut self) -> Result<Value, &'static str> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return Ok(parsed(&line));
            }
            let frame = tokio::time::timeout(PATIENCE, self.body.frame()).await;
            let Some(Ok(frame)) = frame.map_err(|_| "silence")? else {
                return Err("the end");
            };
            self.buffer
                .extend(frame.into_data().unwrap_or_else(|_| Bytes::new()));
        }
    }
}
