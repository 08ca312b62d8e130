//! One hub, whatever it is.

use apiserver::ApiServer;
use collect::{
    clock::Clock,
    connect::{Connection, HubAccess, USER_AGENT, cause},
};
use envtest::{Assets, Envtest, EnvtestOptions};
use http::{HeaderValue, header};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Client, Config};

#[cfg(feature = "k3s")]
use super::K3s;
use super::{HubError, install::install};
use crate::crd;

/// Who runs the suite on a hub of its own.
const RUNNER: &str = "conformance";
/// Who sets up a hub of our own.
const ADMIN: &str = "admin";

/// A hub that the suite can reach, and what keeps it alive.
///
/// A hub of the suite's own knows the users `admin`, `conformance` (who runs the suite), `reference-manager` and
/// `viewer`.
pub struct Hub {
    /// The runner's connection to it.
    pub connection: Connection,
    own: Own,
}

/// What of a hub is ours.
enum Own {
    /// An API server in this process.
    Lab(ApiServer),
    /// An API server on this machine.
    Envtest(Box<Envtest>),
    /// A container on some machine.
    #[cfg(feature = "k3s")]
    K3s(Box<K3s>),
}

impl Hub {
    /// Whether this build can start a hub in a container.
    pub const HAS_K3S: bool = cfg!(feature = "k3s");

    /// A new hub in this process, with the CRDs installed. Follows tokio's clock, paused or not.
    ///
    /// # Errors
    /// When it does not take the CRDs.
    pub async fn lab(clock: Clock) -> Result<Self, HubError> {
        Self::lab_with(clock, &crd::all()).await
    }

    /// Like [`Self::lab`], with these CRDs instead of the suite's.
    ///
    /// # Errors
    /// When it does not take the CRDs.
    pub async fn lab_with(clock: Clock, definitions: &[CustomResourceDefinition]) -> Result<Self, HubError> {
        let server = ApiServer::new(apiserver::Clock::new(move || clock.now()));
        install(&server.client(ADMIN), definitions)
            .await
            .map_err(|reason| HubError::Unprepared { hub: "lab", reason })?;
        Ok(Self {
            connection: Connection::new(server.client_as(RUNNER, USER_AGENT), "lab"),
            own: Own::Lab(server),
        })
    }

    /// A new hub on this machine, with the CRDs installed. Needs a runtime in real time.
    ///
    /// # Errors
    /// When it does not start or does not take the CRDs.
    pub async fn envtest(assets: &Assets, options: EnvtestOptions) -> Result<Self, HubError> {
        Self::envtest_with(assets, options, &crd::all()).await
    }

    /// Like [`Self::envtest`], with these CRDs instead of the suite's.
    ///
    /// # Errors
    /// When it does not start or does not take the CRDs.
    pub async fn envtest_with(
        assets: &Assets,
        options: EnvtestOptions,
        definitions: &[CustomResourceDefinition],
    ) -> Result<Self, HubError> {
        let envtest = Box::new(Envtest::start(assets, options).await?);
        let client = envtest_client(&envtest, RUNNER, USER_AGENT)?;
        let own = Own::Envtest(envtest);
        Self::prepared("envtest", client, own, definitions).await
    }

    /// A new hub in a container, with these CRDs installed. Needs a multi-threaded runtime in real time. Dropping the
    /// future removes what has been started by then.
    ///
    /// # Errors
    /// When this build has no such hub, there is no container engine, or the hub does not start or does not take the
    /// CRDs.
    #[cfg(feature = "k3s")]
    pub async fn k3s_with(definitions: &[CustomResourceDefinition]) -> Result<Self, HubError> {
        let k3s = Box::new(K3s::start().await?);
        let client = k3s_client(&k3s, RUNNER, USER_AGENT)?;
        Self::prepared("k3s", client, Own::K3s(k3s), definitions).await
    }

    /// A new hub in a container, where a build has one: this one has not.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(feature = "k3s"))]
    pub async fn k3s_with(_: &[CustomResourceDefinition]) -> Result<Self, HubError> {
        Err(HubError::WithoutK3s)
    }

    /// A hub of our own that listens, once it has the CRDs.
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
            .map_err(|reason| HubError::Unprepared { hub: name, reason })?;
        Ok(hub)
    }

    /// A client for another of the hub's users, who calls itself `user_agent`.
    ///
    /// # Errors
    /// When what the hub tells of itself leads nowhere.
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

    /// The way to a hub of the suite's own that listens, as one of its users; none of the others.
    ///
    /// # Errors
    /// When what the hub has told of itself leads nowhere.
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
            Own::K3s(k3s) => k3s
                .handout(user)
                .map(Some)
                .map_err(|reason| HubError::Unprepared { hub: "k3s", reason }),
        }
    }

    /// The API server in this process, where the hub is one.
    pub fn as_lab(&self) -> Option<&ApiServer> {
        match &self.own {
            Own::Lab(server) => Some(server),
            _ => None,
        }
    }

    /// The API server on this machine, where the hub is one.
    pub fn as_envtest(&self) -> Option<&Envtest> {
        match &self.own {
            Own::Envtest(envtest) => Some(envtest),
            _ => None,
        }
    }

    /// K3s in a container, where the hub is one.
    #[cfg(feature = "k3s")]
    pub fn as_k3s(&self) -> Option<&K3s> {
        match &self.own {
            Own::K3s(k3s) => Some(k3s),
            _ => None,
        }
    }

    /// Ends what is ours of the hub.
    ///
    /// # Errors
    /// When something of it stays behind.
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
    let hub = "k3s";
    let config = k3s.config(user);
    own_client(
        hub,
        config.map_err(|reason| HubError::Unprepared { hub, reason })?,
        user_agent,
    )
}

/// A client of a hub of our own, which calls itself `user_agent`.
fn own_client(hub: &'static str, mut config: Config, user_agent: &str) -> Result<Client, HubError> {
    let unprepared = |reason| HubError::Unprepared { hub, reason };
    config.default_retry = false;
    let agent = HeaderValue::from_str(user_agent).map_err(|error| unprepared(error.to_string()))?;
    config.headers.push((header::USER_AGENT, agent));
    Client::try_from(config).map_err(|error| unprepared(cause(&error)))
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub")
            .field("source", &self.connection.source)
            .finish_non_exhaustive()
    }
}
