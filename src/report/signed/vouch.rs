//! Who vouches for a report: whose signature is on a Statement about the very files.

use serde::Deserialize as _;

use super::{
    envelope::{Envelope, EnvelopeError},
    public_key::NamedKey,
    statement::{Outcome, Subject},
};
use crate::{submitted::Document, text::number::listed};

/// Who vouches for which files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vouched {
    /// The names of the keys that signed, each with the key's id.
    pub by: Vec<(String, String)>,
    /// The names of the files, as the signer called them.
    pub files: Vec<String>,
}

/// Why nobody vouches for a report although it has a signature.
#[derive(Debug, thiserror::Error)]
pub enum NotVouched {
    /// The signature cannot be used.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    /// It is about other files.
    #[error("it signs another report: the SHA-256 of this one is not among its subjects")]
    OtherReport,
    /// It is about other evidence.
    #[error("it signs other evidence: the SHA-256 of {0} is not among its subjects")]
    OtherEvidence(String),
    /// It says something else than the report.
    #[error("its Statement says {stated}, and the report comes to {reported}")]
    OtherResult {
        /// What was signed.
        stated: String,
        /// What the report says.
        reported: String,
    },
}

impl NotVouched {
    /// Whether the file is no signature of a report at all, rather than one that does not hold.
    pub fn is_unusable(&self) -> bool {
        matches!(self, Self::Envelope(error) if !matches!(error, EnvelopeError::Unverified))
    }
}

impl Vouched {
    /// The names of who vouches, such as `ocm and reviewer`.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.by.iter().map(|(name, _)| &**name).collect();
        listed(&names).unwrap_or_default()
    }
}

/// Checks that an envelope holds by one of the keys, and is about this report and this evidence. One that names no
/// evidence is enough: the report itself has the evidence's SHA-256.
///
/// # Errors
/// When it does not.
pub fn vouched(
    envelope: &[u8],
    keys: &[NamedKey],
    document: &Document,
    report: &Subject,
    evidence: &[Subject],
) -> Result<Vouched, NotVouched> {
    let (statement, signers) = Envelope::parse(envelope)?.open(keys)?;
    let signs = |file: &Subject| statement.subject.iter().any(|subject| subject.is(file));
    if !signs(report) {
        return Err(NotVouched::OtherReport);
    }
    let signs_others = statement.subject.iter().any(|subject| !subject.is(report));
    if let Some(other) = evidence.iter().find(|file| !signs(file))
        && signs_others
    {
        return Err(NotVouched::OtherEvidence(other.name.clone()));
    }
    let stated = Outcome::deserialize(&statement.predicate["result"]).map_err(EnvelopeError::Statement)?;
    let reported = Outcome::of(document);
    if stated != reported {
        let word = |outcome: Outcome| format!("{outcome:?}").to_lowercase();
        return Err(NotVouched::OtherResult {
            stated: word(stated),
            reported: word(reported),
        });
    }
    Ok(Vouched {
        by: signers
            .iter()
            .map(|one| (one.name.clone(), one.key.id()))
            .collect(),
        files: statement
            .subject
            .into_iter()
            .map(|subject| subject.name)
            .collect(),
    })
}
