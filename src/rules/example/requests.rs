//! An example's audit log.

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{conforming::MANAGER, error::strictly, time::moment};
use crate::evidence::{Request, Requests, Window};

/// Reads all requests, those that repeat as often as they do, in the order of time.
pub(super) fn all(texts: &[Value], covers: Window) -> Result<Requests, String> {
    let mut events = Vec::new();
    for text in texts {
        events.extend(repeated(text)?);
    }
    events.sort_by_key(|event| event.at);
    match events
        .iter()
        .all(|event| covers.from <= event.at && event.at <= covers.until)
    {
        true => Ok(Requests { covers, events }),
        false => Err("a request lies outside of the observed time".to_owned()),
    }
}

fn repeated(text: &Value) -> Result<Vec<Request>, String> {
    let mut fields = text.as_object().ok_or("a request is a mapping")?.clone();
    let mut duration = |key: &str| match fields.remove(key) {
        None => Ok(None),
        Some(value) => serde_json::from_value::<SignedDuration>(value)
            .map(Some)
            .map_err(|error| format!("a request's `{key}`: {error}")),
    };
    let first = duration("at")?.unwrap_or_default();
    let every = duration("every")?;
    let times = match fields.remove("times") {
        None => 1,
        Some(value) => value
            .as_u64()
            .and_then(|times| i32::try_from(times).ok())
            .ok_or("a request's `times` is a number")?,
    };
    if (times > 1) != every.is_some() {
        return Err("a request that repeats has both `every` and `times`".to_owned());
    }
    let mut whole = json!({
        "at": moment(first), "verb": "patch", "user": MANAGER, "userAgent": MANAGER,
        "namespace": "default", "name": "a", "subresource": "", "code": 200, "dryRun": false,
    });
    json_patch::merge(&mut whole, &Value::Object(fields));
    let request: Request = strictly("request", &whole)?;
    let every = every.unwrap_or_default();
    let at = |time: i32| moment(first.saturating_add(every.saturating_mul(time)));
    Ok((0..times)
        .map(|time| Request {
            at: at(time),
            ..request.clone()
        })
        .collect())
}
