//! The members of an example, and logins to them.

use evidence::{EndpointCall, Login, Member};
use jiff::SignedDuration;
use serde_json::{Map, Value, json};

use super::{
    conforming::{self, text},
    error::{Flaw, strictly},
    reference::profile_reference,
    time::{Repeats, moment},
};

/// Reads a member: `profile` is a path (`a` unless given), `looks` are overlays onto a look that agrees with the
/// conforming profile, each with its `at`; one at the beginning unless given.
pub(super) fn member(overlay: &Value) -> Result<Member, Flaw> {
    let mut fields = overlay.as_object().ok_or("a member is a mapping")?.clone();
    fields.insert("profile".to_owned(), reference(&fields, "profile"));
    fields.entry("access").or_insert_with(|| "the example".into());
    let looks = match fields.remove("looks") {
        None => vec![json!({})],
        Some(Value::Array(looks)) => looks,
        Some(_) => return Err("a member's `looks` are a list".into()),
    };
    let looks = looks.iter().map(look).collect::<Result<Vec<_>, _>>()?.concat();
    fields.insert("samples".to_owned(), looks.into());
    strictly("member", &fields.into())
}

/// One look, as often as it repeats.
fn look(overlay: &Value) -> Result<Vec<Value>, Flaw> {
    let mut fields = overlay.as_object().ok_or("a look is a mapping")?.clone();
    let repeats = Repeats::take(&mut fields)?;
    let one = |at: SignedDuration| {
        let mut look = conforming::look();
        look["from"] = json!(moment(at));
        look["until"] = json!(moment(at.saturating_add(SignedDuration::from_secs(1))));
        json_patch::merge(&mut look, &Value::Object(fields.clone()));
        look
    };
    Ok(repeats.moments().map(one).collect())
}

/// Reads a call of an endpoint; by default it answered 401.
pub(super) fn endpoint_call(overlay: &Value) -> Result<EndpointCall, Flaw> {
    let mut fields = overlay
        .as_object()
        .ok_or("an endpoint call is a mapping")?
        .clone();
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

/// The profile that a path in the example refers to.
pub(super) fn reference(fields: &Map<String, Value>, key: &str) -> Value {
    let path = fields.get(key).and_then(Value::as_str).unwrap_or("a");
    let (namespace, name) = path.split_once('/').unwrap_or(("default", path));
    json!(profile_reference(namespace, name))
}

/// Whether a login uses a plugin.
pub(super) fn is_with_plugin(overlay: &Value) -> bool {
    text(overlay, &["plugin"]).is_some()
}
