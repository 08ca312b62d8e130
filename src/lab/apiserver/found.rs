//! Errors, noted as they are found.

use std::fmt::Display;

use serde::Serialize;
use serde_json::json;

use super::field::FieldError;

/// Where errors are noted.
pub(super) trait Found {
    fn note(&mut self, error: FieldError);

    fn required(&mut self, field: impl Display, why: &str) {
        self.note(FieldError::required(field, why));
    }

    fn forbidden(&mut self, field: impl Display, why: &str) {
        self.note(FieldError::forbidden(field, why));
    }

    fn invalid(&mut self, field: impl Display, value: impl Serialize, why: &str) {
        self.note(FieldError::invalid(field, &json!(value), why));
    }

    /// One error for each thing that is wrong with a text.
    fn invalid_each(&mut self, field: impl Display, value: &str, wrong: &[String]) {
        for error in FieldError::invalid_each(field, value, wrong) {
            self.note(error);
        }
    }

    fn not_supported(&mut self, field: impl Display, value: impl Serialize, known: &[impl AsRef<str>]) {
        self.note(FieldError::not_supported(field, &json!(value), known));
    }
}

impl Found for Vec<FieldError> {
    fn note(&mut self, error: FieldError) {
        self.push(error);
    }
}
