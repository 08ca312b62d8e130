//! One hub, of any kind.

use ::envtest::{Assets, Envtest, EnvtestOptions};
use apiserver::{ApiServer, User};
use collect::{
    clock::Clock,
    connect::{Connection, HubAccess, USER_AGENT},
};
use http::{HeaderValue, header};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Client, Config};

#[cfg(feature = "k3s")]
use super::K3s;
use super::{
    HubError,
    install::install,
    users::{ADMIN, CONSUMER, MANAGER, RUNNER, SCHEDULER, VIEWER},
};
use crate::crd;

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
        let server = crate::server::server(clock);
        server.set_version(LAB_VERSION);
        for name in [RUNNER, MANAGER, SCHEDULER, CONSUMER] {
            server.add_user(User::master(name));
        }
        server.add_user(User::with_rules(VIEWER, Vec::new()));
        install(&server.client(ADMIN), definitions)
            .await
            .map_err(|source| HubError::Install { hub: "lab", source })?;
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
        let own = Own::Envtest(envtest);
        Self::prepared("envtest", client, own, definitions).await
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
            .map_err(|source| HubError::Install { hub: name, source })?;
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

    /// A client for the hub's administrator, who sets up what others need.
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

    /// K3s in a container, if the hub is one.
    #[cfg(feature = "k3s")]
    pub fn as_k3s(&self) -> Option<&K3s> {
        match &self.own {
            Own::K3s(k3s) => Some(k3s),
            _ => None,
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
    let agent = HeaderValue::from_str(user_agent).map_err(|source| HubError::UserAgent {
        user_agent: user_agent.to_owned(),
        source,
    })?;
    config.headers.push((header::USER_AGENT, agent));
    Client::try_from(config).map_err(|error| HubError::Client {
        hub,
        error: Box::new(error),
    })
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub")
            .field("source", &self.connection.source)
            .finish_non_exhaustive()
    }
}
