//! Answers in the form that the request asks for: objects as they are, their metadata alone, or a Table.

use serde_json::{Value, json};

use super::table;
use crate::{
    http::{
        body::{Reply, ReplyBody},
        form::Form,
    },
    object::status::{Failure, Outcome},
    store::{
        named::Named,
        resource::{Family, Resource},
    },
};

impl Form {
    /// The reply in this form.
    pub(crate) fn reply(&self, reply: Reply, named: &Named, now: jiff::Timestamp) -> Outcome<Reply> {
        let (ReplyBody::Json(bytes), false) = (&reply.body, self.is_plain()) else {
            return Ok(reply);
        };
        let answer: Value = serde_json::from_slice(bytes).unwrap_or_default();
        if answer["kind"] == "Status" {
            return Ok(reply);
        }
        let mut metadata = answer["metadata"].clone();
        if let Some(fields) = metadata.as_object_mut() {
            // Lists of the server's own resources do not have it to begin with.
            fields.retain(|name, value| name != "continue" || value != "");
        }
        let formed = match (self.kind.as_str(), answer["items"].as_array()) {
            ("Table", Some(items)) => table::of(self, named, items, metadata, true, now),
            ("PartialObjectMetadataList", Some(items)) => {
                let items: Vec<Value> = items.iter().map(|item| self.metadata_of(item)).collect();
                // Of none, a real server writes null.
                let items = (!items.is_empty()).then_some(items);
                json!({"kind": self.kind, "apiVersion": self.version, "metadata": metadata, "items": items})
            }
            (_, Some(_)) => return Err(list_not_acceptable(&named.resource)),
            ("PartialObjectMetadataList", None) => {
                return Err(Failure::internal("content is not a list"));
            }
            (_, None) => self.object(&answer, named, now, true),
        };
        let body = ReplyBody::Json(formed.to_string().into());
        Ok(Reply { body, ..reply })
    }

    /// One object in this form. Of the Tables of a watch only the first tells its columns.
    pub(crate) fn object(&self, object: &Value, named: &Named, now: jiff::Timestamp, first: bool) -> Value {
        if self.kind != "Table" {
            return self.metadata_of(object);
        }
        let metadata = json!({"resourceVersion": object["metadata"]["resourceVersion"]});
        table::of(self, named, std::slice::from_ref(object), metadata, first, now)
    }
}

/// For lists that are wanted as the metadata of one object.
fn list_not_acceptable(resource: &Resource) -> Box<Failure> {
    let (package, kind) = match resource.group.split('.').next().unwrap_or_default() {
        _ if resource.family == Family::Custom => ("unstructured", "UnstructuredList"),
        "" | "events" => ("core", resource.list_kind.as_str()),
        package => (package, resource.list_kind.as_str()),
    };
    let list = format!("*{package}.{kind}");
    let why = format!("you requested PartialObjectMetadata, but the requested object is a list ({list})");
    Failure::new(406, "NotAcceptable", why)
}
