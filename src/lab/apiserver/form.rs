//! The forms of answers: objects as they are, their metadata only, or a Table. The Accept header says which.

use serde_json::{Value, json};

use super::body::{Reply, ReplyBody};
use super::context::{Named, media_type};
use super::request::Query;
use super::status::{Failure, Outcome};
use super::table::{self, Look};

/// What an Accept header lets an answer in JSON be, in its order: its kind, group and version, of
/// `application/json;as=Table;g=meta.k8s.io;v=v1`. The kind is empty where the answer is good as it is.
pub(super) fn conversions(accept: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    // No header is no wish in particular.
    let accept = if accept.trim().is_empty() { "*/*" } else { accept };
    let wishes = accept.split(',');
    let wishes =
        wishes.filter(|wish| matches!(media_type(wish), "application/json" | "application/*" | "*/*"));
    wishes.map(|wish| {
        let parameter = |name: &str| {
            let mut parameters = wish.split(';').filter_map(|pair| pair.trim().split_once('='));
            let found = parameters.find(|(key, _)| *key == name);
            found.map_or("", |(_, value)| value)
        };
        (parameter("as"), parameter("g"), parameter("v"))
    })
}

/// What becomes of an object, or of a list of them, on its way out.
#[derive(Clone, Debug)]
pub(super) enum Form {
    Objects,
    /// `PartialObjectMetadata`, or a list of it, in this version.
    Metadata {
        version: &'static str,
        of_list: bool,
    },
    Table(Look),
}

impl Form {
    /// The first wish that can be fulfilled. Only JSON is spoken; other kinds may be wished for, as long as it will do.
    pub(super) fn wanted(accept: &str, query: &Query) -> Outcome<Self> {
        for (kind, group, version) in conversions(accept) {
            let version = match (group, version) {
                _ if kind.is_empty() => return Ok(Self::Objects),
                ("meta.k8s.io", "v1") => "meta.k8s.io/v1",
                ("meta.k8s.io", "v1beta1") => "meta.k8s.io/v1beta1",
                _ => continue,
            };
            let of_list = kind == "PartialObjectMetadataList";
            match kind {
                "Table" => return Ok(Self::Table(Look::read(version, query)?)),
                "PartialObjectMetadata" | "PartialObjectMetadataList" => {
                    return Ok(Self::Metadata { version, of_list });
                }
                _ => {}
            }
        }
        Err(Failure::not_acceptable(&["application/json"]))
    }

    /// The reply in this form.
    pub(super) fn reply(&self, reply: Reply, named: &Named, now: jiff::Timestamp) -> Outcome<Reply> {
        let (ReplyBody::Json(bytes), false) = (&reply.body, matches!(self, Self::Objects)) else {
            return Ok(reply);
        };
        let mut answer: Value = serde_json::from_slice(bytes).unwrap_or_default();
        if answer["kind"] == "Status" {
            return Ok(reply);
        }
        // Lists of the server's own resources do not have it to begin with.
        if answer["metadata"]["continue"] == ""
            && let Some(fields) = answer["metadata"].as_object_mut()
        {
            fields.remove("continue");
        }
        let formed = match (self, answer["items"].as_array()) {
            (Self::Table(look), Some(items)) => {
                table::of(look, named, items, answer["metadata"].clone(), true, now)
            }
            (
                Self::Metadata {
                    version,
                    of_list: true,
                },
                Some(items),
            ) => {
                let items: Vec<Value> = items.iter().map(|item| metadata_of(version, item)).collect();
                // Of none, a real server writes null.
                let items = (!items.is_empty()).then_some(items);
                json!({
                    "kind": "PartialObjectMetadataList", "apiVersion": version, "metadata": answer["metadata"],
                    "items": items,
                })
            }
            (Self::Metadata { .. }, Some(_)) => return Err(Failure::list_not_acceptable(&named.resource)),
            (Self::Metadata { of_list: true, .. }, None) => {
                return Err(Failure::new(500, "", "content is not a list"));
            }
            _ => self.object(&answer, named, now, true),
        };
        let body = ReplyBody::Json(formed.to_string().into());
        Ok(Reply { body, ..reply })
    }

    /// One object in this form. Of the Tables of a watch only the first tells its columns.
    pub(super) fn object(&self, object: &Value, named: &Named, now: jiff::Timestamp, first: bool) -> Value {
        match self {
            Self::Objects => object.clone(),
            Self::Metadata { version, .. } => metadata_of(version, object),
            Self::Table(look) => {
                let metadata = json!({"resourceVersion": object["metadata"]["resourceVersion"]});
                table::of(look, named, std::slice::from_ref(object), metadata, first, now)
            }
        }
    }
}

/// An object's metadata.
pub(super) fn metadata_of(version: &str, object: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": version, "metadata": object["metadata"]})
}
