//! Leads by a Lease of coordination.k8s.io: of several replicas, only its holder works.
//!
//! The clocks of replicas may disagree. So a lease counts as expired when it has not changed for its duration, by the
//! clock of whoever looks; the times in it are for people.

use std::{fmt, str::FromStr, time::Duration};

use evidence::api::syntax::{is_dns_label, is_dns_subdomain};
use http::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    Grants,
    call::{Failure, TimedClient, once, segment},
    clock::Clock,
    connect::Connection,
};

/// How long a lease lasts without being renewed.
pub const DURATION: Duration = Duration::from_secs(15);
/// How long its holder may fail to renew it. The rest of its duration makes sure that there are never two holders.
const DEADLINE: Duration = Duration::from_secs(10);
/// How often it is renewed, or looked at.
pub const INTERVAL: Duration = Duration::from_secs(2);
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The largest name of a holder that is shown.
const SHOWN: usize = 253;

/// The name of a Lease. It parses from `NAMESPACE/NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// Why a text names no Lease.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeaseNameError {
    /// There is no slash.
    #[error("write it as NAMESPACE/NAME")]
    NoNamespace,
    /// The API server would refuse the namespace.
    #[error("{0:?} is no name of a namespace")]
    Namespace(String),
    /// The API server would refuse the name.
    #[error("{0:?} is no name of a Lease")]
    Name(String),
}

/// Why it is unknown who leads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeaseError {
    /// The runner may not use the Lease.
    #[error(
        "the hub does not let the runner lead by the Lease {lease}: {message}\nthe minimal RBAC role:\n{manifest}"
    )]
    Forbidden {
        /// The Lease.
        lease: LeaseName,
        /// What the hub said.
        message: String,
        /// The role in YAML, to be applied by somebody who may.
        manifest: String,
    },
    /// There is no such namespace.
    #[error("the Lease {lease} cannot be created, as its namespace does not exist: {message}")]
    NoNamespace {
        /// The Lease.
        lease: LeaseName,
        /// What the hub said.
        message: String,
    },
    /// Another failure, which may pass.
    #[error("failed to use the Lease {lease}: {message}")]
    Failed {
        /// The Lease.
        lease: LeaseName,
        /// What happened.
        message: String,
    },
}

impl LeaseError {
    /// True if somebody has to change the hub first.
    pub fn is_lasting(&self) -> bool {
        !matches!(self, LeaseError::Failed { .. })
    }
}

impl FromStr for LeaseName {
    type Err = LeaseNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (namespace, name) = text.split_once('/').ok_or(LeaseNameError::NoNamespace)?;
        if !is_dns_label(namespace) {
            return Err(LeaseNameError::Namespace(namespace.to_owned()));
        }
        if !is_dns_subdomain(name) {
            return Err(LeaseNameError::Name(name.to_owned()));
        }
        Ok(Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for LeaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A replica that wants to lead.
pub struct Candidate {
    client: TimedClient,
    clock: Clock,
    lease: LeaseName,
    identity: String,
    /// What the Lease was when it was seen last, and since when it has been so.
    seen: Option<(Value, Instant)>,
    /// When this replica has acquired or renewed it last; none if it does not hold it.
    renewed: Option<Instant>,
}

impl Candidate {
    /// A replica of that name, which has to differ from those of others.
    pub fn new(hub: &Connection, clock: Clock, lease: LeaseName, identity: String) -> Self {
        let mut client = hub.timed();
        client.request_timeout = client.request_timeout.min(PATIENCE);
        Self {
            client,
            clock,
            lease,
            identity,
            seen: None,
            renewed: None,
        }
    }

    /// Tries to acquire the lease, or to renew it. Returns `true` if this replica holds it now. Call it every
    /// [`INTERVAL`].
    ///
    /// # Errors
    /// When the hub refuses or does not answer. A holder stays one for 10 s.
    pub async fn attempt(&mut self) -> Result<bool, LeaseError> {
        match self.acquire().await {
            Ok(held) => {
                self.renewed = held.then(Instant::now);
                Ok(held)
            }
            Err(failure) => {
                if self.renewed.is_some_and(|at| at.elapsed() < DEADLINE) {
                    return Ok(true);
                }
                self.renewed = None;
                Err(self.error(&failure))
            }
        }
    }

    /// The replica that holds it, as of the last attempt; none if it has no holder.
    pub fn holder(&self) -> Option<String> {
        let (lease, _) = self.seen.as_ref()?;
        let holder = lease["spec"]["holderIdentity"].as_str()?;
        let shown: String = holder.chars().take(SHOWN).collect();
        Some(shown).filter(|holder| !holder.is_empty())
    }

    /// Gives the lease back, so that another replica need not wait for its end.
    pub async fn release(&mut self) {
        if self.renewed.take().is_none() {
            return;
        }
        if let Some((lease, _)) = self.seen.take() {
            let mut given = lease;
            given["spec"]["holderIdentity"] = "".into();
            given["spec"]["leaseDurationSeconds"] = 1.into();
            // If that fails, the lease ends by itself.
            let _ = self.send(Method::PUT, &self.path(), Some(&given)).await;
        }
    }

    async fn acquire(&mut self) -> Result<bool, Failure> {
        let found = match self.send(Method::GET, &self.path(), None).await {
            Ok(found) => found,
            Err(failure) if failure.code() == 404 => return self.create().await,
            Err(failure) => return Err(failure),
        };
        let version = |lease: &Value| lease["metadata"]["resourceVersion"].clone();
        let is_known = self
            .seen
            .as_ref()
            .is_some_and(|(seen, _)| version(seen) == version(&found));
        if !is_known {
            self.seen = Some((found.clone(), Instant::now()));
        }
        let spec = &found["spec"];
        let holder = spec["holderIdentity"].as_str().unwrap_or_default();
        let own = holder == self.identity;
        let lasts = spec["leaseDurationSeconds"].as_u64().unwrap_or_default();
        let since = self.seen.as_ref().map_or_else(Instant::now, |(_, since)| *since);
        if !own && !holder.is_empty() && since.elapsed() < Duration::from_secs(lasts) {
            return Ok(false);
        }
        let mut wanted = found.clone();
        let transitions = spec["leaseTransitions"].as_u64().unwrap_or_default();
        let acquired = spec["acquireTime"].as_str().filter(|_| own).map(str::to_owned);
        wanted["spec"] = self.spec(acquired, transitions + u64::from(!own));
        self.put(Method::PUT, &self.path(), &wanted).await
    }

    async fn create(&mut self) -> Result<bool, Failure> {
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"namespace": self.lease.namespace, "name": self.lease.name},
            "spec": self.spec(None, 0),
        });
        self.put(Method::POST, &self.folder(), &lease).await
    }

    /// Stores the lease as this replica's. Another replica may have been faster.
    async fn put(&mut self, method: Method, path: &str, lease: &Value) -> Result<bool, Failure> {
        match self.send(method, path, Some(lease)).await {
            Ok(stored) => {
                self.seen = Some((stored, Instant::now()));
                Ok(true)
            }
            Err(failure) if failure.code() == 409 => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    fn spec(&self, acquired: Option<String>, transitions: u64) -> Value {
        let now = format!("{:.6}", self.clock.now());
        json!({
            "holderIdentity": self.identity,
            "leaseDurationSeconds": DURATION.as_secs(),
            "acquireTime": acquired.unwrap_or_else(|| now.clone()),
            "renewTime": now,
            "leaseTransitions": transitions,
        })
    }

    async fn send(&self, method: Method, path: &str, lease: Option<&Value>) -> Result<Value, Failure> {
        once(&self.client, method, path, "application/json", lease).await
    }

    fn folder(&self) -> String {
        let namespace = segment(&self.lease.namespace);
        format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases")
    }

    fn path(&self) -> String {
        format!("{}/{}", self.folder(), segment(&self.lease.name))
    }

    fn error(&self, failure: &Failure) -> LeaseError {
        let (lease, message) = (self.lease.clone(), failure.to_string());
        match failure.code() {
            403 => LeaseError::Forbidden {
                manifest: Grants::of_lease(&lease),
                lease,
                message,
            },
            404 => LeaseError::NoNamespace { lease, message },
            _ => LeaseError::Failed { lease, message },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_has_a_namespace_and_a_name() {
        let lease: LeaseName = "fleet/monitor".parse().expect("a name");
        assert_eq!(lease.to_string(), "fleet/monitor");
        for (given, told) in [
            ("monitor", "write it as NAMESPACE/NAME"),
            ("Fleet/monitor", "\"Fleet\" is no name of a namespace"),
            ("fleet/a/b", "\"a/b\" is no name of a Lease"),
        ] {
            let refused = given.parse::<LeaseName>().expect_err("no name");
            assert_eq!(refused.to_string(), told);
        }
    }
}
