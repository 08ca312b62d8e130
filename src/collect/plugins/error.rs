//! Why a provider file cannot be used, and why a plugin yields no credential. No message quotes what may be secret.

use std::path::PathBuf;

use evidence::api::UnknownName;

use crate::connect::messages::MalformedFile;

/// What a provider file may look like, for errors.
const EXAMPLE: &str = "give for each provider a name and an execConfig with apiVersion and command, such as \
                       `providers: [{name: secretreader, execConfig: {apiVersion: client.authentication.k8s.io/v1, \
                       command: ./secretreader, provideClusterInfo: true}}]`";

/// Why a provider file cannot be used. No message quotes an argument or a variable's value.
#[derive(Debug, thiserror::Error)]
pub enum ProvidersError {
    /// The file cannot be read.
    #[error("failed to read the provider file {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },

    /// The file does not say what it should.
    #[error("failed to use the provider file {}: {source}; {EXAMPLE}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<ProvidersFlaw>,
    },

    /// A plugin is not on this machine.
    #[error(
        "failed to use the provider file {}: provider `{provider}`: {source}{}", path.display(),
        hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default()
    )]
    Missing {
        /// The file.
        path: PathBuf,
        /// The provider's name.
        provider: String,
        /// Where it was looked for.
        source: NoProgram,
        /// The file's own hint of how to install it.
        hint: Option<String>,
    },
}

/// What is wrong with a provider file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProvidersFlaw {
    /// It is neither YAML nor JSON.
    #[error(transparent)]
    Text(#[from] MalformedFile),
    /// It is none, as a whole.
    #[error(transparent)]
    Whole(#[from] ProviderFlaw),
    /// It has no list of providers, or an empty one.
    #[error("it lists no providers")]
    Empty,
    /// One of its providers cannot be used.
    #[error("{}: {source}", name.as_ref().map_or_else(|| format!("provider {number}"), |name| format!("provider `{name}`")))]
    Provider {
        /// Which one, counted from 1.
        number: usize,
        /// Its name, where it has one.
        name: Option<String>,
        /// What is wrong with it.
        source: ProviderFlaw,
    },
    /// Two providers have one name.
    #[error("it has two providers of the name `{0}`")]
    Repeated(String),
}

/// What is wrong with one provider of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProviderFlaw {
    /// Expected a mapping.
    #[error("expected a mapping")]
    NotMapping,
    /// It has an unknown key.
    #[error(transparent)]
    Key(#[from] UnknownName),
    /// A choice has an unknown name.
    #[error("{name} (there are {})", known.join(", "))]
    Choice {
        /// The name that was given.
        #[source]
        name: UnknownName,
        /// Those that there are.
        known: Vec<&'static str>,
    },
    /// It has no name.
    #[error("it has no name")]
    NoName,
    /// It does not say how its plugin is run.
    #[error("it has no execConfig")]
    NoExec,
    /// Its execConfig lacks a key.
    #[error("its execConfig has no {0}")]
    Missing(&'static str),
    /// Its execConfig is malformed.
    #[error("its execConfig: {0}")]
    Exec(#[source] Box<ProviderFlaw>),
    /// Its environment is malformed.
    #[error("its env: {0}")]
    Env(#[source] Box<ProviderFlaw>),
    /// A switch is neither on nor off.
    #[error("its provideClusterInfo is neither true nor false")]
    NotBool,
    /// A program could not be given that text.
    #[error("its {0} has a NUL in it")]
    Nul(&'static str),
    /// It should be text.
    #[error("its {0} is no text")]
    NotText(&'static str),
    /// It should be a list.
    #[error("its {0} is no list")]
    NotList(&'static str),
    /// An argument is no text that a program can be given.
    #[error("its args are not all text")]
    Arguments,
    /// A variable has a name or value that no environment can have.
    #[error("its env is no list of names and values that an environment can have")]
    Variable,
}

/// A plugin that is not on this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoProgram {
    /// The path leads to none.
    #[error("its command {} is no program", .0.display())]
    Path(PathBuf),
    /// The bare name is not found.
    #[error("its command `{0}` is not on the PATH")]
    Name(String),
}

/// What of a profile a consumer could not hand to its plugin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ExtensionFlaw {
    #[error("its extension {0} has an argument with a NUL in it")]
    Argument(&'static str),
    #[error("its extension {0} has a name or value that no environment can have")]
    Variable(&'static str),
    #[error("its extension {name} is no {form}")]
    Form { name: &'static str, form: &'static str },
}
