//! The types of objects and lists.

use std::collections::HashMap;

use serde_json::value::RawValue;

use crate::{Kind, api::names};

/// The kinds of objects that a dump has, with the evidence that a list of them is.
pub(super) const LISTS: [(&str, Kind); 4] = [
    (names::KIND, Kind::Inventory),
    (names::PLACEMENT_KIND, Kind::PlacementDecisions),
    ("Namespace", Kind::Namespaces),
    ("Secret", Kind::Secrets),
];

/// The type of an object or a list; an empty part is missing or not text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Types {
    pub api_version: String,
    pub kind: String,
}

impl Types {
    /// The type of an object with these parts.
    pub fn of(parts: &HashMap<String, &RawValue>) -> Self {
        let text = |key| {
            let json = parts.get(key).map(|raw| raw.get()).unwrap_or_default();
            serde_json::from_str(json).unwrap_or_default()
        };
        Self {
            api_version: text("apiVersion"),
            kind: text("kind"),
        }
    }

    /// Returns `true` if an object of this type with `items` is a list.
    pub fn is_list(&self) -> bool {
        self.kind.is_empty() || self.kind.ends_with("List")
    }

    /// Returns `true` if the type alone makes it a list of relevant objects.
    pub fn is_surely_list(&self) -> bool {
        let of = self.kind.strip_suffix("List");
        of.is_some_and(|of| of.is_empty() || LISTS.iter().any(|(kind, _)| *kind == of))
    }

    /// Returns `true` if a list of this type is truncated: kubectl writes the version first, and the kind last.
    pub fn is_cut(&self) -> bool {
        self.kind.is_empty() && !self.api_version.is_empty()
    }

    /// The type of the items of such a list; empty for a plain `List`.
    pub fn of_items(&self) -> Self {
        match self.kind.strip_suffix("List") {
            None | Some("") => Self::default(),
            Some(kind) => Self {
                api_version: self.api_version.clone(),
                kind: kind.to_owned(),
            },
        }
    }

    /// Returns `true` if a list's type could fill in a part.
    pub fn is_incomplete(&self) -> bool {
        self.api_version.is_empty() || self.kind.is_empty()
    }

    /// This type, with the empty parts filled from that of a list's items.
    pub fn or(self, of_list: Option<&Self>) -> Self {
        let either = |text: String, default: &String| if text.is_empty() { default.clone() } else { text };
        match of_list {
            None => self,
            Some(types) => Self {
                api_version: either(self.api_version, &types.api_version),
                kind: either(self.kind, &types.kind),
            },
        }
    }

    /// The group, the version, and the kind.
    pub fn split(&self) -> (&str, &str, &str) {
        let (group, version) = self
            .api_version
            .rsplit_once('/')
            .unwrap_or(("", &self.api_version));
        (group, version, &self.kind)
    }
}
