//! Starts hubs: in this process, on this machine, in a container.

#[cfg(feature = "k3s")]
mod k3s;

use std::{path::Path, time::Duration};

use ::envtest::{Assets, Envtest, EnvtestError, EnvtestOptions};
use apiserver::User;
// What a hub that is started here is configured with: its callers need no other crate.
pub use apiserver::{ApiServer, AuditLevel, Loopback};
use collect::{
    clock::Clock,
    connect::{Connection, HubAccess, USER_AGENT, cause},
    requests::{AuditLog, RequestsError, read_audit_log, read_audit_text},
};
use http::{HeaderValue, Request, header};
#[cfg(feature = "k3s")]
pub use k3s::{K3S_IMAGE, K3s, K3sError};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Client, Config,
    api::{Api, PostParams},
};
use serde_json::Value;
use tokio::time::sleep;

use crate::crd;

/// Sets up the hub.
const ADMIN: &str = "admin";
/// Runs the suite. May do everything.
const RUNNER: &str = "conformance";
/// The reference manager. May do everything.
const MANAGER: &str = "reference-manager";
/// The reference scheduler. May do everything.
const SCHEDULER: &str = "reference-scheduler";
/// The reference consumer. May do everything.
const CONSUMER: &str = "reference-consumer";
/// May do nothing until a role is bound to it.
const VIEWER: &str = "viewer";

/// The audit policy, which the hub k3s shares.
const AUDIT_POLICY: &str = include_str!("audit-policy.yaml");
/// Where `ci/envtest/build` puts the programs, one folder for each state of its pins.
const BUILDS: &str = "ci/envtest/.cache";

/// Finds the programs of the hub envtest: see [`Assets::find`]. `repository` is the suite's, in which
/// `ci/envtest/build` may have built them.
///
/// # Errors
/// When they are missing. The error says where it looked and how to get them.
pub fn assets(repository: &Path) -> Result<Assets, HubError> {
    Assets::find(Some(&repository.join(BUILDS))).map_err(HubError::Assets)
}

/// The API server's settings that every hub envtest has: the users of a [`Hub`], and an audit log with
/// bodies where rules judge them.
pub fn envtest_options() -> EnvtestOptions {
    EnvtestOptions {
        users: vec![
            ::envtest::EnvtestUser::admin(RUNNER),
            ::envtest::EnvtestUser::admin(MANAGER),
            ::envtest::EnvtestUser::admin(SCHEDULER),
            ::envtest::EnvtestUser::admin(CONSUMER),
            ::envtest::EnvtestUser::without_rights(VIEWER),
        ],
        audit_policy: AUDIT_POLICY.to_owned(),
        ..EnvtestOptions::default()
    }
}

/// The version that the lab's API server reports.
const LAB_VERSION: &str = "v1.36.0+lab";

/// A hub that the suite started, and what keeps it alive.
///
/// It knows the users `admin`, `conformance` (who runs the suite), `reference-manager`, `reference-scheduler`,
/// `reference-consumer` and `viewer`.
pub struct Hub {
    /// The runner's connection.
    pub connection: Connection,
    own: Own,
}

/// What keeps the hub alive.
enum Own {
    /// An API server in this process.
    Lab(ApiServer),
    /// An API server on this machine.
    Envtest(Box<Envtest>),
    /// K3s in a container.
    #[cfg(feature = "k3s")]
    K3s(Box<K3s>),
}

impl Hub {
    /// True if this build can start a hub in a container.
    pub const HAS_K3S: bool = cfg!(feature = "k3s");

    /// A new hub in this process, with the CRDs installed. Follows tokio's clock, paused or not.
    ///
    /// # Errors
    /// When it refuses the CRDs.
    pub async fn lab(clock: Clock) -> Result<Self, HubError> {
        Self::lab_with(clock, &crd::all()).await
    }

    /// Like [`Self::lab`], with these CRDs instead of the suite's.
    ///
    /// # Errors
    /// When it refuses the CRDs.
    pub async fn lab_with(clock: Clock, definitions: &[CustomResourceDefinition]) -> Result<Self, HubError> {
        let server = crate::server(clock);
        server.set_version(LAB_VERSION);
        for name in [RUNNER, MANAGER, SCHEDULER, CONSUMER] {
            server.add_user(User::master(name));
        }
        server.add_user(User::with_rules(VIEWER, Vec::new()));
        install(&server.client(ADMIN), definitions)
            .await
            .map_err(|reason| HubError::Install { hub: "lab", reason })?;
        Ok(Self {
            connection: Connection::new(server.client_as(RUNNER, USER_AGENT), "lab"),
            own: Own::Lab(server),
        })
    }

    /// A new hub on this machine, with the CRDs installed. Needs a runtime in real time. The options are those of
    /// [`envtest_options`](super::envtest_options), with further flags.
    ///
    /// # Errors
    /// When it does not start, or refuses the CRDs.
    pub async fn envtest(assets: &Assets, options: EnvtestOptions) -> Result<Self, HubError> {
        Self::envtest_with(assets, options, &crd::all()).await
    }

    /// Like [`Self::envtest`], with these CRDs instead of the suite's.
    ///
    /// # Errors
    /// When it does not start, or refuses the CRDs.
    pub async fn envtest_with(
        assets: &Assets,
        options: EnvtestOptions,
        definitions: &[CustomResourceDefinition],
    ) -> Result<Self, HubError> {
        let envtest = Box::new(Envtest::start(assets, options).await?);
        let client = envtest_client(&envtest, RUNNER, USER_AGENT)?;
        let server = Own::Envtest(envtest);
        Self::prepared("envtest", client, server, definitions).await
    }

    /// A new hub in a container, with these CRDs installed. Needs a multi-threaded runtime in real time. Dropping the
    /// future removes the container.
    ///
    /// # Errors
    /// When this build has no such hub, there is no container engine, or the hub does not start or refuses the CRDs.
    #[cfg(feature = "k3s")]
    pub async fn k3s_with(definitions: &[CustomResourceDefinition]) -> Result<Self, HubError> {
        let k3s = Box::new(K3s::start().await?);
        let client = k3s_client(&k3s, RUNNER, USER_AGENT)?;
        Self::prepared("k3s", client, Own::K3s(k3s), definitions).await
    }

    /// A new hub in a container. This build has none.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(feature = "k3s"))]
    pub async fn k3s_with(_: &[CustomResourceDefinition]) -> Result<Self, HubError> {
        Err(HubError::WithoutK3s)
    }

    /// Installs the CRDs on a hub that listens.
    async fn prepared(
        name: &'static str,
        client: Client,
        own: Own,
        definitions: &[CustomResourceDefinition],
    ) -> Result<Self, HubError> {
        let hub = Self {
            connection: Connection::new(client, name),
            own,
        };
        install(&hub.client_as(ADMIN, USER_AGENT)?, definitions)
            .await
            .map_err(|reason| HubError::Install { hub: name, reason })?;
        Ok(hub)
    }

    /// A client for one of the hub's users, with this User-Agent.
    ///
    /// # Errors
    /// When no client can be made of the hub's address, or of the User-Agent.
    ///
    /// # Panics
    /// When there is no such user.
    pub fn client_as(&self, user: &str, user_agent: &str) -> Result<Client, HubError> {
        match &self.own {
            Own::Lab(server) => Ok(server.client_as(user, user_agent)),
            Own::Envtest(envtest) => envtest_client(envtest, user, user_agent),
            #[cfg(feature = "k3s")]
            Own::K3s(k3s) => k3s_client(k3s, user, user_agent),
        }
    }

    /// A client for the hub's administrator, who sets up what other users need.
    ///
    /// # Errors
    /// As [`Self::client_as`].
    pub fn admin(&self, user_agent: &str) -> Result<Client, HubError> {
        self.client_as(ADMIN, user_agent)
    }

    /// How other programs reach the hub as one of its users. `None` for a hub in this process.
    ///
    /// # Errors
    /// When the kubeconfig of K3s cannot be used.
    ///
    /// # Panics
    /// When there is no such user.
    pub fn handout_as(&self, user: &str) -> Result<Option<HubAccess>, HubError> {
        match &self.own {
            Own::Lab(_) => Ok(None),
            Own::Envtest(envtest) => Ok(Some(HubAccess {
                server: envtest.url(),
                kubeconfig: envtest.kubeconfig(user),
            })),
            #[cfg(feature = "k3s")]
            Own::K3s(k3s) => Ok(Some(k3s.handout(user)?)),
        }
    }

    /// The API server in this process, if the hub is one.
    pub fn as_lab(&self) -> Option<&ApiServer> {
        match &self.own {
            Own::Lab(server) => Some(server),
            _ => None,
        }
    }

    /// The API server on this machine, if the hub is one.
    pub fn as_envtest(&self) -> Option<&Envtest> {
        match &self.own {
            Own::Envtest(envtest) => Some(envtest),
            _ => None,
        }
    }

    /// Its audit log so far.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn audit_log(&self) -> Result<AuditLog, RequestsError> {
        match &self.own {
            Own::Lab(server) => read_audit_text("the lab's audit log", server.audit_log().as_bytes()),
            Own::Envtest(envtest) => read_audit_log(&[envtest.audit_log()]),
            #[cfg(feature = "k3s")]
            Own::K3s(k3s) => {
                let name = "the audit log of K3s";
                let text = k3s.audit_log().await.map_err(|error| RequestsError::Read {
                    path: name.to_owned(),
                    cause: std::io::Error::other(error),
                })?;
                read_audit_text(name, text.as_slice())
            }
        }
    }

    /// Ends the hub.
    ///
    /// # Errors
    /// When files or a container stay behind.
    pub async fn stop(self) -> Result<(), HubError> {
        match self.own {
            // The server in this process goes with its last client.
            Own::Lab(_) => Ok(()),
            Own::Envtest(envtest) => Ok(envtest.stop().await?),
            #[cfg(feature = "k3s")]
            Own::K3s(k3s) => Ok(k3s.stop().await?),
        }
    }
}

fn envtest_client(envtest: &Envtest, user: &str, user_agent: &str) -> Result<Client, HubError> {
    own_client("envtest", envtest.config(user), user_agent)
}

#[cfg(feature = "k3s")]
fn k3s_client(k3s: &K3s, user: &str, user_agent: &str) -> Result<Client, HubError> {
    own_client("k3s", k3s.config(user)?, user_agent)
}

/// A client with this User-Agent.
fn own_client(hub: &'static str, mut config: Config, user_agent: &str) -> Result<Client, HubError> {
    config.default_retry = false;
    let failed = |reason| HubError::Client { hub, reason };
    let agent = HeaderValue::from_str(user_agent);
    let agent = agent.map_err(|error| failed(format!("User-Agent {user_agent:?}: {error}")))?;
    config.headers.push((header::USER_AGENT, agent));
    Client::try_from(config).map_err(|error| failed(cause(&error)))
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub")
            .field("source", &self.connection.source)
            .finish_non_exhaustive()
    }
}

/// Why a hub of the suite's own does not start, or leaves something behind.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// The hub does not serve the CRDs.
    #[error("failed to prepare the {hub} hub: {reason}")]
    Install {
        /// Which hub.
        hub: &'static str,
        /// What is wrong.
        reason: String,
    },

    /// There is no client of the hub.
    #[error("failed to make a client of the {hub} hub: {reason}")]
    Client {
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
        "this clusterprofile-conformance was built without the feature k3s, which a hub in a container needs"
    )]
    WithoutK3s,
}

/// The time between two checks that they are served, and how many checks there are.
const POLL: Duration = Duration::from_millis(50);
const POLLS: u32 = 600;

/// Creates the CRDs that are missing, and waits until all are served. The error says why not; it shows nothing of a
/// credential.
async fn install(client: &Client, definitions: &[CustomResourceDefinition]) -> Result<(), String> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in definitions {
        match api.create(&PostParams::default(), definition).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.is_already_exists() => {}
            Err(error) => {
                let name = definition.metadata.name.as_deref().unwrap_or_default();
                return Err(format!("CRD {name}: {}", cause(&error)));
            }
        }
    }
    for definition in definitions {
        let plural = &definition.spec.names.plural;
        let served = served(client, definition).await;
        served.map_err(|error| format!("{plural} is not served: {}", cause(&error)))?;
    }
    Ok(())
}

/// Waits until the hub answers a list in every version that the definition serves: discovery may show a version earlier.
async fn served(client: &Client, definition: &CustomResourceDefinition) -> kube::Result<()> {
    let spec = &definition.spec;
    for version in spec.versions.iter().filter(|version| version.served) {
        let path = format!(
            "/apis/{}/{}/{}?limit=1",
            spec.group, version.name, spec.names.plural
        );
        let mut polls = 0;
        loop {
            let request = Request::get(&path)
                .body(Vec::new())
                .map_err(kube::Error::HttpError)?;
            match client.request::<Value>(request).await {
                Ok(_) => break,
                Err(error) if polls == POLLS => return Err(error),
                Err(_) => sleep(POLL).await,
            }
            polls += 1;
        }
    }
    Ok(())
}
