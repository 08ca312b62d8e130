//! What a find is, and how sure it is.

use std::{fmt, ops::Range};

/// How sure it is that something is a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grade {
    /// It stands where a credential would, and may be anything: enough to keep it from being shown.
    Shaped,
    /// It may well be one, or the name of one: enough for a warning.
    Possible,
    /// It is one.
    Certain,
}

/// What kind of credential it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeakKind {
    /// A private key, in PEM or DER.
    PrivateKey,
    /// A signed or encrypted JSON web token.
    WebToken,
    /// What stands behind `Bearer`.
    BearerToken,
    /// What stands behind `Basic`.
    BasicAuthentication,
    /// What stands before the `@` of a URL.
    UserInfo,
    /// Something that a service issues in a form of its own; holds its name.
    Issued(&'static str),
    /// The value of a field that is named so.
    Token,
    /// The value of a field that is named so.
    Password,
    /// The value of a field that is named so.
    Secret,
    /// The value of a field that is named so, such as `client-key-data`.
    Key,
    /// The value of `client-certificate-data`.
    ClientCertificate,
}

impl fmt::Display for LeakKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LeakKind::PrivateKey => "a private key",
            LeakKind::WebToken => "a JSON web token",
            LeakKind::BearerToken => "a bearer token",
            LeakKind::BasicAuthentication => "a user name with its password",
            LeakKind::UserInfo => "userinfo of a URL",
            LeakKind::Issued(what) => what,
            LeakKind::Token => "a token",
            LeakKind::Password => "a password",
            LeakKind::Secret => "a secret",
            LeakKind::Key => "a key",
            LeakKind::ClientCertificate => "a client certificate",
        })
    }
}

/// A credential in a text or a document. Holds nothing of the credential itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leak {
    /// What it is.
    pub kind: LeakKind,
    /// How sure that is.
    pub grade: Grade,
    /// How many bytes it has; characters, as credentials are ASCII.
    pub length: usize,
    /// Where in the document, such as `.users[0].user.token`; empty for the whole text. Its keys are the author's.
    pub place: String,
    /// Whether it stands there in base64.
    pub encoded: bool,
}

/// A credential in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Find {
    /// The bytes that it takes, and those of other finds in the same place.
    pub range: Range<usize>,
    /// How many bytes it has itself.
    pub length: usize,
    pub kind: LeakKind,
    pub grade: Grade,
    /// Whether it stands there in base64.
    pub encoded: bool,
}

impl Find {
    pub(super) fn new(range: Range<usize>, kind: LeakKind, grade: Grade) -> Self {
        Self {
            length: range.len(),
            range,
            kind,
            grade,
            encoded: false,
        }
    }
}
