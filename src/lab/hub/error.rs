//! Why a hub of the suite's own does not start.

use ::envtest::EnvtestError;
use collect::connect::cause;
use http::header::InvalidHeaderValue;

use super::InstallError;
#[cfg(feature = "k3s")]
use super::K3sError;

/// Why a hub of the suite's own does not start, or leaves something behind.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// The hub does not serve the CRDs.
    #[error("failed to prepare the {hub} hub: {source}")]
    Install {
        /// Which hub.
        hub: &'static str,
        /// What is wrong.
        source: InstallError,
    },

    /// There is no client of the hub.
    #[error("failed to make a client of the {hub} hub: {}", cause(error))]
    Client {
        /// Which hub.
        hub: &'static str,
        /// What is wrong. No `source`: its own text may show what the message must not.
        error: Box<kube::Error>,
    },

    /// No request can have this User-Agent.
    #[error("failed to use {user_agent:?} as a User-Agent")]
    UserAgent {
        /// The text.
        user_agent: String,
        /// What is wrong.
        source: InvalidHeaderValue,
    },

    /// The hub envtest has no programs.
    #[error("{0}, or build them with `ci/envtest/build` (it needs Go)")]
    Assets(#[source] EnvtestError),

    /// The API server on this machine does not start, or leaves something behind.
    #[error(transparent)]
    Envtest(#[from] EnvtestError),

    /// The hub in a container does not start, or stays behind.
    #[cfg(feature = "k3s")]
    #[error(transparent)]
    K3s(#[from] K3sError),

    /// This build cannot start a hub in a container.
    #[error(
        "this clusterprofile-conformance was built without the feature k3s, which a hub in a container needs"
    )]
    WithoutK3s,
}
