//! Field errors, collected while an object is checked, and the paths that name fields.

use std::fmt::{self, Display};

use serde::Serialize;
use serde_json::{Value, json};

/// What is wrong with a field: the `reason` of a status cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    Required,
    Duplicate,
    Invalid,
    NotSupported,
    Forbidden,
    TooLong,
    TooMany,
    TypeInvalid,
}

impl Problem {
    /// The reason as the API spells it, and what messages begin with.
    pub(crate) fn texts(self) -> (&'static str, &'static str) {
        match self {
            Problem::Required => ("FieldValueRequired", "Required value"),
            Problem::Duplicate => ("FieldValueDuplicate", "Duplicate value"),
            Problem::Invalid => ("FieldValueInvalid", "Invalid value"),
            Problem::NotSupported => ("FieldValueNotSupported", "Unsupported value"),
            Problem::Forbidden => ("FieldValueForbidden", "Forbidden"),
            Problem::TooLong => ("FieldValueTooLong", "Too long"),
            Problem::TooMany => ("FieldValueTooMany", "Too many"),
            Problem::TypeInvalid => ("FieldValueTypeInvalid", "Invalid value"),
        }
    }

    /// True if CEL rules are not evaluated for an object with this problem.
    pub(crate) fn blocks_rules(self) -> bool {
        !matches!(self, Problem::Duplicate | Problem::Invalid | Problem::Forbidden)
    }
}

/// One field that is wrong, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub(crate) struct FieldError {
    pub(crate) problem: Problem,
    pub(crate) field: String,
    /// The cause's message, without the field's name.
    pub(crate) message: String,
    /// The value was wrong before this change: the error becomes a warning.
    pub(crate) tolerated: bool,
}

/// The errors of an object.
pub(crate) type Errors = Vec<FieldError>;

/// Collects errors.
pub(crate) trait ErrorCollector {
    /// Adds an error about `field`. `value` is how the message shows the value, if it does.
    fn note(&mut self, problem: Problem, field: impl Display, value: Option<String>, why: &str);

    fn required(&mut self, field: impl Display, why: &str) {
        self.note(Problem::Required, field, None, why);
    }

    fn forbidden(&mut self, field: impl Display, why: &str) {
        self.note(Problem::Forbidden, field, None, why);
    }

    fn invalid(&mut self, field: impl Display, value: impl Serialize, why: &str) {
        self.note(Problem::Invalid, field, Some(shown(&json!(value))), why);
    }

    /// Adds one error for each complaint of `rule` about a text.
    fn judge(&mut self, field: impl Display, text: &str, rule: impl Fn(&str) -> Vec<String>) {
        for why in rule(text) {
            self.invalid(&field, text, &why);
        }
    }

    fn duplicate(&mut self, field: impl Display, value: &Value) {
        self.note(Problem::Duplicate, field, Some(shown(value)), "");
    }

    fn not_supported(&mut self, field: impl Display, value: impl Serialize, allowed: &[impl AsRef<str>]) {
        let names: Vec<String> = allowed.iter().map(|name| quoted(name.as_ref())).collect();
        let why = if names.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", names.join(", "))
        };
        let value = Some(shown(&json!(value)));
        self.note(Problem::NotSupported, field, value, &why);
    }

    /// Adds an error unless `text` is one of `allowed`.
    fn one_of(&mut self, field: impl Display, text: &str, allowed: &[&str]) {
        if !allowed.contains(&text) {
            self.not_supported(field, text, allowed);
        }
    }

    fn too_long(&mut self, field: impl Display, max: i64) {
        let unit = if max == 1 { "byte" } else { "bytes" };
        let why = format!("may not be more than {max} {unit}");
        self.note(Problem::TooLong, field, None, &why);
    }

    fn too_many(&mut self, field: impl Display, count: i64, max: i64) {
        let unit = if max == 1 { "item" } else { "items" };
        let why = format!("must have at most {max} {unit}");
        self.note(Problem::TooMany, field, Some(count.to_string()), &why);
    }
}

impl ErrorCollector for Errors {
    fn note(&mut self, problem: Problem, field: impl Display, value: Option<String>, why: &str) {
        let (_, title) = problem.texts();
        let value = value.map_or_else(String::new, |value| format!(": {value}"));
        let before = if why.is_empty() { "" } else { ": " };
        let field = match field.to_string() {
            field if field.is_empty() => "<nil>".to_owned(),
            field => field,
        };
        self.push(FieldError {
            problem,
            field,
            message: format!("{title}{value}{before}{why}"),
            tolerated: false,
        });
    }
}

/// A text in double quotes. Letters outside of ASCII may be escaped otherwise than in Go.
pub(crate) fn quoted(text: &str) -> String {
    format!("{text:?}")
}

/// A value in a message: a text in quotes, anything else as JSON.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

/// The path of a walk through an object. It lives on the stack and costs nothing until an error prints it.
#[derive(Clone, Copy)]
pub(crate) struct Path<'a>(Option<(&'a Path<'a>, PathElement<'a>)>);

#[derive(Clone, Copy)]
enum PathElement<'a> {
    Child(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> Path<'a> {
    pub(crate) const ROOT: Path<'static> = Path(None);

    /// True for the path of the whole object.
    pub(crate) fn is_root(&self) -> bool {
        self.0.is_none()
    }

    /// `parent.name`
    pub(crate) fn child(&'a self, name: &'a str) -> Path<'a> {
        Path(Some((self, PathElement::Child(name))))
    }

    /// `parent[3]`
    pub(crate) fn index(&'a self, index: usize) -> Path<'a> {
        Path(Some((self, PathElement::Index(index))))
    }

    /// `parent[key]`
    pub(crate) fn key(&'a self, key: &'a str) -> Path<'a> {
        Path(Some((self, PathElement::Key(key))))
    }
}

/// The alternate form (`{path:#}`) writes map keys like fields.
impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((parent, step)) = self.0 else {
            return Ok(());
        };
        parent.fmt(f)?;
        match step {
            PathElement::Key(key) if !f.alternate() => write!(f, "[{key}]"),
            PathElement::Child(name) | PathElement::Key(name) if parent.0.is_none() => f.write_str(name),
            PathElement::Child(name) | PathElement::Key(name) => write!(f, ".{name}"),
            PathElement::Index(index) => write!(f, "[{index}]"),
        }
    }
}
