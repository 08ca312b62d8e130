//! A write: its object, its manager, its options.

use crate::store::named::Named;

/// What happens to unknown and repeated fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

/// A write: its object, its manager, its options.
#[derive(Clone)]
pub(crate) struct Write<'a> {
    pub(crate) named: &'a Named,
    /// The field manager.
    pub(crate) manager: String,
    /// RFC 3339, in seconds.
    pub(crate) time: String,
    pub(crate) dry_run: bool,
    pub(crate) field_validation: FieldValidation,
    /// An apply that takes fields from other owners.
    pub(crate) force: bool,
}

impl<'a> Write<'a> {
    /// A write with default options.
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
