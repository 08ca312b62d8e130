//! The forms of answers: objects as they are, their metadata only, or a Table. The Accept header says which.

use serde_json::{Value, json};

use super::request::Query;
use crate::object::{
    field::quoted,
    status::{Failure, Outcome},
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
    pub(crate) kind: String,
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

    /// An object's metadata.
    pub(crate) fn metadata_of(&self, object: &Value) -> Value {
        json!({"kind": "PartialObjectMetadata", "apiVersion": self.version, "metadata": object["metadata"]})
    }
}

/// The kind of content that a header tells, without its parameters.
pub(crate) fn media_type(header: &str) -> &str {
    header.split(';').next().unwrap_or_default().trim()
}
