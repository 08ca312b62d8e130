//! Finds leaked credentials in text.
//!
//! Rules and the redaction ([`super::redact`]) need different certainty: rules must not raise false alarms, and the
//! redaction may remove too much. So each find has a [`Grade`]. The scanner looks into JSON, YAML and base64.

mod finds;
mod keys;
mod patterns;
mod scan;
mod values;

pub(super) use finds::finds;
pub(super) use keys::{grade_field, grade_number};
pub use patterns::OWN_CREDENTIAL;
pub use scan::{leaks_in_text, leaks_under};
pub(super) use scan::{options, variable};

#[cfg(test)]
mod tests;

/// How certain a find is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grade {
    /// It has the position of a credential, but may be anything: enough to redact it.
    Shaped,
    /// It may be a credential, or the name of one: enough for a warning.
    Possible,
    /// It is a credential.
    Certain,
}

/// A credential in a text or a document. Holds nothing of the credential itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leak {
    /// What it is, for example `a private key`.
    pub kind: &'static str,
    /// How certain it is.
    pub grade: Grade,
    /// Its length in bytes, which are characters: credentials are ASCII.
    pub length: usize,
    /// Its path in the document, for example `.users[0].user.token`; empty for the whole text. The keys are the author's.
    pub place: String,
    /// True if it is in base64.
    pub encoded: bool,
    /// The name that makes it a credential, if its form alone does not.
    pub key: Option<String>,
    /// Its first character's place in the text at `place`, from 1, if that text is long.
    pub at: Option<usize>,
}
