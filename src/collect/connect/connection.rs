//! A connection to a hub.

use std::fmt;

use kube::Client;

use super::{ConnectError, HubAccess, KubeconfigOptions, kubeconfig, own_credentials::with_credentials};

/// How the suite names itself to a hub. A name that looks like curl or a browser would be answered with indented
/// JSON, nearly twice as long.
pub const USER_AGENT: &str = concat!("clusterprofile-conformance/", env!("CARGO_PKG_VERSION"));

/// A client for a hub, and what the hub is called.
pub struct Connection {
    /// Sends requests as the runner; does not retry by itself.
    pub client: Client,
    /// What the hub is, for people: `context kind-hub`, `in-cluster`, `lab`, `envtest`, `k3s`.
    pub source: String,
    access: Option<HubAccess>,
}

impl Connection {
    /// A connection by that client to a hub that other programs cannot reach, or are not told how.
    pub fn new(client: Client, source: impl Into<String>) -> Self {
        Self {
            client,
            source: source.into(),
            access: None,
        }
    }

    /// Connects to the hub of a kubeconfig or, where there is none, of the pod that this runs in. Sends nothing yet.
    ///
    /// # Errors
    /// When there is no such hub or the way to it is not usable.
    pub async fn from_kubeconfig(options: &KubeconfigOptions) -> Result<Self, ConnectError> {
        let (client, source, access) = kubeconfig::connect(options).await?;
        Ok(Self {
            client: with_credentials(client, &access),
            source,
            access: Some(access),
        })
    }

    /// How other programs reach the hub; none where it is the suite's own.
    pub fn access(&self) -> Option<&HubAccess> {
        self.access.as_ref()
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}
