//! Patches: merge (RFC 7396), JSON (RFC 6902), strategic merge, apply.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    json_patch::apply_json_patch,
    options::APPLY_PATCH,
    read::current,
    update::check_name,
    write::{Nulls, ensure_namespace, fit, wipe_system_fields},
};
use crate::{
    context::request::Context,
    fields::{apply::applied, managed_fields::track, merge::Type, strategic, write::Write},
    object::{
        field::Found,
        json,
        json::Document,
        meta,
        status::{Failure, Outcome, Qualified},
    },
    request::reply::Reply,
    store::{named::Named, resource::Family},
};

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";

impl Context<'_> {
    pub(crate) fn patch(&mut self, named: &Named, body: &Bytes) -> Outcome<Reply> {
        let media_type = self.content_type;
        let kinds: &[&str] = match named.resource.family {
            Family::Custom => &[JSON_PATCH, MERGE_PATCH, APPLY_PATCH],
            _ => &[JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH],
        };
        if !kinds.contains(&media_type) {
            return Err(Failure::unsupported_media_type(kinds));
        }
        let is_apply = media_type == APPLY_PATCH;
        let write = self.write_of(named, "PatchOptions")?;
        let undecodable = |why: &str| match media_type {
            STRATEGIC_PATCH => Failure::bad_request(why),
            APPLY_PATCH => Failure::bad_request(format!("error decoding YAML: {why}")),
            _ => Failure::bad_request(format!("error decoding patch: {why}")),
        };
        let mut document = json::read(body, is_apply).map_err(|error| undecodable(&error.to_string()))?;
        self.entry.request(&document.value);
        let mut storage = self.state.storage();
        let found = current(&storage, named);
        if is_apply && document.value.is_null() {
            document.value = json!({});
        } else if !is_apply && let Err(missing) = found {
            return Err(missing);
        }
        if !document.value.is_object() && media_type != JSON_PATCH {
            return Err(undecodable("json: cannot unmarshal into a map"));
        }
        let live = found.as_ref().map(|live| live.object());
        let name = &named.target.name;
        let mut object = match live {
            Ok(live) if !is_apply => self.change(live, document, &write)?,
            live => {
                let fit_merged = |merged| match fit(named, merged, Nulls::Kept) {
                    Ok((object, _)) => Ok(object),
                    Err(why) => Err(Failure::internal(why)),
                };
                let object = applied(live.ok(), &document.value, &write, fit_merged)?;
                let complained = self.complain(write.field_validation, document.repeated);
                complained.map_err(|why| {
                    let why = format!("error strict decoding YAML: error converting YAML to JSON: {why}");
                    Failure::bad_request(why)
                })?;
                object
            }
        };
        let uid = meta::text(&object, "uid");
        if found.is_err() && !uid.is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            return Err(Failure::conflict(named.resource.qualified(), name, &why));
        }
        ensure_namespace(&mut object, named.namespace())?;
        check_name(&object, name)?;
        match found {
            Ok(current) => {
                if !is_apply {
                    track(Some(current.object()), &mut object, &write);
                }
                let stored = self.replace(&mut storage, &write, current, object)?;
                Ok(Reply::json(200, stored.bytes()))
            }
            Err(missing) if !named.target.subresource.is_empty() => Err(missing),
            Err(_) => {
                wipe_system_fields(&mut object);
                self.insert(&mut storage, &write, object)
            }
        }
    }

    /// Applies a patch other than server-side apply.
    fn change(&mut self, live: &Value, patch: Document, write: &Write<'_>) -> Outcome<Value> {
        let (named, media_type) = (write.named, self.content_type);
        let (patch, repeated) = (patch.value, patch.repeated);
        let is_strategic = media_type == STRATEGIC_PATCH;
        let mut patched = live.clone();
        match (&mut patched, &patch) {
            _ if media_type == JSON_PATCH => apply_json_patch(&mut patched, &patch)?,
            (Value::Object(fields), Value::Object(patch)) if is_strategic => {
                // Go's struct tags say which lists are merged. CRDs have none for their own.
                let has_tags = named.resource.family != Family::Definition;
                let of = Type::object(has_tags.then_some(&*named.version().schema));
                *fields = strategic::merge(std::mem::take(fields), patch.clone(), of)?;
            }
            _ => ::json_patch::merge(&mut patched, &patch),
        }
        let text = if is_strategic { &patch } else { &patched }.to_string();
        let invalid = |why: &str| {
            let mut errors = Vec::new();
            errors.invalid("patch", &text, why);
            Failure::invalid(Qualified::new("", ""), "", &errors)
        };
        let Value::Object(patched) = patched else {
            return Err(invalid("json: cannot unmarshal into an object"));
        };
        let (object, unknown) =
            fit(named, patched, Nulls::Dropped).map_err(|why| invalid(&why.to_string()))?;
        let complaints = repeated.into_iter().chain(unknown).collect();
        let complained = self.complain(write.field_validation, complaints);
        complained.map_err(|why| invalid(&format!("strict decoding error: {why}")))?;
        Ok(object)
    }
}
