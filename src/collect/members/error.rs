//! Why a file of members cannot be used, and why there is no way to a member. No message quotes what may be secret.

use std::path::PathBuf;

use evidence::{
    SecretError,
    api::{UnknownName, names},
};

use super::{ask::REQUEST, kubeconfig::KubeconfigFlaw};
use crate::connect::{
    error::{ClientError, ConnectError},
    messages::MalformedFile,
};

/// An example for error messages.
const EXAMPLE: &str = "give for each profile a kubeconfig and a context, such as \
                       `fleet/lisbon: {kubeconfig: fleet.kubeconfig, context: lisbon}`";

/// Why the file of members cannot be used. No message holds a secret of a kubeconfig.
#[derive(Debug, thiserror::Error)]
pub enum MembersError {
    /// The file cannot be read.
    #[error("failed to read the members' file {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },

    /// The file does not say what it should.
    #[error("failed to use the members' file {}: {source}; {EXAMPLE}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: MembersFlaw,
    },

    /// A kubeconfig that the file names is of no use.
    #[error("failed to use the members' file {}: {profile}: {source}", path.display())]
    Way {
        /// The file.
        path: PathBuf,
        /// Namespace and name of the profile.
        profile: String,
        /// What is wrong with the kubeconfig.
        source: Box<ConnectError>,
    },
}

/// What is wrong with a file of members.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MembersFlaw {
    /// It is neither YAML nor JSON of that shape.
    #[error(transparent)]
    Text(#[from] MalformedFile),
    /// It is empty.
    #[error("it names no profile")]
    Empty,
    /// A key is none of a profile.
    #[error("`{0}` is no namespace/name of a profile")]
    Name(String),
    /// What it says of one profile cannot be used.
    #[error("`{profile}`: {source}")]
    Entry {
        /// Namespace and name of the profile.
        profile: String,
        /// What is wrong.
        source: EntryFlaw,
    },
}

/// What is wrong with the way to one member. Quotes no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryFlaw {
    /// It is no mapping.
    #[error("expected a mapping")]
    NotMapping,
    /// It has an unknown key.
    #[error(transparent)]
    Key(#[from] UnknownName),
    /// It names no kubeconfig.
    #[error("it has no kubeconfig")]
    NoKubeconfig,
    /// It should be text.
    #[error("its {0} is no text")]
    NotText(&'static str),
}

/// Why an endpoint gave no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotCalled {
    #[error("it is not to be called over TLS")]
    NoUrl,
    #[error(transparent)]
    Config(#[from] KubeconfigFlaw),
    #[error(transparent)]
    Client(#[from] ClientError),
    /// In one line, without secrets.
    #[error("no secure connection: {0}")]
    Insecure(String),
    /// The same.
    #[error("{0}")]
    Failed(String),
    #[error("no answer came for {} s", REQUEST.as_secs())]
    Silent,
}

/// Why no credential is sent to where an access provider leads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotTrusted {
    #[error("the server of access provider {0} is not reached over TLS, and no credential is sent without")]
    NoTls(String),
    #[error("the server of access provider {0} holds a user's name")]
    UserName(String),
    #[error(
        "access provider {0} leaves the server's certificate unchecked, and no credential is sent to who cannot show one"
    )]
    Unchecked(String),
    #[error("access provider {0} cannot be used: a field of its cluster is malformed")]
    Malformed(String),
}

/// Why a consumer's Secret opens nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SecretFlaw {
    #[error("the Secret has no data key {}", names::SECRET_CONFIG_KEY)]
    NoKey,
    #[error("the Secret holds no kubeconfig: {0}")]
    NoKubeconfig(#[from] SecretError),
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigFlaw),
    /// In one line, without secrets.
    #[error("{0}")]
    Client(String),
}

/// Why there is no way to a member now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoWay {
    /// In one line, without secrets.
    #[error("{0}")]
    Client(String),
    #[error("its credential was not renewed{}", .0.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default())]
    NotRenewed(Option<String>),
}
