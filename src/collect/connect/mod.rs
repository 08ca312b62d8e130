//! Connects to hubs and members: kubeconfigs, credentials, requests, and why a request failed.

pub(crate) mod call;
pub(crate) mod exec;
pub(crate) mod failure;
mod kubeconfig;
pub(crate) mod own_credentials;

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use evidence::Traffic;
use http::{HeaderValue, header};
use kube::{Client, Config};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::{Instant, sleep};

pub(crate) use self::{
    call::{
        ATTEMPTS, AnswerBody, NO_WHOLE_ANSWER, REQUEST_TIMEOUT, TimedClient, answer, ask, body, call, get,
        in_namespace, once, request, retry, segment, send, unhealthy_or_cut_off_once, within,
    },
    exec::{EXEC_INFO, ExecCredential, Hidden, exec_info, run_plugin},
    failure::{How, LONGEST_WAIT, RequestFailure, code_name, cut, one_line, read_status},
    kubeconfig::client_config,
    own_credentials::{OwnCredentials, Redaction, credentials_in, secrets_in},
};
pub use self::{
    failure::{ClientError, ConnectError, ConnectFault, cause, root},
    kubeconfig::{HubAccess, KubeconfigOptions, alone, config, read},
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
    /// How long each answer may take until its end; a list as long as the window, if that is longer. `Duration::MAX` is no
    /// limit.
    pub request_timeout: Duration,
    pub(crate) access: Option<HubAccess>,
    cost: Arc<RequestCost>,
    /// Makes the waits of runners differ, so that a hub that comes back is not asked by all of them together.
    seed: u64,
}

impl Connection {
    /// A connection by that client to a hub that other programs cannot reach.
    pub fn new(client: Client, source: impl Into<String>) -> Self {
        Self {
            client,
            source: source.into(),
            request_timeout: REQUEST_TIMEOUT,
            access: None,
            cost: Arc::default(),
            seed: 0,
        }
    }

    /// Connects to the hub of a kubeconfig or, where there is none, of the pod that this runs in. Sends nothing yet, but
    /// runs the credential plugin of the kubeconfig, which may take 60 s, or as long as a request if that is longer.
    ///
    /// # Errors
    /// When there is no such hub or the way to it is not usable.
    pub async fn from_kubeconfig(options: &KubeconfigOptions) -> Result<Self, ConnectError> {
        let (client, source, access) = kubeconfig::connect(options).await?;
        Ok(Self {
            request_timeout: options.request_timeout(),
            access: Some(access),
            seed: RandomState::new().hash_one(0),
            ..Self::new(client, source)
        })
    }

    pub(crate) fn timed(&self) -> TimedClient {
        let cost = Arc::clone(&self.cost);
        let access = self.access.as_ref();
        let own = access.map(|access| OwnCredentials::of(&access.kubeconfig));
        TimedClient {
            secrets: own.unwrap_or_default(),
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

/// How far apart requests are that a hub provokes, on average.
const INTERVAL: Duration = Duration::from_secs(1);
/// How many such requests may follow each other immediately, and how many more for each watch beyond the first: a hub that
/// restarts ends all of them together.
const BURST: u32 = 5;
const BURST_OF_WATCH: u32 = 2;

/// Counts and spaces the requests of one run to its hub.
#[derive(Debug, Default)]
pub(crate) struct RequestCost {
    requests: AtomicU64,
    bytes: AtomicU64,
    pace: Mutex<Pace>,
}

/// A leaky bucket of time.
#[derive(Debug, Default)]
struct Pace {
    /// The time that the requests so far would have taken, less what has passed.
    debt: Duration,
    at: Option<Instant>,
    more_watches: u32,
}

impl RequestCost {
    /// Counts a request.
    pub fn request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts bytes of an answer.
    pub fn bytes(&self, count: usize) {
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// All so far.
    pub fn traffic(&self) -> Traffic {
        Traffic {
            requests: self.requests.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }

    /// Lets so many watches be opened again immediately.
    pub fn allow(&self, watches: usize) {
        let more = watches.saturating_sub(1);
        self.pace.lock().more_watches = u32::try_from(more).unwrap_or(u32::MAX);
    }

    /// Waits until a request that the hub has provoked may be sent: one a second on average, whatever the hub does.
    pub async fn turn(&self) {
        let wait = self.pace.lock().take(Instant::now());
        sleep(wait).await;
    }
}

impl Pace {
    /// Takes a turn, and says how long to wait for it.
    fn take(&mut self, now: Instant) -> Duration {
        let passed = self.at.map(|at| now.saturating_duration_since(at));
        self.at = Some(now);
        self.debt = self.debt.saturating_sub(passed.unwrap_or_default());
        let burst = BURST.saturating_add(self.more_watches.saturating_mul(BURST_OF_WATCH));
        let wait = (self.debt + INTERVAL).saturating_sub(INTERVAL.saturating_mul(burst));
        self.debt += INTERVAL;
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many turns are had in that time.
    async fn turns(cost: &RequestCost, seconds: u64) -> u64 {
        let end = Instant::now() + Duration::from_secs(seconds);
        let mut turns = 0;
        while Instant::now() < end {
            cost.turn().await;
            turns += 1;
        }
        turns
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_at_once_then_one_a_second() {
        let cost = RequestCost::default();
        let began = Instant::now();
        for _ in 0..BURST {
            cost.turn().await;
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert_eq!(turns(&cost, 100).await, 100);
        sleep(Duration::from_secs(3600)).await;
        assert!(turns(&cost, 100).await <= 105);
    }

    #[tokio::test(start_paused = true)]
    async fn each_watch_may_come_back_at_once_when_the_hub_restarts() {
        let cost = RequestCost::default();
        cost.allow(50);
        let began = Instant::now();
        for _ in 0..50 {
            cost.turn().await;
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert!(turns(&cost, 600).await <= 700);
    }
}
