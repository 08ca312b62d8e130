//! A connection to a hub.

use std::{
    fmt,
    hash::{BuildHasher as _, RandomState},
    sync::Arc,
    time::Duration,
};

use evidence::Traffic;
use http::{HeaderValue, header};
use kube::{Client, Config};
use serde_json::Value;

use super::{
    call::{REQUEST_TIMEOUT, TimedClient},
    error::{ClientError, ConnectError, cause},
    exec::Hidden,
    kubeconfig::{self, HubAccess, KubeconfigOptions},
    own_credentials::OwnCredentials,
    request_cost::RequestCost,
};

/// How the suite names itself to a hub. A name like that of curl or a browser would be answered with indented JSON,
/// nearly twice as long.
pub const USER_AGENT: &str = concat!("clusterprofile-conformance/", env!("CARGO_PKG_VERSION"));

/// A client that names itself, and that does not retry: the server's faults have to be seen.
///
/// # Errors
/// When the configuration leads to no client.
pub fn client(mut config: Config) -> Result<Client, ClientError> {
    config.default_retry = false;
    let agent = HeaderValue::from_static(USER_AGENT);
    config.headers.push((header::USER_AGENT, agent));
    // The client library panics at a token that makes no header.
    let user = Hidden(serde_json::to_value(&config.auth_info).unwrap_or_default());
    let provider = &user.0["auth-provider"]["config"];
    let tokens = [&user.0["token"], &provider["id-token"], &provider["access-token"]];
    let is_header = |token: &Value| HeaderValue::try_from(token.as_str().unwrap_or_default()).is_ok();
    if !tokens.into_iter().all(is_header) {
        return Err(ClientError::token());
    }
    Client::try_from(config).map_err(|error| ClientError::Refused(cause(&error)))
}

/// A client for a hub, and what the hub is called.
pub struct Connection {
    /// Sends requests as the runner; does not retry by itself.
    pub client: Client,
    /// What the hub is, for people: `context kind-hub`, `in-cluster`, `lab`, `envtest`, `k3s`.
    pub source: String,
    request_timeout: Duration,
    access: Option<HubAccess>,
    cost: Arc<RequestCost>,
    /// Makes the waits of runners differ, so that a hub that comes back is not asked by all of them together.
    seed: u64,
}

impl Connection {
    /// A connection by that client to a hub that other programs cannot reach, or are not told how.
    pub fn new(client: Client, source: impl Into<String>) -> Self {
        Self::by(client, source.into(), None)
    }

    /// Connects to the hub of a kubeconfig or, where there is none, of the pod that this runs in. Sends nothing yet, but
    /// runs the credential plugin of the kubeconfig, which may take 60 s, or as long as a request if that is longer.
    ///
    /// # Errors
    /// When there is no such hub or the way to it is not usable.
    pub async fn from_kubeconfig(options: &KubeconfigOptions) -> Result<Self, ConnectError> {
        let (client, source, access) = kubeconfig::connect(options).await?;
        let mut connection = Self::by(client, source, Some(access));
        connection.seed = RandomState::new().hash_one(0);
        connection.request_timeout = options.request_timeout();
        Ok(connection)
    }

    fn by(client: Client, source: String, access: Option<HubAccess>) -> Self {
        Self {
            client,
            source,
            request_timeout: REQUEST_TIMEOUT,
            access,
            cost: Arc::default(),
            seed: 0,
        }
    }

    /// Lets each answer take that long until its end, instead of 30 s; zero: as long as it takes. A list may take as long
    /// as the window, if that is longer.
    #[must_use]
    pub fn with_request_timeout(mut self, limit: Duration) -> Self {
        self.request_timeout = if limit.is_zero() { Duration::MAX } else { limit };
        self
    }

    /// The client, with the time that its requests may take.
    pub(crate) fn timed(&self) -> TimedClient {
        let cost = Arc::clone(&self.cost);
        let access = self.access.as_ref();
        let own = access.map(|access| OwnCredentials::of(&access.kubeconfig));
        TimedClient {
            own: own.unwrap_or_default(),
            ..TimedClient::new(self.client.clone(), self.request_timeout, cost, self.seed)
        }
    }

    /// What all requests by this connection have cost the hub so far, those of the client's other users excepted.
    pub(crate) fn traffic(&self) -> Traffic {
        self.cost.traffic()
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
