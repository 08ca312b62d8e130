//! The forms of answers: objects as they are, their metadata only, or a Table. The Accept header says which.

use serde_json::{Value, json};

use super::{
    body::{Reply, ReplyBody},
    context::{Named, media_type},
    request::Query,
};
use crate::{
    object::{
        field::quoted,
        status::{Failure, Outcome},
    },
    verbs::table,
};

/// What an Accept header lets an answer in JSON be, in its order: its kind, group and version, of
/// `application/json;as=Table;g=meta.k8s.io;v=v1`. The kind is empty where the answer is good as it is.
pub(crate) fn conversions(accept: &str) -> impl Iterator<Item = (&str, &str, &str)> {
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
#[derive(Clone, Debug, Default)]
pub(crate) struct Form {
    /// `Table`, `PartialObjectMetadata` or a list of that. Empty for objects as they are.
    kind: String,
    pub(crate) version: String,
    /// What each row of a Table tells of its object besides the cells: `Metadata` unless told otherwise.
    pub(crate) include: String,
}

impl Form {
    /// The first wish that can be fulfilled. Only JSON is spoken; other kinds may be wished for, as long as it will do.
    pub(crate) fn wanted(accept: &str, query: &Query) -> Outcome<Self> {
        let include = query.get("includeObject").to_owned();
        let mut wishes = conversions(accept);
        let wish = wishes.find(|(kind, group, version)| match *kind {
            "" => true,
            "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList" => {
                *group == "meta.k8s.io" && matches!(*version, "v1" | "v1beta1")
            }
            _ => false,
        });
        match wish {
            None => Err(Failure::not_acceptable(&["application/json"])),
            Some(("", ..)) => Ok(Self::default()),
            Some(("Table", ..)) if !matches!(include.as_str(), "" | "None" | "Metadata" | "Object") => {
                let include = quoted(&include);
                Err(Failure::bad_request(format!(
                    "Unable to convert to Table as requested: includeObject: Invalid value: {include}: must be \
                     'Metadata', 'Object', 'None', or empty"
                )))
            }
            Some((kind, group, version)) => Ok(Self {
                kind: kind.to_owned(),
                version: format!("{group}/{version}"),
                include,
            }),
        }
    }

    /// Whether objects stay as they are.
    pub(crate) fn is_plain(&self) -> bool {
        self.kind.is_empty()
    }

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
            (_, Some(_)) => return Err(Failure::list_not_acceptable(&named.resource)),
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

    /// An object's metadata.
    pub(crate) fn metadata_of(&self, object: &Value) -> Value {
        json!({"kind": "PartialObjectMetadata", "apiVersion": self.version, "metadata": object["metadata"]})
    }
}
