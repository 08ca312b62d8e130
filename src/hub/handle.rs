//! One hub, whatever it is.

use kube::Client;

use super::{HubError, KubeconfigOptions, kubeconfig};

/// How the suite names itself to a hub. A name that looks like curl or a browser would be answered with indented
/// JSON, nearly twice as long.
pub const USER_AGENT: &str = concat!("clusterprofile-conformance/", env!("CARGO_PKG_VERSION"));

/// A hub that the suite can reach, and what keeps it alive.
pub struct Hub {
    /// Sends requests as the runner; does not retry by itself.
    pub client: Client,
    /// What the hub is, for people: `context kind-hub`, `in-cluster`, `lab`, `envtest`.
    pub source: String,
    own: Own,
}

/// What of a hub is ours.
enum Own {
    /// Nothing: it was there before, and stays.
    Nothing,
}

impl Hub {
    /// The hub of a kubeconfig or, where there is none, of the pod that this runs in. Nothing is sent yet.
    ///
    /// # Errors
    /// When there is no such hub or the way to it is not usable.
    pub async fn from_kubeconfig(options: &KubeconfigOptions) -> Result<Self, HubError> {
        let (client, source) = kubeconfig::connect(options).await?;
        Ok(Self::somebody_elses(client, source))
    }

    /// A hub that somebody else keeps alive.
    pub fn somebody_elses(client: Client, source: String) -> Self {
        Self {
            client,
            source,
            own: Own::Nothing,
        }
    }

    /// A client for another of the hub's users, who calls itself `user_agent`.
    ///
    /// # Errors
    /// When the hub is not ours.
    pub fn client_as(&self, user: &str, user_agent: &str) -> Result<Client, HubError> {
        let _ = user_agent;
        match &self.own {
            Own::Nothing => Err(HubError::NoSuchUser {
                user: user.to_owned(),
                source_name: self.source.clone(),
            }),
        }
    }

    /// Ends what is ours of the hub.
    ///
    /// # Errors
    /// When something of it stays behind.
    pub async fn stop(self) -> Result<(), HubError> {
        match self.own {
            Own::Nothing => Ok(()),
        }
    }
}
