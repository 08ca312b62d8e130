//! What a run read apart from profiles and slices: the audit log, members and logins to them, and Secrets. Each is merged onto
//! a conforming one.

use evidence::{
    EndpointCall, Gap, Login, Member, Probe, Request, Requests, Secret, Window,
    api::{ObjectKind, Role, names},
};
use jiff::SignedDuration;
use serde_json::{Map, Value, json};

use super::{
    conforming::{MANAGER, SCHEDULER, conforming, key, path_key, profile_reference, text},
    error::{Flaw, strictly},
    time::{Repeats, moment},
};

/// Reads all requests, repeated ones as often as they occur, in order of time. Those that say less are by the manager on
/// the first profile, or by the scheduler on the first slice.
pub(super) fn requests(texts: &[Value], covers: Window, role: Role) -> Result<Requests, Flaw> {
    let (user, name) = match role.objects() {
        ObjectKind::ClusterProfile => (MANAGER, "a"),
        ObjectKind::PlacementDecision => (SCHEDULER, "web-0"),
    };
    let mut events = Vec::new();
    for text in texts {
        events.extend(repeated(text, user, name)?);
    }
    events.sort_by_key(|event| event.at);
    let is_outside = |event: &Request| event.at < covers.from || covers.until < event.at;
    if events.iter().any(is_outside) {
        return Err("a request lies outside of the observed time".into());
    }
    Ok(Requests { covers, events })
}

fn repeated(text: &Value, user: &str, name: &str) -> Result<Vec<Request>, Flaw> {
    let mut fields = text.as_object().ok_or("a request is a mapping")?.clone();
    let repeats = Repeats::take(&mut fields)?;
    let agent = fields.get("user").and_then(Value::as_str).unwrap_or(user);
    let mut whole = json!({
        "at": moment(repeats.first()), "verb": "patch", "user": user, "userAgent": agent,
        "namespace": "default", "name": name, "subresource": "", "code": 200, "dryRun": false,
    });
    json_patch::merge(&mut whole, &Value::Object(fields));
    let request: Request = strictly("request", &whole)?;
    let requests = repeats.moments().map(|at| Request {
        at: moment(at),
        ..request.clone()
    });
    Ok(requests.collect())
}

/// Reads a member: `profile` is a path (`a` unless given), `looks` are overlays onto a look that agrees with the
/// conforming profile, each with its `at`; one at the beginning unless given.
pub(super) fn member(overlay: &Value) -> Result<Member, Flaw> {
    let mut fields = overlay.as_object().ok_or("a member is a mapping")?.clone();
    fields.insert("profile".to_owned(), reference(&fields, "profile"));
    fields.entry("access").or_insert_with(|| "the example".into());
    let looks = fields.remove("looks").unwrap_or_else(|| json!([{}]));
    let looks = looks.as_array().ok_or("a member's `looks` are a list")?;
    let looks = looks.iter().map(look).collect::<Result<Vec<_>, _>>()?.concat();
    fields.insert("samples".to_owned(), looks.into());
    strictly("member", &fields.into())
}

/// One look, as often as it repeats.
fn look(overlay: &Value) -> Result<Vec<Value>, Flaw> {
    let mut fields = overlay.as_object().ok_or("a look is a mapping")?.clone();
    let repeats = Repeats::take(&mut fields)?;
    let one = |at: SignedDuration| {
        let mut look = conforming(include_str!("conforming/sample.json"), &[]);
        look["from"] = json!(moment(at));
        look["until"] = json!(moment(at.saturating_add(SignedDuration::from_secs(1))));
        json_patch::merge(&mut look, &Value::Object(fields.clone()));
        look
    };
    Ok(repeats.moments().map(one).collect())
}

/// Reads a call of an endpoint; by default it answered 401.
pub(super) fn endpoint_call(overlay: &Value) -> Result<EndpointCall, Flaw> {
    let mut fields = overlay.as_object().ok_or("a call is a mapping")?.clone();
    let at = Repeats::take(&mut fields)?.first();
    fields.insert("profile".to_owned(), reference(&fields, "profile"));
    let mut whole = json!({"at": moment(at), "code": 401, "endpoint": "a.default.example:6443"});
    json_patch::merge(&mut whole, &fields.into());
    strictly("endpoint call", &whole)
}

/// Reads a login with `secret: namespace/name` or `plugin: NAME`; by default it was accepted.
pub(super) fn login(overlay: &Value) -> Result<Login, Flaw> {
    let mut fields = overlay.as_object().ok_or("a login is a mapping")?.clone();
    let at = Repeats::take(&mut fields)?.first();
    fields.insert("profile".to_owned(), reference(&fields, "profile"));
    let with = match (fields.remove("secret"), fields.remove("plugin")) {
        (Some(Value::String(path)), None) => {
            let (namespace, name) = path.split_once('/').unwrap_or(("consumer", &path));
            json!({"secret": {
                "kind": "Secret", "namespace": namespace, "name": name, "uid": format!("uid-{namespace}-{name}"),
            }})
        }
        (None, Some(Value::String(provider))) => json!({"plugin": provider}),
        _ => return Err("a login is with a `secret` or with a `plugin`".into()),
    };
    let outcome = fields.remove("outcome");
    let outcome =
        outcome.unwrap_or_else(|| json!({"answer": "accepted", "user": "consumer", "allPermissions": false}));
    let mut whole = json!({"at": moment(at), "credential": with, "outcome": outcome});
    json_patch::merge(&mut whole, &fields.into());
    strictly("login", &whole)
}

/// Reads the answer to a dry run, by default on the profile `a`.
pub(super) fn probe(overlay: &Value) -> Result<Probe, Flaw> {
    let mut fields = overlay.as_object().ok_or("a probe is a mapping")?.clone();
    let at = Repeats::take(&mut fields)?.first();
    let name = take_text(&mut fields, "name")?;
    let namespace = take_text(&mut fields, "namespace")?;
    let object = profile_reference(
        namespace.as_deref().unwrap_or("default"),
        name.as_deref().unwrap_or("a"),
    );
    let method = fields.remove("method");
    let mut outcome = match text(overlay, &["answer"]) {
        Some("refused") => json!({"code": 422, "reason": "Invalid", "message": "", "fields": []}),
        Some("unanswered") => json!({"code": 403, "message": ""}),
        _ => json!({}),
    };
    json_patch::merge(&mut outcome, &fields.into());
    let probe = json!({"at": moment(at), "object": object, "method": method, "outcome": outcome});
    strictly("probe", &probe)
}

/// Reads a gap `from` and `until` offsets in time. Its `object` is a profile's name, or namespace and name.
pub(super) fn gap(overlay: &Value) -> Result<Gap, Flaw> {
    let mut fields = overlay.as_object().ok_or("a gap is a mapping")?.clone();
    for key in ["from", "until"] {
        if let Some(offset) = fields.get_mut(key) {
            *offset = json!(moment(serde_json::from_value(offset.take())?));
        }
    }
    if fields.contains_key("object") {
        fields.insert("object".to_owned(), reference(&fields, "object"));
    }
    strictly("gap", &fields.into())
}

/// The profile that a path in the example refers to.
fn reference(fields: &Map<String, Value>, key: &str) -> Value {
    let key = path_key(fields.get(key).and_then(Value::as_str).unwrap_or("a"));
    json!(profile_reference(&key.namespace, &key.name))
}

/// Whether a login uses a plugin.
pub(super) fn is_with_plugin(overlay: &Value) -> bool {
    text(overlay, &["plugin"]).is_some()
}

/// Reads a Secret. One whose labels name no profile belongs to the `first` profile.
pub(super) fn secret(overlay: &Value, first: Option<&Value>) -> Result<Secret, Flaw> {
    let mut overlay = overlay.clone();
    let fields = overlay.as_object_mut().ok_or("a secret is a mapping")?;
    let server = take_text(fields, "server")?;
    let token = take_text(fields, "token")?;

    let profile = profile_of(&overlay, first);
    let (profile_name, profile_namespace) = key(&profile);
    let namespace = text(&overlay, &["namespace"]).unwrap_or("consumer").to_owned();
    let name = text(&overlay, &["name"]).unwrap_or(&profile_name).to_owned();
    let server = server.unwrap_or_else(|| format!("https://{profile_name}.{profile_namespace}.example:6443"));
    // Equal tokens have equal digests. By default each Secret has its own token.
    let digest = format!("digest of {}", token.unwrap_or(format!("{namespace}/{name}")));

    let mut whole = conforming(
        include_str!("conforming/secret.json"),
        &[
            ("namespace", &namespace),
            ("name", &name),
            ("profile", &profile_name),
            ("profile namespace", &profile_namespace),
            ("server", &server),
            ("digest", &digest),
        ],
    );
    let keys = overlay.get("keys").and_then(Value::as_array);
    let lacks_config = keys.is_some_and(|keys| !keys.contains(&json!(names::SECRET_CONFIG_KEY)));
    let has_error = |error: &Value| !error.is_null();
    if lacks_config || overlay.get("kubeconfigError").is_some_and(has_error) {
        whole["kubeconfig"] = Value::Null;
    }
    json_patch::merge(&mut whole, &overlay);
    strictly("secret", &whole)
}

/// The named profile, with the fields that a conforming Secret needs.
fn profile_of(overlay: &Value, first: Option<&Value>) -> Value {
    let label = |key: &str| text(overlay, &["labels", key]);
    match label(names::LABEL_SECRET_PROFILE) {
        Some(name) => {
            let namespace = label(names::LABEL_SECRET_PROFILE_NAMESPACE).unwrap_or("default");
            json!({"metadata": {"name": name, "namespace": namespace}})
        }
        None => first.cloned().unwrap_or_default(),
    }
}

fn take_text(fields: &mut Map<String, Value>, key: &str) -> Result<Option<String>, Flaw> {
    Ok(serde_json::from_value(fields.remove(key).unwrap_or_default())?)
}
