//! Starts a real Kubernetes in a container: K3s, removed after the run.
//!
//! Unlike envtest it has controllers and a node, so a manager can be installed on it.
//! It needs a container engine with Docker's API that allows privileged containers.

mod users;

use std::{env, fmt, net::Ipv4Addr, time::Duration};

use collect::connect::{HubAccess, cause, root};
use envtest::ready;
use kube::{Client, Config};
use ring::rand::{SecureRandom as _, SystemRandom};
use testcontainers::{
    ContainerAsync, ContainerRequest, CopyTargetOptions, GenericImage, ImageExt as _, TestcontainersError,
    bollard::{
        self, Docker,
        query_parameters::{InspectContainerOptions, RemoveContainerOptionsBuilder},
    },
    core::{
        CgroupnsMode, IntoContainerPort as _, Mount,
        client::{ClientError, docker_client_instance},
    },
    runners::AsyncRunner as _,
};
use tokio::{
    runtime::Handle,
    task::block_in_place,
    time::{sleep, timeout},
};
use users::Users;

use super::ADMIN;

/// The container's image.
pub const K3S_IMAGE: &str = "rancher/k3s:v1.36.4-k3s1";
/// The label of every container that the suite starts.
const LABEL: &str = "clusterprofile-conformance.hub";
/// The port of the API server in the container.
const PORT: u16 = 6443;
/// Where K3s writes the administrator's kubeconfig.
const KUBECONFIG: &str = "/etc/rancher/k3s/k3s.yaml";
/// Where its API server writes the audit log.
const AUDIT_LOG: &str = "/var/log/audit.log";
/// Where it finds the audit policy.
const POLICY: &str = "/etc/audit-policy.yaml";
/// The audit policy.
const AUDIT_POLICY: &str = include_str!("../audit-policy.yaml");

/// How long the engine may take to answer.
const ENGINE_ANSWERS_WITHIN: Duration = Duration::from_secs(10);
/// How long K3s may take to become ready once its container has started.
const READY_WITHIN: Duration = Duration::from_secs(180);
/// The time between two checks that it is ready.
const POLL: Duration = Duration::from_millis(500);
/// How many of the log's last lines an error carries.
const TAIL_LINES: usize = 20;

/// A running K3s. Dropping it removes its container, but cannot report one that stays, and needs the multi-threaded
/// runtime that started it. A killed process leaves the container behind.
///
/// It knows `admin`, `conformance` and `reference-manager`, who may do everything, and `viewer`, who may do nothing until
/// a role is bound to it.
pub struct K3s {
    container: ContainerAsync<GenericImage>,
    removal: Removal,
    users: Users,
}

impl K3s {
    /// Fetches the image if it is missing, starts the container, and waits until the API server is ready. Dropping the
    /// future removes the container.
    ///
    /// # Errors
    /// When no engine answers, it does not start the container, or K3s is not ready in time.
    pub async fn start() -> Result<Self, K3sError> {
        let engine = engine().await?;
        let removal = Removal {
            engine: Some(engine.clone()),
            name: unique_name(),
        };
        let started = request(&removal.name).start().await;
        let container = started.map_err(|error| K3sError::Start(went_wrong(&error)))?;
        let server = address(&container, &engine).await?;
        let users = wait_until_ready(&container, &server).await?;
        Ok(Self {
            container,
            removal,
            users,
        })
    }

    /// The client configuration of `user`.
    ///
    /// # Panics
    /// When there is no such user.
    pub(crate) fn config(&self, user: &str) -> Result<Config, K3sError> {
        self.users.config(user)
    }

    /// How other programs reach the hub as `user`.
    ///
    /// # Panics
    /// When there is no such user.
    pub(crate) fn handout(&self, user: &str) -> Result<HubAccess, K3sError> {
        self.users.handout(user)
    }

    /// The audit log so far, by the same policy as envtest's.
    ///
    /// # Errors
    /// When the engine cannot copy it.
    pub async fn audit_log(&self) -> Result<Vec<u8>, K3sError> {
        let copied = self.container.copy_file_from(AUDIT_LOG, Vec::new()).await;
        copied.map_err(|error| K3sError::Unasked(went_wrong(&error)))
    }

    /// Removes the container and its volumes.
    ///
    /// # Errors
    /// When it stays.
    pub async fn stop(self) -> Result<(), K3sError> {
        let Self {
            container,
            mut removal,
            ..
        } = self;
        container.rm().await.map_err(|error| K3sError::Left {
            name: removal.name.clone(),
            reason: went_wrong(&error),
        })?;
        removal.engine = None;
        Ok(())
    }
}

impl fmt::Debug for K3s {
    /// Without the credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("K3s")
            .field("container", &self.removal.name)
            .finish_non_exhaustive()
    }
}

/// A unique name, by which a container that never became ready is found again.
fn unique_name() -> String {
    let mut bytes = [0_u8; 8];
    // Without randomness, the engine refuses the second container of that name.
    let _ = SystemRandom::new().fill(&mut bytes);
    let suffix: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("clusterprofile-conformance-k3s-{suffix}")
}

/// K3s with one node, without ingress, load balancers, metrics and storage. It keeps controllers and DNS, which installed
/// managers need.
fn request(name: &str) -> ContainerRequest<GenericImage> {
    let (image, tag) = K3S_IMAGE.split_once(':').unwrap_or((K3S_IMAGE, "latest"));
    GenericImage::new(image, tag)
        .with_exposed_port(PORT.tcp())
        .with_container_name(name)
        .with_label(LABEL, "k3s")
        // The kubelet starts containers of its own, in control groups that it creates.
        .with_privileged(true)
        .with_cgroupns_mode(CgroupnsMode::Host)
        .with_mount(Mount::tmpfs_mount("/run"))
        .with_mount(Mount::tmpfs_mount("/var/run"))
        .with_copy_to(
            CopyTargetOptions::new(POLICY).with_mode(0o444),
            AUDIT_POLICY.as_bytes().to_vec(),
        )
        .with_cmd([
            "server".to_owned(),
            "--disable=traefik,servicelb,metrics-server,local-storage".to_owned(),
            format!("--kube-apiserver-arg=audit-policy-file={POLICY}"),
            format!("--kube-apiserver-arg=audit-log-path={AUDIT_LOG}"),
            // In MiB: the log is one file, however long the run.
            "--kube-apiserver-arg=audit-log-maxsize=100000".to_owned(),
        ])
}

/// The container engine, which has answered.
async fn engine() -> Result<Docker, K3sError> {
    let none = |reason| K3sError::NoEngine {
        place: engine_place(),
        reason,
    };
    let is_set = |name| env::var(name).is_ok_and(|value| !value.is_empty());
    let by_tls = env::var("DOCKER_TLS_VERIFY").is_ok_and(|value| value == "1")
        || env::var("DOCKER_HOST").is_ok_and(|host| host.starts_with("https:"));
    if by_tls && !is_set("DOCKER_CERT_PATH") {
        return Err(none("it needs TLS, but DOCKER_CERT_PATH is not set".to_owned()));
    }
    let engine = docker_client_instance().await.map_err(|error| {
        none(match &error {
            ClientError::Init(error) => engine_said(error),
            other => other.to_string(),
        })
    })?;
    match timeout(ENGINE_ANSWERS_WITHIN, engine.ping()).await {
        Ok(Ok(_)) => Ok(engine),
        Ok(Err(error)) => Err(none(engine_said(&error))),
        Err(_) => Err(none(format!(
            "it did not answer within {ENGINE_ANSWERS_WITHIN:?}"
        ))),
    }
}

/// The engine's address, without a password.
fn engine_place() -> String {
    match env::var("DOCKER_HOST") {
        Ok(host) => {
            let address_text = match (host.split_once("://"), host.rsplit_once('@')) {
                (Some((scheme, _)), Some((_, address))) => format!("{scheme}://{address}"),
                _ => host,
            };
            format!("{address_text} (from DOCKER_HOST)")
        }
        Err(_) => "Docker's usual socket".to_owned(),
    }
}

/// The API server's address.
async fn address(container: &ContainerAsync<GenericImage>, engine: &Docker) -> Result<String, K3sError> {
    let unasked = |error| K3sError::Unasked(went_wrong(&error));
    let host = container.get_host().await.map_err(unasked)?.to_string();
    let port = mapped_port(engine, container.id()).await?;
    // The name may also mean ::1, where the engine maps another port.
    let host = if host == "localhost" { "127.0.0.1" } else { &host };
    Ok(format!("https://{host}:{port}"))
}

/// The port of the engine's machine that leads to the API server. The client's own answer misses the ports of Podman, which
/// has no text for "all addresses".
async fn mapped_port(engine: &Docker, container: &str) -> Result<String, K3sError> {
    let inspected = engine
        .inspect_container(container, None::<InspectContainerOptions>)
        .await
        .map_err(|error| K3sError::Unasked(engine_said(&error)))?;
    let ports = inspected.network_settings.and_then(|network| network.ports);
    let bindings = ports.and_then(|mut ports| ports.remove(&format!("{PORT}/tcp"))?);
    let by_ipv4 = bindings.into_iter().flatten().find(|binding| {
        let address = binding.host_ip.as_deref().unwrap_or_default();
        address.is_empty() || address.parse::<Ipv4Addr>().is_ok()
    });
    by_ipv4
        .and_then(|binding| binding.host_port)
        .ok_or_else(|| K3sError::Unasked(format!("no port of its machine leads to port {PORT}")))
}

async fn wait_until_ready(container: &ContainerAsync<GenericImage>, server: &str) -> Result<Users, K3sError> {
    let mut answer = "nothing yet".to_owned();
    let waiting = async {
        loop {
            let running = container.is_running().await;
            if !running.map_err(|error| K3sError::Unasked(went_wrong(&error)))? {
                let tail = log_tail(container).await;
                return Err(K3sError::Exited { tail });
            }
            match users(container, server).await {
                Ok(users) => return Ok(users),
                Err(error) => answer = error.to_string(),
            }
            sleep(POLL).await;
        }
    };
    match timeout(READY_WITHIN, waiting).await {
        Ok(outcome) => outcome,
        Err(_) => Err(K3sError::NotReady {
            within: READY_WITHIN,
            answer,
            tail: log_tail(container).await,
        }),
    }
}

/// Why the API server is not ready yet.
#[derive(Debug, thiserror::Error)]
enum NotYet {
    #[error("{KUBECONFIG}: {}", went_wrong(.0))]
    NoKubeconfig(#[source] TestcontainersError),
    #[error("{KUBECONFIG}: {0}")]
    Kubeconfig(#[from] K3sError),
    #[error("{}", cause(.0))]
    NoAnswer(#[from] kube::Error),
}

/// The hub's users, once its API server is ready.
async fn users(container: &ContainerAsync<GenericImage>, server: &str) -> Result<Users, NotYet> {
    let copied = container.copy_file_from(KUBECONFIG, Vec::new()).await;
    let text = copied.map_err(NotYet::NoKubeconfig)?;
    let users = Users::read(&String::from_utf8_lossy(&text), server)?;
    ready(&Client::try_from(users.config(ADMIN)?)?).await?;
    Ok(users)
}

/// The last lines of the container's log.
async fn log_tail(container: &ContainerAsync<GenericImage>) -> String {
    let log = container.stderr_to_vec().await.unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}

/// Removes a container by its name when dropped. The client's own removal begins with the container's start, and so
/// leaves behind a container that was created but not started.
struct Removal {
    engine: Option<Docker>,
    name: String,
}

impl Drop for Removal {
    fn drop(&mut self) {
        let (Some(engine), Ok(runtime)) = (self.engine.take(), Handle::try_current()) else {
            return;
        };
        let options = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
        // Fails if there is no container, which is fine. No caller remains to report another failure to.
        let _ = block_in_place(|| runtime.block_on(engine.remove_container(&self.name, Some(options))));
    }
}

/// Why there is no hub in a container, or why one stays behind.
#[derive(Debug, thiserror::Error)]
pub enum K3sError {
    /// No container engine answers.
    #[error(
        "failed to reach a container engine at {place}: {reason}; start Docker, or name with DOCKER_HOST the address of \
         another engine that speaks its API, for example Podman's socket"
    )]
    NoEngine {
        /// Where the engine should be.
        place: String,
        /// What is wrong.
        reason: String,
    },

    /// The engine does not start the container.
    #[error(
        "failed to start {K3S_IMAGE} in a container: {0}; the engine must be able to fetch that image, and allow privileged \
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
fn engine_said(error: &bollard::errors::Error) -> String {
    match error {
        bollard::errors::Error::DockerResponseServerError { message, .. } => one_line(message),
        other => one_line(&root(other)),
    }
}

/// What went wrong with a container, in one line.
fn went_wrong(error: &TestcontainersError) -> String {
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
