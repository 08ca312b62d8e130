//! What a run records apart from profiles and slices. A record of an example is a merge patch onto a conforming one, with the keys
//! of the evidence file. Times are offsets from the base, and profiles are paths.

use std::sync::LazyLock;

use evidence::{
    DriverAction, ObjectKey, Window,
    api::{ClusterProfile, ObjectKind, Role, names},
};
use jiff::SignedDuration;
use serde_json::{Map, Value, json};

use super::{
    BoxedError,
    objects::{MANAGER, SCHEDULER, conforming, path_key, reference, text},
    times::{Times, moment, take},
};

pub(super) type Fields = Map<String, Value>;

pub(super) type ReadRecord = fn(Fields) -> Result<Value, BoxedError>;

pub(super) fn mapping(record: &Value) -> Result<Fields, BoxedError> {
    let fields = record.as_object().cloned();
    fields.ok_or_else(|| format!("{record} is not a mapping").into())
}

/// The entries of a list; none if it is absent.
pub(super) fn entries(list: &Option<Value>) -> &[Value] {
    list.as_ref().and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub(super) fn patched(mut whole: Value, patch: impl Into<Value>) -> Value {
    json_patch::merge(&mut whole, &patch.into());
    whole
}

/// Reads a list of records: `read` gets the fields of each occurrence with its time `at`.
pub(super) fn each_record(
    records: &[Value],
    mut read: impl FnMut(Fields) -> Result<Value, BoxedError>,
) -> Result<Vec<Value>, BoxedError> {
    let mut list = Vec::new();
    for record in records {
        let mut fields = mapping(record)?;
        let times = Times::take(&mut fields)?;
        write_times(&mut fields, &["from", "until", "calledAt"]);
        for (_, at) in times.each() {
            let mut fields = fields.clone();
            fields.insert("at".to_owned(), json!(moment(at)));
            list.push(read(fields)?);
        }
    }
    Ok(list)
}

fn write_times(fields: &mut Fields, keys: &[&str]) {
    for key in keys {
        if let Some(time) = fields.get_mut(*key)
            && let Ok(offset) = serde_json::from_value(time.clone())
        {
            *time = json!(moment(offset));
        }
    }
}

/// Replaces a path by a reference to the profile there.
fn refer(fields: &mut Fields, key: &str, default: Option<&str>) {
    if let Some(path) = fields.get(key).map_or(default, Value::as_str) {
        let profile = json!(reference(names::KIND, path));
        fields.insert(key.to_owned(), profile);
    }
}

/// Reads requests. Those that say less are by the manager on the first profile, or by the scheduler on the first slice.
pub(super) fn requests(records: &[Value], covers: Window, role: Role) -> Result<Value, BoxedError> {
    let (user, name) = match role.objects() {
        ObjectKind::ClusterProfile => (MANAGER, "a"),
        ObjectKind::PlacementDecision => (SCHEDULER, "web-0"),
    };
    let events = each_record(records, |fields| {
        let agent = fields.get("user").and_then(Value::as_str).unwrap_or(user);
        let whole = json!({
            "verb": "patch", "user": user, "userAgent": agent, "namespace": "default", "name": name,
            "subresource": "", "code": 200, "dryRun": false,
        });
        Ok(patched(whole, fields))
    })?;
    Ok(json!({"covers": covers, "events": events}))
}

/// Reads a member. Its `samples` are merge patches onto one that agrees with the conforming profile; by default, there is one at
/// the beginning.
pub(super) fn member(mut fields: Fields) -> Result<Value, BoxedError> {
    fields.remove("at");
    refer(&mut fields, "profile", Some("a"));
    let samples = fields.remove("samples").unwrap_or_else(|| json!([{}]));
    let samples = each_record(entries(&Some(samples)), |mut sample| {
        let at: jiff::Timestamp = serde_json::from_value(sample.remove("at").unwrap_or_default())?;
        let whole = conforming(include_str!("conforming/sample.json"), &[]);
        let times = json!({"from": at, "until": at + SignedDuration::from_secs(1)});
        Ok(patched(patched(whole, times), sample))
    })?;
    fields.insert("samples".to_owned(), samples.into());
    Ok(patched(json!({"access": "the example"}), fields))
}

/// Reads a call of an endpoint; by default it answered 401.
pub(super) fn endpoint_call(mut fields: Fields) -> Result<Value, BoxedError> {
    refer(&mut fields, "profile", Some("a"));
    let whole = json!({"code": 401, "endpoint": "a.default.example:6443"});
    Ok(patched(whole, fields))
}

/// Reads a login with a `secret` (namespace and name) or a `plugin`; by default it was accepted.
pub(super) fn login(mut fields: Fields) -> Result<Value, BoxedError> {
    refer(&mut fields, "profile", Some("a"));
    let outcome = json!({"answer": "accepted", "user": "consumer", "allPermissions": false});
    fields.entry("outcome").or_insert(outcome);
    let mut login = Value::from(fields);
    if let Some(secret) = login.pointer_mut("/credential/secret") {
        *secret = json!(reference("Secret", secret.as_str().unwrap_or_default()));
    }
    Ok(login)
}

/// Reads the answer to a dry run.
pub(super) fn probe(mut fields: Fields) -> Result<Value, BoxedError> {
    refer(&mut fields, "object", Some("a"));
    Ok(fields.into())
}

/// Reads a gap. Its `object` is a profile.
pub(super) fn gap(mut fields: Fields) -> Result<Value, BoxedError> {
    fields.remove("at");
    refer(&mut fields, "object", None);
    Ok(fields.into())
}

/// Reads a Secret. One whose labels name no profile belongs to the `first` profile.
pub(super) fn secret(overlay: &Value, first: Option<&ClusterProfile>) -> Value {
    let field = |path: &[&str]| text(overlay, path).map(str::to_owned);
    let profile = match field(&["labels", names::LABEL_SECRET_PROFILE]) {
        Some(name) => {
            let namespace = field(&["labels", names::LABEL_SECRET_PROFILE_NAMESPACE]);
            ObjectKey::new(namespace.as_deref().unwrap_or("default"), &name)
        }
        None => first.map_or_else(|| path_key("a"), ObjectKey::of),
    };
    let namespace = field(&["namespace"]).unwrap_or_else(|| "consumer".to_owned());
    let name = field(&["name"]).unwrap_or_else(|| profile.name.clone());
    let server = format!("https://{}.{}.example:6443", profile.name, profile.namespace);
    // Equal tokens have equal digests. By default each Secret has its own token.
    let digest = format!("digest of {namespace}/{name}");
    let values: [(&str, &str); 6] = [
        ("namespace", &namespace),
        ("name", &name),
        ("profile", &profile.name),
        ("profile namespace", &profile.namespace),
        ("server", &server),
        ("digest", &digest),
    ];
    let whole = conforming(include_str!("conforming/secret.json"), &values);
    patched(whole, overlay.clone())
}

/// What is known of a driver's step by its action.
static STEPS: LazyLock<Value> = LazyLock::new(|| conforming(include_str!("conforming/steps.json"), &[]));

/// Reads a driver's steps. Every action was available. The profiles and slices that the run wrote to are paths.
pub(super) fn driver(driver: &Value) -> Result<Value, BoxedError> {
    let mut fields = mapping(driver)?;
    let steps = fields.remove("steps");
    let steps = entries(&steps).iter().map(record);
    let steps: Vec<Value> = steps.collect::<Result<_, _>>()?;
    let mut keys = |key: &str| -> Result<Vec<ObjectKey>, BoxedError> {
        let paths: Option<Vec<String>> = take(&mut fields, key)?;
        Ok(paths.iter().flatten().map(|path| path_key(path)).collect())
    };
    let whole = json!({
        "run": "example", "availableActions": DriverAction::ALL, "steps": steps,
        "writtenProfiles": keys("touched")?, "writtenPlacementDecisions": keys("touchedSlices")?,
    });
    Ok(patched(whole, fields))
}

/// Reads a step. It begins `at` a time and ends immediately, and the run observes it for the two minutes of its patience.
fn record(step: &Value) -> Result<Value, BoxedError> {
    let action = text(step, &["action"]).unwrap_or_default();
    let mut fields = mapping(&patched(STEPS[action].clone(), step.clone()))?;
    let from: SignedDuration = take(&mut fields, "at")?.ok_or("a step of the driver has a time")?;
    let until = take(&mut fields, "until")?.unwrap_or(from);
    let end = take(&mut fields, "observedUntil")?;
    let end = end.unwrap_or(until.saturating_add(SignedDuration::from_mins(2)));
    let member = fields.get("profile").and_then(Value::as_str).unwrap_or("a");
    let whole = json!({
        "member": path_key(member).name, "from": moment(from), "until": moment(until), "outcome": {"result": "done"},
        "patienceSeconds": 120, "observedUntil": moment(end),
    });
    refer(&mut fields, "profile", None);
    refer(&mut fields, "profileAfter", None);
    if let Some(slice) = fields.get_mut("placementDecision") {
        let path = slice.as_str().unwrap_or_default();
        *slice = json!(reference(names::PLACEMENT_KIND, path));
    }
    Ok(patched(whole, fields))
}
