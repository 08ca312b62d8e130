//! Errors about one field of an object, and the paths that name the field.

use std::fmt;

use serde_json::Value;

/// What is wrong with a field: the `reason` of a status cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Problem {
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
    fn texts(self) -> (&'static str, &'static str) {
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

    /// The reason as the API spells it.
    pub(super) fn reason(self) -> &'static str {
        self.texts().0
    }

    /// Whether rules in CEL are left unchecked once an object has this problem.
    pub(super) fn blocks_rules(self) -> bool {
        !matches!(self, Problem::Duplicate | Problem::Invalid | Problem::Forbidden)
    }
}

/// One field that is wrong, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldError {
    pub(super) problem: Problem,
    pub(super) field: String,
    /// The text of the cause, without the field's name.
    pub(super) message: String,
    /// It was so before: it is warned of and refuses nothing.
    pub(super) tolerated: bool,
}

impl FieldError {
    fn new(problem: Problem, field: impl fmt::Display, value: Option<String>, detail: &str) -> Self {
        let (_, title) = problem.texts();
        let value = value.map_or_else(String::new, |value| format!(": {value}"));
        let before = if detail.is_empty() { "" } else { ": " };
        let field = match field.to_string() {
            field if field.is_empty() => "<nil>".to_owned(),
            field => field,
        };
        Self {
            problem,
            field,
            message: format!("{title}{value}{before}{detail}"),
            tolerated: false,
        }
    }

    pub(super) fn invalid(field: impl fmt::Display, value: &Value, detail: &str) -> Self {
        Self::new(Problem::Invalid, field, Some(value.to_string()), detail)
    }

    /// For values too big to be repeated.
    pub(super) fn invalid_unnamed(field: impl fmt::Display, detail: &str) -> Self {
        Self::new(Problem::Invalid, field, None, detail)
    }

    pub(super) fn invalid_text(field: impl fmt::Display, value: &str, detail: &str) -> Self {
        Self::new(Problem::Invalid, field, Some(quoted(value)), detail)
    }

    /// One error for each thing that is wrong with a text.
    pub(super) fn invalid_each(field: impl fmt::Display, value: &str, wrong: &[String]) -> Vec<Self> {
        let error = |why: &String| Self::invalid_text(&field, value, why);
        wrong.iter().map(error).collect()
    }

    /// For values that are told in a way of their own.
    pub(super) fn invalid_raw(field: impl fmt::Display, value: &str, detail: &str) -> Self {
        Self::new(Problem::Invalid, field, Some(value.to_owned()), detail)
    }

    pub(super) fn type_invalid(field: impl fmt::Display, value: &str, detail: &str) -> Self {
        Self::new(Problem::TypeInvalid, field, Some(quoted(value)), detail)
    }

    pub(super) fn required(field: impl fmt::Display, detail: &str) -> Self {
        Self::new(Problem::Required, field, None, detail)
    }

    pub(super) fn forbidden(field: impl fmt::Display, detail: &str) -> Self {
        Self::new(Problem::Forbidden, field, None, detail)
    }

    pub(super) fn duplicate(field: impl fmt::Display, value: &Value) -> Self {
        Self::new(Problem::Duplicate, field, Some(value.to_string()), "")
    }

    /// For values that are told in a way of their own.
    pub(super) fn duplicate_raw(field: impl fmt::Display, value: &str, detail: &str) -> Self {
        Self::new(Problem::Duplicate, field, Some(value.to_owned()), detail)
    }

    pub(super) fn duplicate_unnamed(field: impl fmt::Display) -> Self {
        Self::new(Problem::Duplicate, field, None, "")
    }

    pub(super) fn not_supported<T: AsRef<str>>(
        field: impl fmt::Display,
        value: &Value,
        supported: &[T],
    ) -> Self {
        let supported: Vec<String> = supported.iter().map(|value| quoted(value.as_ref())).collect();
        let detail = match supported.is_empty() {
            true => String::new(),
            false => format!("supported values: {}", supported.join(", ")),
        };
        Self::new(Problem::NotSupported, field, Some(value.to_string()), &detail)
    }

    /// The error of a text that is none of these.
    pub(super) fn one_of(field: impl fmt::Display, value: &str, supported: &[&str]) -> Option<Self> {
        let is_wrong = !supported.contains(&value);
        is_wrong.then(|| Self::not_supported(field, &value.into(), supported))
    }

    pub(super) fn too_long(field: impl fmt::Display, max: u64) -> Self {
        let unit = if max == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {max} {unit}");
        Self::new(Problem::TooLong, field, None, &detail)
    }

    pub(super) fn too_many(field: impl fmt::Display, actual: Option<u64>, max: u64) -> Self {
        let unit = if max == 1 { "item" } else { "items" };
        let detail = format!("must have at most {max} {unit}");
        let actual = actual.map(|actual| actual.to_string());
        Self::new(Problem::TooMany, field, actual, &detail)
    }
}

/// A text in double quotes.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Where a walk through an object is. Lives on the stack, so that a path costs nothing until an error needs it.
#[derive(Clone, Copy)]
pub(super) struct Path<'a>(Option<(&'a Path<'a>, Step<'a>)>);

#[derive(Clone, Copy)]
enum Step<'a> {
    Child(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> Path<'a> {
    pub(super) const ROOT: Path<'static> = Path(None);

    /// `parent.name`
    pub(super) fn child(&'a self, name: &'a str) -> Path<'a> {
        Path(Some((self, Step::Child(name))))
    }

    /// `parent[3]`
    pub(super) fn index(&'a self, index: usize) -> Path<'a> {
        Path(Some((self, Step::Index(index))))
    }

    /// `parent[key]`
    pub(super) fn key(&'a self, key: &'a str) -> Path<'a> {
        Path(Some((self, Step::Key(key))))
    }
}

/// The alternate form (`{path:#}`) tells keys like fields.
impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((parent, step)) = self.0 else {
            return Ok(());
        };
        parent.fmt(f)?;
        match step {
            Step::Key(key) if !f.alternate() => write!(f, "[{key}]"),
            Step::Child(name) | Step::Key(name) if parent.0.is_none() => f.write_str(name),
            Step::Child(name) | Step::Key(name) => write!(f, ".{name}"),
            Step::Index(index) => write!(f, "[{index}]"),
        }
    }
}
