//! One object of a dump: who it is, and its content unread.

use std::{borrow::Cow, fmt};

use serde_json::{Value, value::RawValue};

use super::DumpError;
use crate::{ObjectRef, lenient::Untyped};

/// How deep lists may lie within lists.
pub(super) const DEEPEST: usize = 8;

/// What receives the objects, one by one, and what is no object.
pub(super) type Sink<'s> = &'s mut dyn FnMut(Found<'_>);

/// Something that was found in a dump.
pub(super) enum Found<'a> {
    /// An object.
    Item(Item<'a>),
    /// A stretch of which nobody can tell which objects are in it.
    Lost(DumpError),
}

/// An object of a dump.
pub(super) struct Item<'a> {
    /// Its API version and kind, or what its list tells of them.
    pub types: Types<'a>,
    /// Its content.
    pub body: Body<'a>,
    /// Where it stands; of an object in a YAML list, where the list does.
    pub place: Place<'a>,
}

/// The content of an object, not read yet.
pub(super) enum Body<'a> {
    /// A stretch of JSON.
    Json(&'a RawValue),
    /// What YAML made of it.
    Value(Value),
    /// What cannot be trusted.
    Broken(Box<Broken>),
}

/// An object that cannot be trusted.
pub(super) struct Broken {
    /// Which one it is, as far as it can be made out.
    pub object: ObjectRef,
    /// Whether it has the label of a consumer's Secret, where that is known.
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
    /// Where bytes were no UTF-8, in order.
    pub spoilt: &'a [usize],
    pub start: usize,
    pub end: usize,
}

impl Body<'_> {
    /// As it can be read.
    ///
    /// # Errors
    /// Where that is of no use.
    pub fn untyped(&self) -> Result<Untyped<'_>, &Broken> {
        match self {
            Body::Json(raw) => Ok(Untyped::Text(raw.get().as_bytes())),
            Body::Value(value) => Ok(Untyped::Value(value)),
            Body::Broken(broken) => Err(broken),
        }
    }
}

impl Broken {
    /// Of something that does not tell what it is.
    pub fn unknown(why: DumpError) -> Box<Self> {
        Box::new(Self {
            object: ObjectRef::default(),
            labelled: None,
            why,
        })
    }
}

impl<'a> Types<'a> {
    /// Those of an object; empty where it tells none.
    pub fn of(value: &Value) -> Types<'static> {
        let text = |key: &str| Cow::Owned(value[key].as_str().unwrap_or_default().to_owned());
        Types {
            api_version: text("apiVersion"),
            kind: text("kind"),
        }
    }

    /// Whether an object of this type is a list of objects, where it has `items`.
    pub fn is_list(&self) -> bool {
        self.kind.is_empty() || self.kind.ends_with("List")
    }

    /// Whether it is a list of objects that are of use, whatever it has.
    pub fn is_surely_list(&self) -> bool {
        matches!(
            &*self.kind,
            "List" | "ClusterProfileList" | "NamespaceList" | "SecretList"
        )
    }

    /// Whether a list of this type lacks its end: kubectl tells the version first, and the kind behind the items.
    pub fn is_cut(&self) -> bool {
        self.kind.is_empty() && !self.api_version.is_empty()
    }

    /// What a list of this type tells of its items: a plain `List` nothing.
    pub fn of_items(&self) -> Types<'_> {
        match self.kind.strip_suffix("List") {
            None | Some("") => Types::default(),
            Some(kind) => Types {
                api_version: Cow::Borrowed(&self.api_version),
                kind: Cow::Borrowed(kind),
            },
        }
    }

    /// These, or where they are empty those.
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
    /// What stands there.
    pub fn document(&self) -> &'a str {
        &self.text[self.start..self.end]
    }

    /// The line of its first content, from 1.
    pub fn line(&self) -> usize {
        let document = self.document();
        self.line_at(document.len() - document.trim_start().len())
    }

    /// The line of an offset within it, from 1.
    pub fn line_at(&self, offset: usize) -> usize {
        let before = &self.text.as_bytes()[..self.start + offset];
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }

    /// Where a part of it stands.
    pub fn of(&self, part: &'a str) -> Self {
        // Both are of one text, so the distance of their addresses is the offset.
        let start = part.as_ptr() as usize - self.text.as_ptr() as usize;
        Self {
            start,
            end: start + part.len(),
            ..*self
        }
    }

    /// Where the first byte is that is no UTF-8, if there is one.
    fn spoilt_at(&self) -> Option<usize> {
        let next = self.spoilt.partition_point(|at| *at < self.start);
        self.spoilt.get(next).copied().filter(|at| *at < self.end)
    }

    /// The error for bytes that are no UTF-8, where there are any.
    pub fn spoilt(&self) -> Option<DumpError> {
        let at = self.spoilt_at()?;
        Some(DumpError::Encoding {
            file: self.file.to_owned(),
            line: self.line_at(at - self.start),
            utf16: false,
        })
    }

    /// How many bytes are no UTF-8.
    pub fn count_spoilt(&self) -> usize {
        let before = |end: usize| self.spoilt.partition_point(|at| *at < end);
        before(self.end) - before(self.start)
    }

    /// The error for what is no object.
    pub fn no_object(&self) -> DumpError {
        DumpError::NoObject {
            file: self.file.to_owned(),
            line: self.line(),
        }
    }

    /// The error for a list whose items are none.
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
