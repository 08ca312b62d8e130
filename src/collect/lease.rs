//! Leads by a Lease of coordination.k8s.io: of several replicas, only its holder works.
//!
//! The clocks of replicas may disagree. So a lease counts as expired when it has not changed for its duration, by the
//! clock of whoever looks; the times in it are for people. It is used as client-go's leader election uses it, with the
//! same times.

use std::{fmt, str::FromStr, sync::Arc, time::Duration};

use evidence::api::syntax::{is_dns_label, is_dns_subdomain};
use http::Method;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep, timeout_at};

use super::{
    Grants,
    call::{Failure, TimedClient, once, segment},
    clock::Clock,
    connect::Connection,
    toll::{Meter, Toll},
};

/// How long a lease lasts without being renewed.
pub const DURATION: Duration = Duration::from_secs(15);
/// How long its holder may fail to renew it, from when it sent the last renewal. The rest of its duration makes sure that
/// there are never two holders.
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

/// A Lease as the hub shows it: fields that are not ours stay as they are.
type Object = Map<String, Value>;

/// A replica that wants to lead.
pub struct Candidate {
    client: TimedClient,
    clock: Clock,
    lease: LeaseName,
    identity: String,
    /// What the Lease was when it was seen last, and since when it has been so.
    seen: Option<(Object, Instant)>,
    /// When the request was sent that acquired or renewed it last; none if this replica does not hold it.
    renewed: Option<Instant>,
}

/// What came of an attempt that the hub answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// This replica holds the lease.
    Held,
    /// Another one does.
    Taken,
    /// Somebody has changed the Lease meanwhile.
    Outrun,
}

impl Candidate {
    /// A replica of that name, which has to differ from those of others.
    pub fn new(hub: &Connection, clock: Clock, lease: LeaseName, identity: String) -> Self {
        Self {
            client: client(hub, Arc::default()),
            clock,
            lease,
            identity,
            seen: None,
            renewed: None,
        }
    }

    /// Goes on by another connection.
    pub fn reconnect(&mut self, hub: &Connection) {
        self.client = client(hub, Arc::clone(&self.client.toll));
    }

    /// Reads what the Lease costs the hub.
    pub fn meter(&self) -> Meter {
        Meter::of(&self.client.toll)
    }

    /// Tries once to acquire the lease, or to renew it. Returns `true` if this replica holds it now.
    ///
    /// # Errors
    /// When the hub refuses or does not answer.
    pub async fn attempt(&mut self) -> Result<bool, LeaseError> {
        match self.acquire().await {
            Ok(outcome) => Ok(outcome == Outcome::Held),
            Err(failure) => Err(self.error(&failure)),
        }
    }

    /// Renews the lease every [`INTERVAL`]. Returns when this replica may lead no longer: another one holds the lease, or
    /// no request of the last 10 s has renewed it. Other replicas wait for [`DURATION`].
    pub async fn keep(&mut self) {
        while let Some(renewed) = self.renewed {
            let renewing = async {
                sleep(INTERVAL).await;
                self.acquire().await
            };
            match timeout_at(renewed + DEADLINE, renewing).await {
                Ok(Ok(Outcome::Taken)) | Err(_) => self.renewed = None,
                // A failure may pass before the deadline.
                Ok(Ok(Outcome::Held | Outcome::Outrun) | Err(_)) => {}
            }
        }
    }

    /// The other replica that holds it, as of the last answer; none if none does.
    pub fn holder(&self) -> Option<String> {
        let (lease, _) = self.seen.as_ref()?;
        let holder = holder(lease);
        let is_other = !holder.is_empty() && holder != self.identity;
        is_other.then(|| holder.chars().take(SHOWN).collect())
    }

    /// Gives the lease back, so that another replica need not wait for its end.
    pub async fn release(&mut self) {
        if self.renewed.take().is_none() {
            return;
        }
        let seen = self.seen.take();
        if let Some((lease, _)) = seen
            && self.give_back(lease).await.is_ok()
        {
            return;
        }
        // The last renewal may have been stored without its answer. If this fails too, the lease ends by itself.
        if let Ok(lease) = self.look().await
            && holder(&lease) == self.identity
        {
            let _ = self.give_back(lease).await;
        }
    }

    async fn give_back(&self, mut lease: Object) -> Result<Object, Failure> {
        let spec = spec(&mut lease);
        spec.insert("holderIdentity".to_owned(), "".into());
        spec.insert("leaseDurationSeconds".to_owned(), 1.into());
        self.send(Method::PUT, &self.path(), Some(&lease)).await
    }

    async fn acquire(&mut self) -> Result<Outcome, Failure> {
        if let (Some(_), Some((seen, _))) = (self.renewed, &self.seen) {
            // Its holder need not look first: if somebody has changed the Lease, the hub refuses the renewal.
            let renewal = self.claim(seen.clone());
            match self.store(Method::PUT, &self.path(), &renewal).await {
                Err(failure) if matches!(failure.code(), 404 | 409) => {}
                Err(failure) => {
                    // Whatever it was, the next attempt looks first.
                    self.seen = None;
                    return Err(failure);
                }
                outcome => return outcome,
            }
        }
        let found = match self.look().await {
            Ok(found) => found,
            Err(failure) if failure.code() == 404 => return self.create().await,
            Err(failure) => return Err(failure),
        };
        let version = |lease: &Object| {
            lease
                .get("metadata")
                .map(|metadata| metadata["resourceVersion"].clone())
        };
        let known = self
            .seen
            .as_ref()
            .filter(|(seen, _)| version(seen) == version(&found));
        let since = known.map_or_else(Instant::now, |(_, since)| *since);
        self.seen = Some((found.clone(), since));
        let holder = holder(&found);
        let lasts = found
            .get("spec")
            .and_then(|spec| spec["leaseDurationSeconds"].as_u64());
        // Whoever shortens it by hand does not tell its holder.
        let lasts = Duration::from_secs(lasts.unwrap_or_default()).max(DURATION);
        if !holder.is_empty() && holder != self.identity && since.elapsed() < lasts {
            self.renewed = None;
            return Ok(Outcome::Taken);
        }
        let claim = self.claim(found);
        outrun(self.store(Method::PUT, &self.path(), &claim).await)
    }

    async fn look(&self) -> Result<Object, Failure> {
        self.send(Method::GET, &self.path(), None).await
    }

    async fn create(&mut self) -> Result<Outcome, Failure> {
        let mut lease = Object::new();
        lease.insert("apiVersion".to_owned(), "coordination.k8s.io/v1".into());
        lease.insert("kind".to_owned(), "Lease".into());
        let metadata = json!({"namespace": self.lease.namespace, "name": self.lease.name});
        lease.insert("metadata".to_owned(), metadata);
        let claim = self.claim(lease);
        outrun(self.store(Method::POST, &self.folder(), &claim).await)
    }

    /// Stores the lease as this replica's.
    async fn store(&mut self, method: Method, path: &str, lease: &Object) -> Result<Outcome, Failure> {
        // The hub cannot have stored it earlier, so others wait for longer than the deadline that counts from now.
        let sent = Instant::now();
        let stored = self.send(method, path, Some(lease)).await?;
        self.seen = Some((stored, Instant::now()));
        self.renewed = Some(sent);
        Ok(Outcome::Held)
    }

    fn claim(&self, lease: Object) -> Object {
        claim(lease, &self.identity, self.clock.now())
    }

    async fn send(&self, method: Method, path: &str, lease: Option<&Object>) -> Result<Object, Failure> {
        let lease = lease.map(|lease| Value::Object(lease.clone()));
        once(&self.client, method, path, "application/json", lease.as_ref()).await
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

/// A client for a Lease, by that connection.
fn client(hub: &Connection, toll: Arc<Toll>) -> TimedClient {
    let mut client = hub.timed().with_toll(toll);
    client.request_timeout = client.request_timeout.min(PATIENCE);
    client
}

/// The name of the holder; empty if there is none.
fn holder(lease: &Object) -> &str {
    let holder = lease.get("spec").and_then(|spec| spec["holderIdentity"].as_str());
    holder.unwrap_or_default()
}

/// The fields of the lease, which may be missing.
fn spec(lease: &mut Object) -> &mut Object {
    let spec = lease.entry("spec").or_insert(Value::Null);
    if !spec.is_object() {
        *spec = Value::Object(Object::new());
    }
    spec.as_object_mut().expect("it is one by now")
}

/// The Lease with that replica as its holder.
fn claim(mut lease: Object, identity: &str, now: Timestamp) -> Object {
    let own = holder(&lease) == identity;
    let now = Value::from(format!("{now:.6}"));
    let spec = spec(&mut lease);
    if !own {
        let before = spec.contains_key("holderIdentity");
        let transitions = spec
            .get("leaseTransitions")
            .and_then(Value::as_u64)
            .unwrap_or_default();
        // It is an int32 on the hub.
        let transitions = (transitions.saturating_add(u64::from(before))).min(i32::MAX as u64);
        spec.insert("leaseTransitions".to_owned(), transitions.into());
        spec.insert("acquireTime".to_owned(), now.clone());
    }
    spec.insert("holderIdentity".to_owned(), identity.into());
    spec.insert("leaseDurationSeconds".to_owned(), DURATION.as_secs().into());
    spec.insert("renewTime".to_owned(), now);
    lease
}

/// A conflict means that another replica was faster.
fn outrun(outcome: Result<Outcome, Failure>) -> Result<Outcome, Failure> {
    match outcome {
        Err(failure) if failure.code() == 409 => Ok(Outcome::Outrun),
        outcome => outcome,
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

    #[test]
    fn a_claim_leaves_the_fields_of_others_alone() {
        let Value::Object(found) = json!({
            "metadata": {"name": "monitor", "labels": {"team": "fleet"}},
            "spec": {"holderIdentity": "other", "leaseTransitions": 6, "strategy": "OldestEmulationVersion"},
        }) else {
            panic!("it is an object")
        };
        let claimed = Value::Object(claim(found.clone(), "one", Timestamp::UNIX_EPOCH));
        assert_eq!(claimed["metadata"], found["metadata"]);
        let now = "1970-01-01T00:00:00.000000Z";
        let spec = json!({
            "holderIdentity": "one", "leaseTransitions": 7, "strategy": "OldestEmulationVersion",
            "leaseDurationSeconds": 15, "acquireTime": now, "renewTime": now,
        });
        assert_eq!(claimed["spec"], spec);
        let mut odd = found;
        odd.insert("spec".to_owned(), json!(["hostile"]));
        let claimed = claim(odd, "one", Timestamp::UNIX_EPOCH);
        assert_eq!(holder(&claimed), "one");
    }
}
