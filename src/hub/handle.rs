//! One hub, whatever it is.

use http::{HeaderValue, header};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;

use super::{
    Assets, Envtest, EnvtestOptions, Handout, HubError, KubeconfigOptions, cause, install::install,
    kubeconfig,
};
use crate::{api::crd, clock::Clock, lab::apiserver::ApiServer};

/// How the suite names itself to a hub. A name that looks like curl or a browser would be answered with indented
/// JSON, nearly twice as long.
pub const USER_AGENT: &str = concat!("clusterprofile-conformance/", env!("CARGO_PKG_VERSION"));
/// Who runs the suite on a hub of its own.
const RUNNER: &str = "conformance";
/// Who sets up a hub of our own.
const ADMIN: &str = "admin";

/// A hub that the suite can reach, and what keeps it alive.
///
/// A hub of the suite's own knows the users `admin`, `conformance` (who runs the suite), `reference-manager` and
/// `viewer`.
pub struct Hub {
    /// Sends requests as the runner; does not retry by itself.
    pub client: Client,
    /// What the hub is, for people: `context kind-hub`, `in-cluster`, `lab`, `envtest`.
    pub source: String,
    own: Own,
}

/// What of a hub is ours.
enum Own {
    /// Nothing: it was there before, and stays. The way to it for others.
    Nothing(Box<Handout>),
    /// An API server in this process.
    Lab(ApiServer),
    /// An API server on this machine.
    Envtest(Box<Envtest>),
}

impl Hub {
    /// The hub of a kubeconfig or, where there is none, of the pod that this runs in. Nothing is sent yet.
    ///
    /// # Errors
    /// When there is no such hub or the way to it is not usable.
    pub async fn from_kubeconfig(options: &KubeconfigOptions) -> Result<Self, HubError> {
        let (client, source, handout) = kubeconfig::connect(options).await?;
        Ok(Self {
            client,
            source,
            own: Own::Nothing(Box::new(handout)),
        })
    }

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
        let server = ApiServer::new(clock);
        install(&server.client(ADMIN), definitions)
            .await
            .map_err(|reason| HubError::Unprepared { hub: "lab", reason })?;
        Ok(Self {
            client: server.client_as(RUNNER, USER_AGENT),
            source: "lab".to_owned(),
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
        install(&envtest_client(&envtest, ADMIN, USER_AGENT)?, definitions)
            .await
            .map_err(|reason| HubError::Unprepared {
                hub: "envtest",
                reason,
            })?;
        Ok(Self {
            client: envtest_client(&envtest, RUNNER, USER_AGENT)?,
            source: "envtest".to_owned(),
            own: Own::Envtest(envtest),
        })
    }

    /// A client for another of the hub's users, who calls itself `user_agent`.
    ///
    /// # Errors
    /// When the hub is not the suite's own.
    ///
    /// # Panics
    /// When there is no such user.
    pub fn client_as(&self, user: &str, user_agent: &str) -> Result<Client, HubError> {
        match &self.own {
            Own::Lab(server) => Ok(server.client_as(user, user_agent)),
            Own::Envtest(envtest) => envtest_client(envtest, user, user_agent),
            Own::Nothing(_) => Err(HubError::NoSuchUser {
                user: user.to_owned(),
                hub: self.source.clone(),
            }),
        }
    }

    /// The way to somebody's hub for other programs; none where the hub is the suite's own.
    pub fn handout(&self) -> Option<&Handout> {
        match &self.own {
            Own::Nothing(handout) => Some(handout),
            Own::Lab(_) | Own::Envtest(_) => None,
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

    /// Ends what is ours of the hub.
    ///
    /// # Errors
    /// When something of it stays behind.
    pub async fn stop(self) -> Result<(), HubError> {
        match self.own {
            // The server in this process goes with its last client.
            Own::Nothing(_) | Own::Lab(_) => Ok(()),
            Own::Envtest(envtest) => Ok(envtest.stop().await?),
        }
    }
}

fn envtest_client(envtest: &Envtest, user: &str, user_agent: &str) -> Result<Client, HubError> {
    let unprepared = |reason| HubError::Unprepared {
        hub: "envtest",
        reason,
    };
    let mut config = envtest.config(user);
    let agent = HeaderValue::from_str(user_agent).map_err(|error| unprepared(error.to_string()))?;
    config.headers.push((header::USER_AGENT, agent));
    Client::try_from(config).map_err(|error| unprepared(cause(&error)))
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub")
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}
