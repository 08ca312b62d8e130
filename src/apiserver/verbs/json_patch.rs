//! JSON patches (RFC 6902), within kube-apiserver's limits.

use json_patch::{AddOperation, PatchOperation, jsonptr::Pointer};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::object::{
    json::MAX_DEPTH,
    status::{Failure, Outcome},
};

/// The maximum number of operations.
const MAX_OPERATIONS: usize = 10_000;
/// The maximum size of what `copy` operations copy in all, in bytes of JSON: 22 of them could otherwise make gigabytes of
/// a small object.
const MAX_COPIED: usize = 3 * 1024 * 1024;

/// Applies a patch.
pub(super) fn apply_json_patch(object: &mut Value, patch: &Value) -> Outcome<()> {
    let Some(operations) = patch.as_array() else {
        let why = "error decoding patch: json: cannot unmarshal object into Go value of type \
                   []handlers.jsonPatchOp";
        return Err(Failure::bad_request(why));
    };
    let count = operations.len();
    if count > MAX_OPERATIONS {
        return Err(Failure::too_large(&format!(
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
    Err(Failure::new(422, "Invalid", why).with(json!({})))
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
