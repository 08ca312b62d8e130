//! The forms of answers: objects as they are, their metadata only, or a Table. The Accept header says which.

use serde_json::{Value, json};

use super::body::{Reply, ReplyBody};
use super::context::Named;
use super::request::Query;
use super::status::{Failure, Outcome};
use super::table::{self, Look};

/// One of the kinds of answer that an Accept header allows: `application/json;as=Table;g=meta.k8s.io;v=v1`.
pub(super) struct Wish<'a>(&'a str);

impl<'a> Wish<'a> {
    /// All wishes of an Accept header, in its order. No header is no wish in particular.
    pub(super) fn all(accept: &'a str) -> impl Iterator<Item = Self> {
        let accept = if accept.trim().is_empty() { "*/*" } else { accept };
        accept.split(',').map(Self)
    }

    /// Whether JSON will do.
    pub(super) fn is_json(&self) -> bool {
        let kind = self.0.split(';').next().unwrap_or_default().trim();
        matches!(kind, "application/json" | "application/*" | "*/*")
    }

    /// What to convert the answer to: its kind, group and version; the kind is empty when it is good as it is.
    pub(super) fn conversion(&self) -> (&'a str, &'a str, &'a str) {
        let parameter = |name: &str| {
            let mut parameters = self.0.split(';').filter_map(|pair| pair.trim().split_once('='));
            parameters
                .find(|(key, _)| *key == name)
                .map_or("", |(_, value)| value)
        };
        (parameter("as"), parameter("g"), parameter("v"))
    }
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
        let mut wishes = Wish::all(accept).filter(Wish::is_json);
        let form = wishes.find_map(|wish| {
            let version = match wish.conversion() {
                ("", ..) => return Some(Ok(Self::Objects)),
                (_, "meta.k8s.io", "v1") => "meta.k8s.io/v1",
                (_, "meta.k8s.io", "v1beta1") => "meta.k8s.io/v1beta1",
                _ => return None,
            };
            Some(Ok(match wish.conversion().0 {
                "Table" => match Look::read(version, query) {
                    Ok(look) => Self::Table(look),
                    Err(failure) => return Some(Err(failure)),
                },
                "PartialObjectMetadata" => Self::Metadata {
                    version,
                    of_list: false,
                },
                "PartialObjectMetadataList" => Self::Metadata {
                    version,
                    of_list: true,
                },
                _ => return None,
            }))
        });
        form.unwrap_or_else(|| Err(Failure::not_acceptable(&["application/json"])))
    }

    /// The reply in this form.
    pub(super) fn reply(&self, reply: Reply, named: &Named, now: jiff::Timestamp) -> Outcome<Reply> {
        let (ReplyBody::Json(bytes), false) = (&reply.body, matches!(self, Self::Objects)) else {
            return Ok(reply);
        };
        let Ok(mut answer) = serde_json::from_slice::<Value>(bytes) else {
            return Ok(reply);
        };
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
        Ok(Reply {
            body: ReplyBody::Json(formed.to_string().into()),
            ..reply
        })
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
