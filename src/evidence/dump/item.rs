//! One object of a dump: its identity, and its unread content.

use std::{borrow::Cow, fmt};

use serde_json::{Value, value::RawValue};

use super::DumpError;
use crate::{ObjectRef, json_list::line_breaks, lenient::Untyped};

/// The deepest nesting of lists.
pub(super) const DEEPEST: usize = 8;

/// Receives the findings, one by one.
pub(super) type Sink<'s, 'a> = &'s mut dyn FnMut(Found<'a>);

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

/// What was cut out of a list, for the lines behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CutOut {
    /// The number of lines before it.
    pub after: usize,
    /// The number of its lines.
    pub lines: usize,
}

impl CutOut {
    /// The line in the file of a line of the rest, both from 1.
    pub fn line(self, place: Place<'_>, line: usize) -> usize {
        let before = line.saturating_sub(1);
        let more = if before >= self.after { self.lines } else { 0 };
        place.first_line + before + more
    }
}

/// The type of an object or a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Types<'a> {
    pub api_version: Cow<'a, str>,
    pub kind: Cow<'a, str>,
}

/// A part of a stretch of a file.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub file: &'a str,
    /// The line in which the stretch begins, from 1.
    pub first_line: usize,
    /// The stretch.
    pub text: &'a str,
    /// The offsets of its bytes that are not UTF-8, in order.
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

impl<'a> Place<'a> {
    /// The place of a whole stretch.
    pub fn whole(file: &'a str, first_line: usize, text: &'a str, spoilt: &'a [usize]) -> Self {
        Self {
            file,
            first_line,
            text,
            spoilt,
            start: 0,
            end: text.len(),
        }
    }

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
        self.first_line + line_breaks(&self.text.as_bytes()[..self.start + offset])
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

    /// The error for text that cannot be parsed.
    pub fn syntax(&self, line: usize, language: &'static str, message: impl Into<String>) -> DumpError {
        DumpError::Syntax {
            file: self.file.to_owned(),
            line,
            language,
            message: message.into(),
        }
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
