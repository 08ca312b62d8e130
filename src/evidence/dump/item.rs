//! One object of a dump: who it is, and its content unread.

use std::{borrow::Cow, fmt};

use serde::de::DeserializeOwned;
use serde_json::{Value, value::RawValue};

use super::DumpError;

/// What receives the objects, one by one.
pub(super) type Sink<'s> = &'s mut dyn FnMut(Item<'_>) -> Result<(), DumpError>;

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
    /// Enough of it to tell which object it is, and why the rest cannot be trusted.
    Broken(Value, String),
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
    pub start: usize,
    pub end: usize,
}

impl Body<'_> {
    /// Reads it into the shape of its kind.
    pub fn read<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        match self {
            Body::Json(raw) => serde_json::from_str(raw.get()),
            Body::Value(value) | Body::Broken(value, _) => T::deserialize(value),
        }
    }

    /// Reads it without any shape.
    pub fn value(&self) -> Cow<'_, Value> {
        match self {
            // Nothing in it can be read where it nests too deep.
            Body::Json(raw) => Cow::Owned(serde_json::from_str(raw.get()).unwrap_or_default()),
            Body::Value(value) | Body::Broken(value, _) => Cow::Borrowed(value),
        }
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

    /// The error for what is no object.
    pub fn no_object(&self) -> DumpError {
        DumpError::NoObject {
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
