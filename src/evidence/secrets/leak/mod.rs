//! Finds leaked credentials in text.
//!
//! Anyone with read access to the hub may see profiles, so none may hold a credential. One rule and the redaction
//! ([`super::redact`]) share this scanner and need different certainty: the rule must not raise false alarms, and the
//! redaction may remove too much. So each find has a [`Grade`].
//!
//! The scanner looks into JSON, YAML and base64, up to a depth.

use std::fmt;

mod finds;
mod keys;
mod patterns;
mod scan;
mod values;

pub(super) use finds::finds;
pub(super) use keys::{named, named_number};
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

/// The kind of a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeakKind {
    /// A private key, in PEM or DER.
    PrivateKey,
    /// A signed or encrypted JSON web token.
    WebToken,
    /// The value after `Bearer`.
    BearerToken,
    /// The value after `Basic`.
    BasicAuthentication,
    /// The text before the `@` of a URL.
    UserInfo,
    /// A credential in the format of its issuer; holds a description.
    Issued(&'static str),
    /// The value of a field with such a name.
    Token,
    /// The value of a field with such a name.
    Password,
    /// The value of a field with such a name.
    Secret,
    /// The value of a field with such a name.
    Credential,
    /// The value of a field with such a name.
    Cookie,
    /// The value of a header `Authorization`, of some scheme.
    Authorization,
    /// The value of a field with such a name, such as `client-key-data`.
    Key,
    /// A certificate by which a client logs in.
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
            LeakKind::Credential => "a credential",
            LeakKind::Cookie => "a cookie",
            LeakKind::Authorization => "an authorization header",
            LeakKind::Key => "a key",
            LeakKind::ClientCertificate => "a client certificate",
        })
    }
}

/// A credential in a text or a document. Holds nothing of the credential itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leak {
    /// Its kind.
    pub kind: LeakKind,
    /// How certain it is.
    pub grade: Grade,
    /// Its length in bytes, which are characters: credentials are ASCII.
    pub length: usize,
    /// Its path in the document, such as `.users[0].user.token`; empty for the whole text. The keys are the author's.
    pub place: String,
    /// True if it is in base64.
    pub encoded: bool,
    /// The name that makes it a credential, if its form alone does not.
    pub key: Option<String>,
    /// Its first character's place in the text at `place`, from 1, if that text is long.
    pub at: Option<usize>,
}
