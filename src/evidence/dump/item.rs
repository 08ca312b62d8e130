//! One object of a dump: its identity, and its unread content.

use std::{borrow::Cow, fmt};

use serde_json::{Value, value::RawValue};

use super::DumpError;
use crate::{ObjectRef, lenient::Untyped};

/// The deepest nesting of lists.
pub(super) const DEEPEST: usize = 8;

/// Receives the findings, one by one.
pub(super) type Sink<'s> = &'s mut dyn FnMut(Found<'_>);

/// A finding in a dump.
pub(super) enum Found<'a> {
    /// An object.
    Item(Item<'a>),
    /// A stretch whose objects are unknown.
    Lost(DumpError),
    /// A list that goes on elsewhere.
    Partial(Partial<'a>),
}

/// A list with a `continue` token: the server has kept back the rest.
pub(super) struct Partial<'a> {
    /// The type of its items; empty for a plain `List`.
    pub items: Types<'a>,
    /// The number of objects in the rest, if the server told it.
    pub remaining: Option<u64>,
    /// The place of the list.
    pub place: Place<'a>,
}

impl<'a> Partial<'a> {
    /// Returns what is missing from a list of that type and `metadata`, if anything.
    pub fn of(types: &Types<'_>, metadata: &Value, place: Place<'a>) -> Option<Self> {
        let token = &metadata["continue"];
        let items = types.of_items();
        let is_partial = !token.is_null() && *token != "";
        is_partial.then(|| Self {
            items: Types {
                api_version: Cow::Owned(items.api_version.into_owned()),
                kind: Cow::Owned(items.kind.into_owned()),
            },
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
    /// Its place; in a YAML list, the place of the list.
    pub place: Place<'a>,
}

/// The unread content of an object.
pub(super) enum Body<'a> {
    /// A stretch of JSON.
    Json(&'a RawValue),
    /// A parsed YAML value.
    Value(Value),
    /// Unusable content.
    Broken(Box<Broken>),
}

/// An object with unusable content.
pub(super) struct Broken {
    /// Its identity, as far as it is known.
    pub object: ObjectRef,
    /// True if it has the label of a consumer's Secret; none if unknown.
    pub labelled: Option<bool>,
    /// What is wrong.
    pub why: DumpError,
}

/// The type of an object or a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Types<'a> {
    pub api_version: Cow<'a, str>,
    pub kind: Cow<'a, str>,
}

/// A stretch of a file.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub file: &'a str,
    /// The whole file.
    pub text: &'a str,
    /// The offsets of bytes that are not UTF-8, in order.
    pub spoilt: &'a [usize],
    pub start: usize,
    pub end: usize,
}

impl Body<'_> {
    /// The content, to be typed.
    ///
    /// # Errors
    /// When it is unusable.
    pub fn untyped(&self) -> Result<Untyped<'_>, &Broken> {
        match self {
            Body::Json(raw) => Ok(Untyped::Text(raw.get().as_bytes())),
            Body::Value(value) => Ok(Untyped::Value(value)),
            Body::Broken(broken) => Err(broken),
        }
    }
}

impl Broken {
    /// Stands for an object of unknown identity.
    pub fn unknown(why: DumpError) -> Box<Self> {
        Box::new(Self {
            object: ObjectRef::default(),
            labelled: None,
            why,
        })
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
            "List" | "ClusterProfileList" | "NamespaceList" | "SecretList"
        )
    }

    /// Returns `true` if a list of this type is truncated: kubectl writes the version first, and the kind after the
    /// items.
    pub fn is_cut(&self) -> bool {
        self.kind.is_empty() && !self.api_version.is_empty()
    }

    /// The type of the items of such a list; empty for a plain `List`.
    pub fn of_items(&self) -> Types<'_> {
        match self.kind.strip_suffix("List") {
            None | Some("") => Types::default(),
            Some(kind) => Types {
                api_version: Cow::Borrowed(&self.api_version),
                kind: Cow::Borrowed(kind),
            },
        }
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

impl<'a> Place<'a> {
    /// The text.
    pub fn document(&self) -> &'a str {
        &self.text[self.start..self.end]
    }

    /// The line of its first content, from 1.
    pub fn line(&self) -> usize {
        let document = self.document();
        self.line_at(document.len() - document.trim_start().len())
    }

    /// The line of an offset in it, from 1.
    pub fn line_at(&self, offset: usize) -> usize {
        let before = &self.text.as_bytes()[..self.start + offset];
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }

    /// The place of a part of it.
    pub fn of(&self, part: &'a str) -> Self {
        // Both are parts of one text, so the difference of their addresses is the offset.
        let start = part.as_ptr() as usize - self.text.as_ptr() as usize;
        Self {
            start,
            end: start + part.len(),
            ..*self
        }
    }

    /// The offset of its first byte that is not UTF-8.
    fn spoilt_at(&self) -> Option<usize> {
        let next = self.spoilt.partition_point(|at| *at < self.start);
        self.spoilt.get(next).copied().filter(|at| *at < self.end)
    }

    /// The error for its bytes that are not UTF-8, if any.
    pub fn spoilt(&self) -> Option<DumpError> {
        let at = self.spoilt_at()?;
        Some(DumpError::Encoding {
            file: self.file.to_owned(),
            line: self.line_at(at - self.start),
            utf16: false,
        })
    }

    /// The number of bytes that are not UTF-8.
    pub fn count_spoilt(&self) -> usize {
        let before = |end: usize| self.spoilt.partition_point(|at| *at < end);
        before(self.end) - before(self.start)
    }

    /// The error for something other than an object.
    pub fn no_object(&self) -> DumpError {
        DumpError::NoObject {
            file: self.file.to_owned(),
            line: self.line(),
        }
    }

    /// The error for a malformed list.
    pub fn no_list(&self) -> DumpError {
        DumpError::NoList {
            file: self.file.to_owned(),
            line: self.line(),
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line())
    }
}
