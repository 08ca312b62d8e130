//! Renders answers in the requested form: objects as they are, their metadata, or a Table.

use serde_json::{Value, json};

use super::table;
use crate::{
    object::status::{Failure, Outcome},
    request::{
        form::Form,
        reply::{Reply, ReplyBody},
    },
    store::named::Named,
};

impl Form {
    /// Renders a reply.
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
            // Lists of built-in resources have no empty `continue`.
            fields.retain(|name, value| name != "continue" || value != "");
        }
        let formed = match (self.kind.as_str(), answer["items"].as_array()) {
            ("Table", Some(items)) => table::of(self, named, items, metadata, true, now),
            ("PartialObjectMetadataList", Some(items)) => {
                let items: Vec<Value> = items.iter().map(|item| self.metadata_of(item)).collect();
                // kube-apiserver writes null instead of an empty list.
                let items = (!items.is_empty()).then_some(items);
                json!({"kind": self.kind, "apiVersion": self.version, "metadata": metadata, "items": items})
            }
            (_, Some(_)) => {
                let why = "you requested PartialObjectMetadata, but the requested object is a list";
                return Err(Failure::new(406, "NotAcceptable", why));
            }
            ("PartialObjectMetadataList", None) => {
                return Err(Failure::internal("content is not a list"));
            }
            (_, None) => self.object(&answer, named, now, true),
        };
        let body = ReplyBody::Json(formed.to_string().into());
        Ok(Reply { body, ..reply })
    }

    /// Renders one object. In a watch, only the first Table has column definitions.
    pub(crate) fn object(&self, object: &Value, named: &Named, now: jiff::Timestamp, first: bool) -> Value {
        if self.kind != "Table" {
            return self.metadata_of(object);
        }
        let metadata = json!({"resourceVersion": object["metadata"]["resourceVersion"]});
        table::of(self, named, std::slice::from_ref(object), metadata, first, now)
    }
}
