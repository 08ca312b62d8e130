//! An example's audit log.

use evidence::{
    Request, Requests, Window,
    api::{ObjectKind, Role},
};
use serde_json::{Value, json};

use super::{
    conforming::MANAGER,
    error::{Flaw, strictly},
    slices::SCHEDULER,
    time::{Repeats, moment},
};

/// Reads all requests, repeated ones as often as they occur, in order of time. Those that say less are by the manager on
/// the first profile, or by the scheduler on the first slice.
pub(super) fn all(texts: &[Value], covers: Window, role: Role) -> Result<Requests, Flaw> {
    let (user, name) = match role.objects() {
        ObjectKind::ClusterProfile => (MANAGER, "a"),
        ObjectKind::PlacementDecision => (SCHEDULER, "web-0"),
    };
    let mut events = Vec::new();
    for text in texts {
        events.extend(repeated(text, user, name)?);
    }
    events.sort_by_key(|event| event.at);
    if events
        .iter()
        .all(|event| covers.from <= event.at && event.at <= covers.until)
    {
        Ok(Requests { covers, events })
    } else {
        Err("a request lies outside of the observed time".into())
    }
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
    Ok(repeats
        .moments()
        .map(|at| Request {
            at: moment(at),
            ..request.clone()
        })
        .collect())
}
