//! A write: of what, by whom, and how.

use crate::store::named::Named;

/// What is done about fields that the schema does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

impl FieldValidation {
    /// What a reader of YAML says of fields that stand twice: a strict one all at once.
    pub(crate) fn yaml_complaints(self, repeated: Vec<String>) -> Vec<String> {
        match self {
            FieldValidation::Strict if !repeated.is_empty() => {
                vec![format!("yaml: unmarshal errors:\n  {}", repeated.join("\n  "))]
            }
            _ => repeated,
        }
    }
}

/// A write: of what, by whom, and how.
#[derive(Clone)]
pub(crate) struct Write<'a> {
    pub(crate) named: &'a Named,
    /// Who then owns the fields.
    pub(crate) manager: String,
    /// RFC 3339, in seconds.
    pub(crate) time: String,
    pub(crate) dry_run: bool,
    pub(crate) field_validation: FieldValidation,
    /// For an apply: other owners do not matter.
    pub(crate) force: bool,
}

impl<'a> Write<'a> {
    /// A write of which nothing special is demanded.
    pub(crate) fn new(named: &'a Named, manager: &str, time: &str) -> Self {
        Self {
            named,
            manager: manager.to_owned(),
            time: time.to_owned(),
            dry_run: false,
            field_validation: FieldValidation::Warn,
            force: false,
        }
    }
}
