//! Patches: merge patches (RFC 7396), JSON patches (RFC 6902), and those of Kubernetes.

use bytes::Bytes;
use json_patch::jsonptr::Pointer;
use json_patch::{AddOperation, PatchOperation};
use serde_json::Value;

use super::body::Reply;
use super::context::{Context, Named, media_type};
use super::field::FieldError;
use super::json;
use super::merge::Type;
use super::merge_errors::go_text;
use super::options::{FieldValidation, WriteOptions};
use super::read::namespace;
use super::request::Target;
use super::resource::Family;
use super::status::{Failure, Outcome, Qualified};
use super::strategic;
use super::update::{check_name, current};
use super::write::{Nulls, ensure_namespace, fit};

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
const APPLY_PATCH: &str = "application/apply-patch+yaml";
/// A JSON patch may not have more operations than this.
const MAX_OPERATIONS: usize = 10_000;

impl Context<'_> {
    pub(super) fn patch(&mut self, named: &Named, target: &Target, body: &Bytes) -> Outcome<Reply> {
        let media_type = media_type(&self.content_type).to_owned();
        let kinds: &[&str] = match named.resource.family {
            Family::Custom => &[JSON_PATCH, MERGE_PATCH, APPLY_PATCH],
            _ => &[JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH],
        };
        if !kinds.contains(&media_type.as_str()) {
            return Err(Failure::unsupported_media_type(kinds));
        }
        let is_apply = media_type == APPLY_PATCH;
        let options = WriteOptions::read_patch(&self.info.query, self.agent, is_apply)?;
        if is_apply {
            return self.apply(named, target, &options, body);
        }
        let is_strategic = media_type == STRATEGIC_PATCH;
        let undecodable = |why: &str| match is_strategic {
            true => Failure::bad_request(why),
            false => Failure::bad_request(format!("error decoding patch: {why}")),
        };
        let json::Document {
            value: patch,
            repeated,
        } = json::read(body).map_err(|error| undecodable(&error.to_string()))?;
        self.entry.request(&patch);
        let mut storage = self.server.storage();
        let current = current(&storage, named, target)?;
        let mut patched = current.object().clone();
        match (&mut patched, &patch) {
            _ if media_type == JSON_PATCH => apply_json_patch(&mut patched, &patch)?,
            (Value::Object(fields), Value::Object(patch)) if is_strategic => {
                // Which lists are merged is told by tags of Go, which a definition's own lists do not have.
                let schema =
                    (named.resource.family != Family::Definition).then_some(&*named.version().schema);
                let merged = strategic::merge(std::mem::take(fields), patch.clone(), Type::object(schema))?;
                *fields = merged;
            }
            (_, Value::Object(_)) => json_patch::merge(&mut patched, &patch),
            _ => return Err(undecodable("json: cannot unmarshal into a map")),
        }
        let text = match is_strategic {
            true => go_text(&patch, false),
            false => patched.to_string(),
        };
        let invalid = |why: &str| {
            let error = FieldError::invalid_text("patch", &text, why);
            let subject = Qualified {
                group: "",
                resource: "",
            };
            Failure::invalid(subject, "", &[error])
        };
        let Value::Object(patched) = patched else {
            return Err(invalid("json: cannot unmarshal into an object"));
        };
        let mut decoded = fit(named, patched, Nulls::Dropped).map_err(|why| invalid(&why))?;
        decoded.repeated = repeated;
        if options.field_validation == FieldValidation::Strict && !decoded.is_strictly_good() {
            return Err(invalid(&decoded.strict_error()));
        }
        self.warnings.extend(decoded.warnings(options.field_validation));
        let mut object = decoded.object;
        check_name(&object, &target.name)?;
        ensure_namespace(&mut object, namespace(named, target))?;
        self.put(&mut storage, named, target, &options, current, object)
    }
}

fn apply_json_patch(object: &mut Value, patch: &Value) -> Outcome<()> {
    let operations = patch.as_array().map_or(0, Vec::len);
    if operations > MAX_OPERATIONS {
        return Err(Failure::too_large(format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {operations}"
        )));
    }
    if !patch.is_array() {
        let why = "error decoding patch: json: cannot unmarshal object into Go value of type \
                   []handlers.jsonPatchOp";
        return Err(Failure::bad_request(why));
    }
    let applied = match serde_json::from_value::<json_patch::Patch>(patch.clone()) {
        Ok(patch) => patch.0.into_iter().all(|operation| apply(object, operation)),
        Err(_) => false,
    };
    applied.then_some(()).ok_or_else(|| {
        let mut failure = Failure::new(
            422,
            "Invalid",
            "the server rejected our request due to an error in our request",
        );
        failure.details = Some(Value::Object(serde_json::Map::new()));
        failure
    })
}

/// Whether the operation could be done.
fn apply(object: &mut Value, operation: PatchOperation) -> bool {
    let operation = match operation {
        // What is not there is null to it.
        PatchOperation::Test(test) if test.value.is_null() && is_new_field(object, &test.path) => {
            return true;
        }
        // To the real server, replacing a field that an object does not have is adding it.
        PatchOperation::Replace(replace) if is_new_field(object, &replace.path) => {
            PatchOperation::Add(AddOperation {
                path: replace.path,
                value: replace.value,
            })
        }
        operation => operation,
    };
    json_patch::patch(object, &[operation]).is_ok()
}

fn is_new_field(object: &Value, path: &Pointer) -> bool {
    let parent = path.parent().and_then(|parent| object.pointer(parent.as_str()));
    parent.is_some_and(Value::is_object) && object.pointer(path.as_str()).is_none()
}
