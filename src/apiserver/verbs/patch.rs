//! Patches: merge (RFC 7396), JSON (RFC 6902) within kube-apiserver's limits, strategic merge, apply.

use bytes::Bytes;
use json_patch::{AddOperation, PatchOperation, jsonptr::Pointer};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    context::Context,
    fields::{
        apply::applied,
        managed_fields::{WriteRequest, track},
        merge::ValueSchema,
        strategic,
    },
    object::{
        field::ErrorCollector,
        json,
        json::{MAX_DEPTH, ParsedBody},
        meta,
        status::{HandlerResult, Qualified, StatusFailure},
    },
    request::Reply,
    store::{resource::Family, route::Route},
    verbs::{
        options::APPLY_PATCH,
        read::current,
        update::check_name,
        write::{Nulls, ensure_namespace, fit, wipe_system_fields},
    },
};

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";

impl Context<'_> {
    pub(crate) fn patch(&mut self, route: &Route, body: &Bytes) -> HandlerResult<Reply> {
        let media_type = self.content_type;
        let kinds: &[&str] = match route.resource.family {
            Family::Custom => &[JSON_PATCH, MERGE_PATCH, APPLY_PATCH],
            _ => &[JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH],
        };
        if !kinds.contains(&media_type) {
            return Err(StatusFailure::unsupported_media_type(kinds));
        }
        let is_apply = media_type == APPLY_PATCH;
        let write = self.write_of(route, "PatchOptions")?;
        let undecodable = |why: &str| match media_type {
            STRATEGIC_PATCH => StatusFailure::bad_request(why),
            APPLY_PATCH => StatusFailure::bad_request(format!("error decoding YAML: {why}")),
            _ => StatusFailure::bad_request(format!("error decoding patch: {why}")),
        };
        let mut document = json::read(body, is_apply).map_err(|error| undecodable(&error.to_string()))?;
        self.entry.request(&document.value);
        let mut storage = self.state.storage();
        let current_object = current(&storage, route);
        if is_apply && document.value.is_null() {
            document.value = json!({});
        } else if !is_apply && let Err(not_found) = current_object {
            return Err(not_found);
        }
        if !document.value.is_object() && media_type != JSON_PATCH {
            return Err(undecodable("json: cannot unmarshal into a map"));
        }
        let live = current_object.as_ref().map(|live| live.object());
        let name = &route.target.name;
        let mut object = match live {
            Ok(live) if !is_apply => self.change(live, document, &write)?,
            live => {
                let fit_merged = |merged| match fit(route, merged, Nulls::Kept) {
                    Ok((object, _)) => Ok(object),
                    Err(why) => Err(StatusFailure::internal(why)),
                };
                let object = applied(live.ok(), &document.value, &write, fit_merged)?;
                let complained = self.complain(write.field_validation, document.repeated);
                complained.map_err(|why| {
                    let why = format!("error strict decoding YAML: error converting YAML to JSON: {why}");
                    StatusFailure::bad_request(why)
                })?;
                object
            }
        };
        let uid = meta::text(&object, "uid");
        if current_object.is_err() && !uid.is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            return Err(StatusFailure::conflict(route.resource.qualified(), name, &why));
        }
        ensure_namespace(&mut object, route.namespace())?;
        check_name(&object, name)?;
        match current_object {
            Ok(current) => {
                if !is_apply {
                    track(Some(current.object()), &mut object, &write);
                }
                let stored = self.replace(&mut storage, &write, current, object)?;
                Ok(Reply::json(200, stored.bytes()))
            }
            Err(not_found) if !route.target.subresource.is_empty() => Err(not_found),
            Err(_) => {
                wipe_system_fields(&mut object);
                self.insert(&mut storage, &write, object)
            }
        }
    }

    /// Applies a patch other than server-side apply.
    fn change(&mut self, live: &Value, patch: ParsedBody, write: &WriteRequest<'_>) -> HandlerResult<Value> {
        let (route, media_type) = (write.route, self.content_type);
        let (patch, repeated) = (patch.value, patch.repeated);
        let is_strategic = media_type == STRATEGIC_PATCH;
        let mut patched = live.clone();
        match (&mut patched, &patch) {
            _ if media_type == JSON_PATCH => apply_json_patch(&mut patched, &patch)?,
            (Value::Object(fields), Value::Object(patch)) if is_strategic => {
                // Go's struct tags say which lists are merged. CRDs have none for their own.
                let has_tags = route.resource.family != Family::Definition;
                let of = ValueSchema::object(has_tags.then_some(&*route.version().schema));
                *fields = strategic::merge(std::mem::take(fields), patch.clone(), of)?;
            }
            _ => ::json_patch::merge(&mut patched, &patch),
        }
        let text = if is_strategic { &patch } else { &patched }.to_string();
        let invalid = |why: &str| {
            let mut errors = Vec::new();
            errors.invalid("patch", &text, why);
            StatusFailure::invalid(Qualified::new("", ""), "", &errors)
        };
        let Value::Object(patched) = patched else {
            return Err(invalid("json: cannot unmarshal into an object"));
        };
        let (object, unknown) =
            fit(route, patched, Nulls::Dropped).map_err(|why| invalid(&why.to_string()))?;
        let complaints = repeated.into_iter().chain(unknown).collect();
        let complained = self.complain(write.field_validation, complaints);
        complained.map_err(|why| invalid(&format!("strict decoding error: {why}")))?;
        Ok(object)
    }
}

/// The maximum number of operations.
const MAX_OPERATIONS: usize = 10_000;
/// The maximum size of what `copy` operations copy in all, in bytes of JSON: 22 of them could otherwise make gigabytes of
/// a small object.
const MAX_COPIED: usize = 3 * 1024 * 1024;

/// Applies a patch.
fn apply_json_patch(object: &mut Value, patch: &Value) -> HandlerResult<()> {
    let Some(operations) = patch.as_array() else {
        let why = "error decoding patch: json: cannot unmarshal object into Go value of type \
                   []handlers.jsonPatchOp";
        return Err(StatusFailure::bad_request(why));
    };
    let count = operations.len();
    if count > MAX_OPERATIONS {
        return Err(StatusFailure::too_large(&format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {count}"
        )));
    }
    let mut copied = 0;
    let patch = json_patch::Patch::deserialize(patch);
    if patch.is_ok_and(|patch| {
        let mut operations = patch.0.into_iter();
        operations.all(|operation| apply(object, operation, &mut copied))
    }) {
        return Ok(());
    }
    let why = "the server rejected our request due to an error in our request";
    Err(StatusFailure::new(422, "Invalid", why).with(json!({})))
}

/// Applies an operation, and adds what it copies. Returns false if it fails.
fn apply(object: &mut Value, operation: PatchOperation, copied: &mut usize) -> bool {
    let operation = match operation {
        // A test treats a missing field as null.
        PatchOperation::Test(test) if test.value.is_null() && is_new_field(object, &test.path) => {
            return true;
        }
        // kube-apiserver adds a missing field on replace.
        PatchOperation::Replace(replace) if is_new_field(object, &replace.path) => {
            PatchOperation::Add(AddOperation {
                path: replace.path,
                value: replace.value,
            })
        }
        operation => operation,
    };
    if let PatchOperation::Copy(copy) = &operation
        && let Some(source) = object.pointer(copy.from.as_str())
    {
        *copied += source.to_string().len();
        if *copied > MAX_COPIED {
            return false;
        }
    }
    let placed = match &operation {
        PatchOperation::Add(add) => Some((&add.path, Some(&add.value))),
        PatchOperation::Replace(replace) => Some((&replace.path, Some(&replace.value))),
        PatchOperation::Copy(copy) => Some((&copy.path, object.pointer(copy.from.as_str()))),
        PatchOperation::Move(moved) if moved.path.count() > moved.from.count() => {
            Some((&moved.path, object.pointer(moved.from.as_str())))
        }
        PatchOperation::Move(_) | PatchOperation::Remove(_) | PatchOperation::Test(_) => None,
    };
    // What lies deeper could not be read again, and copies would soon be deep enough to end the stack.
    if placed.is_some_and(|(path, value)| path.count() + value.map_or(0, depth) > MAX_DEPTH) {
        return false;
    }
    json_patch::patch(object, &[operation]).is_ok()
}

fn is_new_field(object: &Value, path: &Pointer) -> bool {
    let parent = path.parent().and_then(|parent| object.pointer(parent.as_str()));
    parent.is_some_and(Value::is_object) && object.pointer(path.as_str()).is_none()
}

/// How many lists and maps lie within each other.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}
