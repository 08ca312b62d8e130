//! The form that the Accept header asks for: objects as they are, their metadata, or a Table.

use serde_json::{Value, json};

use crate::{
    object::{
        field::quoted,
        status::{Failure, Outcome},
    },
    request::info::Query,
};

/// The JSON forms that an Accept header allows, in order: kind, group and version, as in
/// `application/json;as=Table;g=meta.k8s.io;v=v1`. An empty kind stands for unchanged objects.
pub(crate) fn conversions(accept: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    // No header accepts anything.
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

/// The form of an answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Form {
    /// `Table`, `PartialObjectMetadata` or a list of that. Empty for unchanged objects.
    pub(crate) kind: String,
    pub(crate) version: String,
    /// What the rows of a Table contain of the object: `Metadata` by default.
    pub(crate) include: String,
}

impl Form {
    /// The first form in the Accept header that the server supports.
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

    /// True if objects stay unchanged.
    pub(crate) fn is_plain(&self) -> bool {
        self.kind.is_empty()
    }

    /// An object's metadata.
    pub(crate) fn metadata_of(&self, object: &Value) -> Value {
        json!({"kind": "PartialObjectMetadata", "apiVersion": self.version, "metadata": object["metadata"]})
    }
}

/// The media type in a header, without parameters.
pub(crate) fn media_type(header: &str) -> &str {
    header.split(';').next().unwrap_or_default().trim()
}
