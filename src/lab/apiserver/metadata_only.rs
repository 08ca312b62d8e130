//! Answers for clients that want the metadata only: `as=PartialObjectMetadata` in the Accept header.

use serde_json::{Value, json};

use super::body::{Reply, ReplyBody};

const API_VERSION: &str = "meta.k8s.io/v1";

/// Whether the first wish that JSON can fulfil is for metadata.
pub(super) fn is_wanted(accept: &str) -> bool {
    let mut wishes = accept.split(',').map(str::trim);
    let json = wishes.find(|wish| wish.starts_with("application/json"));
    json.is_some_and(|wish| wish.contains("as=PartialObjectMetadata"))
}

/// The reply, reduced.
pub(super) fn reduced(reply: Reply) -> Reply {
    let ReplyBody::Json(bytes) = &reply.body else {
        return reply;
    };
    let Ok(mut answer) = serde_json::from_slice::<Value>(bytes) else {
        return reply;
    };
    let reduced = match answer["items"].as_array() {
        Some(items) => {
            // Of none, a real server writes null.
            let items = (!items.is_empty()).then(|| items.iter().map(of).collect::<Vec<Value>>());
            let mut metadata = answer["metadata"].take();
            // Lists of the server's own resources do not have it to begin with.
            if metadata["continue"] == ""
                && let Some(fields) = metadata.as_object_mut()
            {
                fields.remove("continue");
            }
            json!({
                "kind": "PartialObjectMetadataList", "apiVersion": API_VERSION, "metadata": metadata, "items": items,
            })
        }
        None if answer["kind"] == "Status" => return reply,
        None => of(&answer),
    };
    Reply {
        body: ReplyBody::Json(reduced.to_string().into()),
        ..reply
    }
}

/// An object's metadata.
pub(super) fn of(object: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": API_VERSION, "metadata": object["metadata"]})
}
