//! Why a connection failed, and what to do about it.

use std::{path::PathBuf, time::Duration};

use super::exec_credential::AnswerFlaw;

/// Why there is no connection to a hub. No message holds a secret of a kubeconfig.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig file cannot be read.
    #[error("failed to read the kubeconfig {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },

    /// The kubeconfig file is not one. The parser's own message would quote it.
    #[error(
        "failed to parse the kubeconfig {}{}: not a valid kubeconfig; `kubectl config view --kubeconfig {}` \
         tells what is wrong with it",
        path.display(), line.map(|line| format!(" (line {line})")).unwrap_or_default(), path.display()
    )]
    Unparsable {
        /// The file.
        path: PathBuf,
        /// The line that the parser stopped at, where it says.
        line: Option<u64>,
    },

    /// The file is another object than a kubeconfig.
    #[error("{} is not a valid kubeconfig: its kind is `{kind}`, not `Config`", path.display())]
    NoConfig {
        /// The file.
        path: PathBuf,
        /// Its kind.
        kind: String,
    },

    /// Kubeconfig files that do not go together.
    #[error("failed to merge the kubeconfig {}: its kind or apiVersion is another than that of those before", path.display())]
    Unmergeable {
        /// The file that differs.
        path: PathBuf,
    },

    /// The kubeconfig has no such context.
    #[error(
        "no context `{context}` in {place}{}; there {}",
        nearest.as_ref().map(|name| format!(": did you mean `{name}`?")).unwrap_or_default(), listed(known)
    )]
    UnknownContext {
        /// The context that was asked for.
        context: String,
        /// The files that were read.
        place: String,
        /// The nearest name.
        nearest: Option<String>,
        /// All names.
        known: Vec<String>,
    },

    /// Neither the caller nor the kubeconfig names a context.
    #[error("{}", no_context(place, known))]
    NoContext {
        /// The files that were read.
        place: String,
        /// All names.
        known: Vec<String>,
    },

    /// The context is there, but does not lead to a hub.
    #[error("failed to use the context `{context}` of {place}: {source}")]
    Unusable {
        /// The context.
        context: String,
        /// The files that were read.
        place: String,
        /// What is wrong.
        source: ContextError,
    },

    /// There is neither a kubeconfig nor a service account.
    #[error(
        "found no hub: {}, and this is not running in a pod", looked.join(", ")
    )]
    Nowhere {
        /// Where a kubeconfig was looked for, each with what was found.
        looked: Vec<String>,
    },

    /// This is a pod, but its service account cannot be used.
    #[error(
        "failed to use the pod's service account: {source}; mount its token (automountServiceAccountToken)"
    )]
    InCluster {
        /// What is wrong.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Why a context leads to no hub. No message holds anything secret of the kubeconfig.
#[derive(Debug, thiserror::Error)]
pub enum ContextError {
    /// The context names a cluster that is not there.
    #[error("there is no cluster `{0}`, which it names")]
    NoCluster(String),

    /// A field of the context, its cluster or its user is missing or cannot be used.
    #[error("{0}")]
    Field(String),

    /// There can be no client.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// Why a configuration leads to no client. Keeps no source: the client library's own errors may quote a credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// The token cannot be sent.
    #[error("its token holds characters that no HTTP header may have, such as a line break")]
    Token,

    /// The credential plugin gave no credential.
    #[error(transparent)]
    Exec(#[from] ExecError),

    /// The configuration is at fault; says how.
    #[error("{0}")]
    Refused(String),

    /// There is no such server.
    #[error("no server answers there")]
    NoServer,
}

fn no_context(place: &str, known: &[String]) -> String {
    if known.is_empty() {
        return format!("{place} has no contexts: it may not be a kubeconfig");
    }
    format!("{place} sets no current-context; there {}", listed(known))
}

/// The contexts of a kubeconfig; a long list is cut, as the nearest name has been suggested before.
fn listed(known: &[String]) -> String {
    const SHOWN: usize = 12;
    match known {
        [] => "are none".to_owned(),
        [one] => format!("is only `{one}`"),
        _ => {
            let names: Vec<_> = known.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
            let more = known.len().saturating_sub(SHOWN);
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            format!("are {}{more}", names.join(", "))
        }
    }
}

/// Why the plugin of a kubeconfig gave no credential. Shows nothing that the plugin printed, nor its arguments.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExecError {
    /// The kubeconfig names no program.
    #[error("the credential plugin has no command in the kubeconfig")]
    NoCommand,
    /// The program does not start.
    #[error("the credential plugin `{command}` could not be started: {reason}")]
    NotStarted {
        /// The program.
        command: String,
        /// What the system said.
        reason: String,
    },
    /// It ended with an error.
    #[error("the kubeconfig's credential plugin `{command}` failed ({status})")]
    Failed {
        /// The program.
        command: String,
        /// How it ended.
        status: String,
    },
    /// It did not end.
    #[error(
        "the kubeconfig's credential plugin `{command}` gave no credential within {} s and was ended; it may wait for \
         somebody to log in",
        limit.as_secs()
    )]
    Late {
        /// The program.
        command: String,
        /// How long it had.
        limit: Duration,
    },
    /// Its answer is no ExecCredential with a credential, or is too large.
    #[error("the answer of the credential plugin `{command}` could not be read: it {flaw}")]
    Unreadable {
        /// The program.
        command: String,
        /// What is wrong with it.
        flaw: AnswerFlaw,
    },
    /// The user has a predecessor of plugins, whose command nothing would bound.
    #[error(
        "the kubeconfig's auth-provider `{name}` runs a command, which kubectl refuses since v1.26; \
         have the kubeconfig name a credential plugin (`exec`)"
    )]
    AuthProvider {
        /// The name of the auth-provider.
        name: String,
    },
}
