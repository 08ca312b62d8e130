//! Why a hub of our own does not start.

use ::envtest::EnvtestError;

#[cfg(feature = "k3s")]
use super::K3sError;

/// Why a hub of our own does not start.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// A hub of our own cannot be prepared.
    #[error("failed to prepare the {hub} hub: {reason}")]
    Unprepared {
        /// Which hub.
        hub: &'static str,
        /// What is wrong.
        reason: String,
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
        "this clusterprofile-conformance was built without the feature k3s, which --hub k3s needs: build it with \
         `cargo install --path . --features k3s` in its repository, or use --hub envtest"
    )]
    WithoutK3s,
}
