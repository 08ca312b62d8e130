//! An example's audit log.

use evidence::{Request, Requests, Window};
use serde_json::{Value, json};

use super::{
    conforming::MANAGER,
    error::{Flaw, strictly},
    time::{Repeats, moment},
};

/// Reads all requests, repeated ones as often as they occur, in order of time.
pub(super) fn all(texts: &[Value], covers: Window) -> Result<Requests, Flaw> {
    let mut events = Vec::new();
    for text in texts {
        events.extend(repeated(text)?);
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

fn repeated(text: &Value) -> Result<Vec<Request>, Flaw> {
    let mut fields = text.as_object().ok_or("a request is a mapping")?.clone();
    let repeats = Repeats::take(&mut fields)?;
    let mut whole = json!({
        "at": moment(repeats.first()), "verb": "patch", "user": MANAGER, "userAgent": MANAGER,
        "namespace": "default", "name": "a", "subresource": "", "code": 200, "dryRun": false,
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
