//! What can go wrong with a hub in a container.

use std::time::Duration;

use collect::connect::cause::root;
use testcontainers::{TestcontainersError, bollard, core::error::ClientError};

use super::request::{IMAGE, LABEL};

/// Why there is no hub in a container, or why one stays behind.
#[derive(Debug, thiserror::Error)]
pub enum K3sError {
    /// Nobody answers where the container engine should be.
    #[error(
        "failed to reach a container engine at {place}: {reason}; start Docker, or name with DOCKER_HOST the address of \
         another engine that speaks its API, such as Podman's socket; --hub envtest and --hub lab need none"
    )]
    NoEngine {
        /// Where it was looked for.
        place: String,
        /// What is wrong.
        reason: String,
    },

    /// The engine does not start the container.
    #[error(
        "failed to start {IMAGE} in a container: {0}; it takes an engine that can fetch that image and lets a container \
         be privileged"
    )]
    Start(String),

    /// The engine does not tell of the container.
    #[error("failed to ask the container engine about the K3s container: {0}")]
    Unasked(String),

    /// K3s ended before its API server was ready.
    #[error("K3s ended before its API server was ready; the end of its log:\n{tail}")]
    Exited {
        /// The log's last lines.
        tail: String,
    },

    /// K3s runs, but its API server does not become ready.
    #[error(
        "the API server of K3s was not ready within {within:?} (last: {answer}); the end of its log:\n{tail}"
    )]
    NotReady {
        /// How long it was given.
        within: Duration,
        /// Its last answer, or why there was none.
        answer: String,
        /// The log's last lines.
        tail: String,
    },

    /// The container is still there.
    #[error(
        "failed to remove the K3s container {name}: {reason}; remove it with `docker rm --force --volumes {name}` (all of \
         them have the label {LABEL})"
    )]
    Left {
        /// The container's name.
        name: String,
        /// What the engine said.
        reason: String,
    },
}

/// The root of what the engine's client says, in one line.
pub(super) fn engine_said(error: &bollard::errors::Error) -> String {
    match error {
        bollard::errors::Error::DockerResponseServerError { message, .. } => one_line(message),
        other => one_line(&root(other)),
    }
}

/// What went wrong with a container, in one line.
pub(super) fn went_wrong(error: &TestcontainersError) -> String {
    use ClientError::{CreateContainer, Init, InspectContainer, PullImage, RemoveContainer, StartContainer};
    match error {
        TestcontainersError::Client(
            CreateContainer(error)
            | Init(error)
            | InspectContainer(error)
            | RemoveContainer(error)
            | StartContainer(error)
            | PullImage { err: error, .. },
        ) => engine_said(error),
        other => one_line(&root(other)),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
