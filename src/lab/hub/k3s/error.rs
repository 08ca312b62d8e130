//! Why a hub in a container does not start, or stays behind.

use std::time::Duration;

use collect::connect::root;
use testcontainers::{TestcontainersError, bollard, core::error::ClientError};

use super::{K3S_IMAGE as IMAGE, LABEL};

/// Why there is no hub in a container, or why one stays behind.
#[derive(Debug, thiserror::Error)]
pub enum K3sError {
    /// No container engine answers.
    #[error(
        "failed to reach a container engine at {place}: {reason}; start Docker, or name with DOCKER_HOST the address of \
         another engine that speaks its API, such as Podman's socket"
    )]
    NoEngine {
        /// Where the engine should be.
        place: String,
        /// What is wrong.
        reason: String,
    },

    /// The engine does not start the container.
    #[error(
        "failed to start {IMAGE} in a container: {0}; the engine must be able to fetch that image, and allow privileged \
         containers"
    )]
    Start(String),

    /// The engine does not answer about the container.
    #[error("failed to ask the container engine about the K3s container: {0}")]
    Unasked(String),

    /// The kubeconfig that K3s wrote cannot be used. The message does not quote it.
    #[error("failed to use the kubeconfig of K3s: {0}")]
    Kubeconfig(String),

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
        "failed to remove the K3s container {name}: {reason}; remove it with `docker rm --force --volumes {name}` (all \
         have the label {LABEL})"
    )]
    Left {
        /// The container's name.
        name: String,
        /// The engine's output.
        reason: String,
    },
}

/// The root cause of an error of the engine's client, in one line.
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
