//! One object of a dump: its type, and its unread content.

use std::borrow::Cow;

use serde_json::{Value, value::RawValue};

use super::{DumpError, place::Place};
use crate::lenient::Untyped;

/// The deepest nesting of lists.
pub(super) const DEEPEST: usize = 8;

/// Receives the findings, one by one.
pub(super) type Sink<'s, 'a> = &'s mut dyn FnMut(Found<'a>);

/// A finding in a dump.
pub(super) enum Found<'a> {
    /// An object.
    Item(Item<'a>),
    /// Something else in place of objects: unknown ones may be missing.
    Misfit(DumpError),
    /// A list that goes on elsewhere.
    Partial(Partial<'a>),
}

/// A list with a `continue` token: the server has kept back the rest.
pub(super) struct Partial<'a> {
    /// The type of its items; empty for a plain `List`.
    pub items: Types<'static>,
    /// The number of objects in the rest, if the server told it.
    pub remaining: Option<u64>,
    /// The place of the list.
    pub place: Place<'a>,
}

impl Found<'_> {
    /// Returns `true` for an object whose type a list could fill in.
    pub fn lacks_type(&self) -> bool {
        matches!(self, Found::Item(item) if item.types.is_incomplete())
    }
}

impl<'a> Partial<'a> {
    /// Returns what is missing from a list of that type and `metadata`, if anything.
    pub fn of(types: &Types<'_>, metadata: &Value, place: Place<'a>) -> Option<Self> {
        let token = &metadata["continue"];
        let is_partial = !token.is_null() && *token != "";
        is_partial.then(|| Self {
            items: types.of_items(),
            remaining: metadata["remainingItemCount"].as_u64(),
            place,
        })
    }
}

/// An object of a dump.
pub(super) struct Item<'a> {
    /// Its API version and kind, or those of its list.
    pub types: Types<'a>,
    /// Its content.
    pub body: Body<'a>,
    /// Its place; in a list within a list of YAML, the place of the latter's item.
    pub place: Place<'a>,
}

/// The unread content of an object.
pub(super) enum Body<'a> {
    /// A stretch of JSON.
    Json(&'a RawValue),
    /// A parsed YAML value.
    Value(Value),
    /// Something other than an object.
    NoObject,
}

/// The type of an object or a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Types<'a> {
    pub api_version: Cow<'a, str>,
    pub kind: Cow<'a, str>,
}

impl Body<'_> {
    /// The content, to be typed; `None` for anything but an object.
    pub fn untyped(&self) -> Option<Untyped<'_>> {
        match self {
            Body::Json(raw) => Some(Untyped::Text(raw.get().as_bytes())),
            Body::Value(value) => Some(Untyped::Value(value)),
            Body::NoObject => None,
        }
    }
}

impl<'a> Types<'a> {
    /// The type of an object; empty if it has none.
    pub fn of(value: &Value) -> Types<'static> {
        let text = |key: &str| Cow::Owned(value[key].as_str().unwrap_or_default().to_owned());
        Types {
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
        matches!(
            &*self.kind,
            "List" | "ClusterProfileList" | "NamespaceList" | "PlacementDecisionList" | "SecretList"
        )
    }

    /// Returns `true` if a list of this type is truncated: kubectl writes the version first, and the kind after the
    /// items.
    pub fn is_cut(&self) -> bool {
        self.kind.is_empty() && !self.api_version.is_empty()
    }

    /// The type of the items of such a list; empty for a plain `List`.
    pub fn of_items(&self) -> Types<'static> {
        match self.kind.strip_suffix("List") {
            None | Some("") => Types::default(),
            Some(kind) => Types {
                api_version: Cow::Owned(self.api_version.to_string()),
                kind: Cow::Owned(kind.to_owned()),
            },
        }
    }

    /// The same type, without its text.
    pub fn into_owned(self) -> Types<'static> {
        Types {
            api_version: Cow::Owned(self.api_version.into_owned()),
            kind: Cow::Owned(self.kind.into_owned()),
        }
    }

    /// Returns `true` if a list's type could fill in a part.
    pub fn is_incomplete(&self) -> bool {
        self.api_version.is_empty() || self.kind.is_empty()
    }

    /// This type, with the empty parts filled from `those`.
    pub fn or(self, those: &Types<'a>) -> Types<'a> {
        let either =
            |this: Cow<'a, str>, that: &Cow<'a, str>| if this.is_empty() { that.clone() } else { this };
        Types {
            api_version: either(self.api_version, &those.api_version),
            kind: either(self.kind, &those.kind),
        }
    }
}
