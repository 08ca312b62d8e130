//! Why there is no evidence, and what to do about it.

use evidence::{
    Scope,
    api::{ObjectKind, Role, names},
};

use super::rbac::Grants;
use crate::connect::{How, RequestFailure};

/// Why there is no evidence at all. What is missed later, once profiles were seen, is a gap in the evidence instead.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// The hub does not answer.
    #[error(
        "failed to reach the hub ({hub}): {cause}; check that it runs, that the server in the kubeconfig is its address, and that a proxy of HTTPS_PROXY or the kubeconfig reaches it"
    )]
    Unreachable {
        /// The hub.
        hub: String,
        /// What happened.
        cause: String,
        /// Whether it took too long, rather than that there is no connection.
        slow: bool,
    },

    /// No secure connection.
    #[error(
        "failed to connect to the hub ({hub}) securely: {cause}; check the kubeconfig's server, certificate-authority-data and tls-server-name"
    )]
    Insecure {
        /// The hub.
        hub: String,
        /// What happened.
        cause: String,
    },

    /// The hub does not know who asks.
    #[error(
        "the hub ({hub}) does not accept the credentials (401 Unauthorized); renew them, then check with `kubectl auth whoami`"
    )]
    Unauthorized {
        /// The hub.
        hub: String,
    },

    /// The hub does not serve a kind of objects without which nothing can be judged.
    #[error("the hub ({hub}) serves no {plural}.{group}", plural = kind.plural(), group = names::GROUP)]
    NotServed {
        /// The hub.
        hub: String,
        /// The kind.
        kind: ObjectKind,
    },

    /// The hub does not serve ClusterProfiles in a usable version.
    #[error(
        "the hub serves {plural}.{group} not in {wanted} but in {}", served.join(", "),
        plural = names::PLURAL, group = names::GROUP
    )]
    VersionNotServed {
        /// The version that was asked for, or those that the suite can read.
        wanted: String,
        /// The versions that are served.
        served: Vec<String>,
        /// Whether the caller asked for that version.
        requested: bool,
    },

    /// The runner may not list or watch a kind of objects.
    #[error(
        "the hub does not let the runner read {plural}.{group}: {message}\nthe minimal RBAC role:\n{manifest}",
        plural = kind.plural(), group = names::GROUP
    )]
    Forbidden {
        /// The kind.
        kind: ObjectKind,
        /// The hub's message.
        message: String,
        /// Roles in YAML, for an administrator to apply.
        manifest: String,
    },

    /// The scope names what has no object on the hub.
    #[error("the hub has no {wanted}")]
    NothingInScope {
        /// What the scope asks for, for example `ClusterProfile in namespace fleet`.
        wanted: String,
    },

    /// The hub has no ClusterProfile at all, so a run would judge nothing.
    #[error("the hub has no ClusterProfile")]
    NoProfiles,

    /// Another failure.
    #[error("failed to {action}: {cause}")]
    Failed {
        /// What was tried.
        action: &'static str,
        /// What happened.
        cause: String,
    },

    /// The caller ended the run before anything was seen.
    #[error("stopped before anything was seen of the hub")]
    Stopped,
}

impl CollectError {
    /// Turns a failed request into the error that ends the run.
    pub(crate) fn of(failure: &RequestFailure, hub: &str, action: &'static str) -> Self {
        let (hub, cause) = (hub.to_owned(), failure.to_string());
        match failure {
            RequestFailure::NoAnswer {
                how: How::Insecure, ..
            } => CollectError::Insecure { hub, cause },
            RequestFailure::NoAnswer { .. } => CollectError::Unreachable {
                hub,
                cause,
                slow: failure.is_silence(),
            },
            RequestFailure::Status { status, .. } if status.code == 401 => CollectError::Unauthorized { hub },
            RequestFailure::Status { .. } => CollectError::Failed { action, cause },
        }
    }

    /// Turns a failed list of objects of these namespaces into the error that ends the run.
    pub(crate) fn of_list(
        kind: ObjectKind,
        failure: &RequestFailure,
        hub: &str,
        namespaces: &[String],
    ) -> Self {
        match (failure.code(), kind) {
            (403, _) => Self::forbidden(kind, failure.to_string(), namespaces),
            (_, ObjectKind::ClusterProfile) => Self::of(failure, hub, "list ClusterProfiles"),
            (_, ObjectKind::PlacementDecision) => Self::of(failure, hub, "list PlacementDecisions"),
        }
    }

    /// The hub has no object of a role in this scope.
    pub(crate) fn nothing_in_scope(role: Role, scope: &Scope) -> Self {
        let mut wanted = role.objects().name().to_owned();
        if let Some(name) = scope.publisher(role) {
            wanted += &format!(" of {role} {name}");
        }
        match scope.namespaces.as_slice() {
            [] => {}
            [one] => wanted += &format!(" in namespace {one}"),
            several => wanted += &format!(" in namespaces {}", several.join(", ")),
        }
        CollectError::NothingInScope { wanted }
    }

    /// The runner may not read the objects of these namespaces.
    pub(crate) fn forbidden(kind: ObjectKind, message: String, namespaces: &[String]) -> Self {
        let grants = Grants {
            namespaces: namespaces.to_vec(),
            placements: kind == ObjectKind::PlacementDecision,
            ..Grants::default()
        };
        CollectError::Forbidden {
            kind,
            message,
            manifest: grants.manifest(None),
        }
    }
}
