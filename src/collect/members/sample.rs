//! Queries one member once: each part by its own requests, most important first, with limits of time and size.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use evidence::{
    ClusterProperty, Lease, MemberPart, MemberSample, Readyz, Reason, ReasonId,
    api::names::LABEL_HONOURED_PROPERTY,
};
use http::{HeaderMap, Method, StatusCode};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1;
use kube::{Client, config::AuthInfo, core::Status};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout_at};
use zeroize::Zeroizing;

use crate::{
    clock::{Clock, date},
    connect::{
        How, NO_WHOLE_ANSWER, RequestFailure, TimedClient, answer, body, call::read, code_name, once,
        one_line, request, retry, secrets_in, segment, send, within,
    },
    subprocess::without,
    watch::{SMALL, SMALL_AND_LAST, list, list_head, list_with},
};

/// How long a request may take in all.
const REQUEST: Duration = Duration::from_secs(10);
/// How often a request is sent to a member that is busy or unhealthy.
const ATTEMPTS: u32 = 2;
/// The largest answer in bytes, the largest list, and the largest list of metadata, whose items are not kept.
const LARGEST: usize = 1 << 20;
const LARGEST_LIST: u64 = 4 << 20;
const LARGEST_METADATA: u64 = 64 << 20;

/// Why a member that does not accept the credential is missing.
pub(super) const NOT_ACCEPTED: &str =
    "the member answered 401 Unauthorized: it does not accept the credential";

pub(super) struct Asker {
    /// For single objects and lists of whole objects.
    pub client: TimedClient,
    pub clean: Clean,
    /// When its credential expires, if that is known.
    pub expires: Option<Timestamp>,
}

impl Asker {
    pub fn new(client: Client, clean: Clean) -> Self {
        Self {
            client: TimedClient {
                most_of_list: LARGEST_LIST,
                most_of_answer: LARGEST,
                ..TimedClient::new(client, REQUEST, Arc::default(), 0)
            },
            clean,
            expires: None,
        }
    }

    fn for_metadata(&self) -> TimedClient {
        TimedClient {
            most_of_list: LARGEST_METADATA,
            ..self.client.clone()
        }
    }

    /// Gets what is at `path`, whatever the member answers.
    pub async fn answer(&self, path: &str) -> Result<(StatusCode, Bytes), RequestFailure> {
        within(REQUEST, NO_WHOLE_ANSWER, async {
            let response = answer(&self.client, request(Method::GET, path)?).await?;
            Ok((response.status(), body(response, &self.client).await?))
        })
        .await
    }

    pub async fn get(&self, path: &str) -> Result<(Value, HeaderMap), RequestFailure> {
        let attempts = retry(ATTEMPTS, RequestFailure::is_unhealthy, || async {
            let response = send(&self.client, request(Method::GET, path)?).await?;
            let headers = response.headers().clone();
            let object: Map<String, Value> = read(response, path, &self.client).await?;
            Ok((object.into(), headers))
        });
        within(REQUEST, NO_WHOLE_ANSWER, attempts).await
    }

    /// Asks a question about oneself, which stores nothing.
    pub async fn review(&self, path: &str, review: &Value) -> Result<Value, RequestFailure> {
        let attempts = retry(ATTEMPTS, RequestFailure::is_unhealthy, || async {
            let answer: Map<String, Value> = once(&self.client, Method::POST, path, Some(review)).await?;
            Ok(answer.into())
        });
        within(REQUEST, NO_WHOLE_ANSWER, attempts).await
    }

    /// Why there is no answer to use, in one line. Holds nothing of what the member said. `right` is what would let the
    /// runner in.
    pub fn describe(&self, failure: &RequestFailure, right: &str) -> Reason {
        match (failure, failure.code()) {
            (RequestFailure::NoAnswer { cause, how }, _) => {
                let insecure = if *how == How::Insecure {
                    "no secure connection: "
                } else {
                    ""
                };
                format!("{insecure}{}", self.clean.words(cause)).into()
            }
            (_, 401) => NOT_ACCEPTED.into(),
            (_, 403) => {
                let reason = format!("the member answered 403 Forbidden: grant {right} on the member");
                Reason::of(ReasonId::MemberForbidden, reason)
            }
            (_, code @ 300..=399) => {
                format!("the member answered {}, which is not followed", code_name(code)).into()
            }
            (_, code) => format!("the member answered {}", code_name(code)).into(),
        }
    }
}

pub(super) fn unreadable() -> RequestFailure {
    RequestFailure::broken("what the member answered cannot be read")
}

/// Shorter values are words that other texts contain, too.
const SHORTEST_SECRET: usize = 8;
/// How many characters of a member's words are kept.
const LONGEST_WORDS: usize = 200;

/// Redacts the credentials of a kubeconfig, which a member's answers may repeat. Can neither be printed nor written, and is
/// wiped when dropped.
#[derive(Default)]
pub(super) struct Clean(Zeroizing<Vec<String>>);

impl Clean {
    pub fn of(user: &AuthInfo) -> Self {
        let kubeconfig = Zeroizing::new(json!({"users": [{"user": user}]}).to_string());
        // What rules compare may contain a region or a profile's name, which a kubeconfig may also give to a plugin.
        let secrets = secrets_in(&kubeconfig).into_iter();
        let secrets: Vec<String> = secrets.filter(|secret| secret.len() >= SHORTEST_SECRET).collect();
        Self(secrets.into())
    }

    /// A member's words in one line, without credentials.
    pub fn words(&self, text: &str) -> String {
        one_line(&self.value(text), LONGEST_WORDS)
    }

    pub fn value(&self, text: &str) -> String {
        without(text, &self.0)
    }
}

/// How long a sample may take in all.
pub(super) const LOOK: Duration = Duration::from_secs(30);
const CHECKS: usize = 20;
const GROUPS: usize = 5000;

/// The leases that a control plane renews while it runs.
const LEASES: [&str; 2] = ["kube-controller-manager", "kube-scheduler"];
const ABOUT: &str = "/apis/about.k8s.io";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

pub(super) async fn take_sample(asker: &Asker, clock: Clock) -> MemberSample {
    let deadline = Instant::now() + LOOK;
    let mut sample = MemberSample::without_answers(clock.now(), BTreeMap::new());
    let mut missing = BTreeMap::new();
    for part in MemberPart::ALL {
        let result = timeout_at(deadline, asker.ask(part, clock, &mut sample)).await;
        let no_time = format!("no time was left: a sample takes at most {} s", LOOK.as_secs());
        let result = result.unwrap_or_else(|_| Err(RequestFailure::broken(no_time)));
        let Err(failure) = result else {
            continue;
        };
        let reason = asker.describe(&failure, right(part));
        // A member that does not answer at all is not asked the rest.
        if part == MemberPart::Readyz && failure.code() == 0 {
            missing = all_missing(&reason);
            break;
        }
        missing.insert(part, reason);
    }
    MemberSample {
        until: clock.now(),
        missing: Arc::new(missing),
        ..sample
    }
}

pub(super) fn no_way(clock: Clock, cause: &str) -> MemberSample {
    MemberSample::without_answers(clock.now(), all_missing(&cause.to_owned().into()))
}

fn all_missing(reason: &Reason) -> BTreeMap<MemberPart, Reason> {
    MemberPart::ALL.map(|part| (part, reason.clone())).into()
}

impl Asker {
    async fn ask(
        &self,
        part: MemberPart,
        clock: Clock,
        data: &mut MemberSample,
    ) -> Result<(), RequestFailure> {
        match part {
            MemberPart::Readyz => data.readyz = Some(Arc::new(self.readyz().await?)),
            MemberPart::Version => data.version = Some(self.version().await?),
            MemberPart::Leases => data.leases = Some(self.leases(clock).await?),
            MemberPart::Nodes => data.nodes = Some(self.nodes().await?),
            MemberPart::ClusterProperties => data.cluster_properties = Some(self.cluster_properties().await?),
            MemberPart::CustomResourceGroups => {
                data.custom_resource_groups = Some(self.custom_resource_groups().await?);
            }
        }
        Ok(())
    }

    async fn readyz(&self) -> Result<Readyz, RequestFailure> {
        let (status, body) = self.answer("/readyz?verbose").await?;
        readyz(status, &body, self)
    }

    async fn version(&self) -> Result<Arc<str>, RequestFailure> {
        let (version, _) = self.get("/version").await?;
        let version = version["gitVersion"].as_str().ok_or_else(unreadable)?;
        Ok(self.clean.words(version).into())
    }

    async fn leases(&self, clock: Clock) -> Result<Arc<[Lease]>, RequestFailure> {
        let mut leases = Vec::new();
        for name in LEASES {
            leases.extend(self.lease(name, clock).await?);
        }
        Ok(leases.into())
    }

    /// A lease with its age by the member's clock, if its answer has a Date: clocks need not agree.
    async fn lease(&self, name: &str, clock: Clock) -> Result<Option<Lease>, RequestFailure> {
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{name}");
        let (lease, headers) = match self.get(&path).await {
            Ok(lease) => lease,
            Err(failure) if failure.code() == 404 => return Ok(None),
            Err(failure) => return Err(failure),
        };
        let lease: v1::Lease = serde_json::from_value(lease).map_err(|_| unreadable())?;
        let spec = lease.spec.unwrap_or_default();
        let now = date(&headers).unwrap_or_else(|| clock.now());
        Ok(spec.renew_time.map(|renewed| Lease {
            name: name.to_owned(),
            age_seconds: now.duration_since(renewed.0).as_secs(),
            duration_seconds: spec.lease_duration_seconds.unwrap_or_default().into(),
        }))
    }

    /// Counts the nodes: by one of them and the number of the rest or, if the member does not report that, by a list.
    async fn nodes(&self) -> Result<u64, RequestFailure> {
        let client = self.for_metadata();
        let (head, first) = list_head(&client, "/api/v1/nodes").await?;
        match head.remaining_item_count {
            Some(remaining) => Ok(first as u64 + remaining),
            None if head.rest.is_empty() => Ok(first as u64),
            None => {
                let mut count = 0;
                list_with(&client, "/api/v1/nodes", SMALL, |_| count += 1).await?;
                Ok(count)
            }
        }
    }

    /// The ClusterProperties in a version that the member serves; none where it serves none.
    async fn cluster_properties(&self) -> Result<Arc<[ClusterProperty]>, RequestFailure> {
        let group = match self.get(ABOUT).await {
            Ok((group, _)) => group,
            Err(failure) if failure.code() == 404 => return Ok(Arc::from([])),
            Err(failure) => return Err(failure),
        };
        let versions = group["versions"].as_array().ok_or_else(unreadable)?;
        let versions = versions.iter().filter_map(|version| version["version"].as_str());
        // The first one is the preferred one.
        for version in versions.take(CHECKS) {
            let path = format!("{ABOUT}/{}/clusterproperties", segment(version));
            let mut properties = Vec::new();
            let read = |json: &[u8]| properties.extend(cluster_property(json, self));
            match list(&self.client, &path, read).await {
                Ok(_) => {
                    properties.sort_by(|one: &ClusterProperty, other| one.name.cmp(&other.name));
                    return Ok(properties.into());
                }
                Err(failure) if failure.code() == 404 => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(Arc::from([]))
    }

    /// The groups, by the names of the definitions: each is called plural.group.
    async fn custom_resource_groups(&self) -> Result<Arc<BTreeSet<String>>, RequestFailure> {
        let mut groups = BTreeSet::new();
        let add = |json: &[u8]| {
            let object: Value = serde_json::from_slice(json).unwrap_or_default();
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            if let Some((_, group)) = name.split_once('.')
                && groups.len() <= GROUPS
            {
                groups.insert(self.clean.words(group));
            }
        };
        list_with(&self.for_metadata(), DEFINITIONS, SMALL_AND_LAST, add).await?;
        if groups.len() > GROUPS {
            return Err(RequestFailure::broken("there are more groups than are kept"));
        }
        Ok(Arc::new(groups))
    }
}

fn cluster_property(json: &[u8], asker: &Asker) -> Option<ClusterProperty> {
    let object: Value = serde_json::from_slice(json).ok()?;
    let metadata = &object["metadata"];
    Some(ClusterProperty {
        name: asker.clean.words(metadata["name"].as_str()?),
        value: asker.clean.value(object["spec"]["value"].as_str()?),
        labelled: metadata["labels"][LABEL_HONOURED_PROPERTY] == "true",
    })
}

/// What `/readyz` says, where it is the API server that speaks: a load balancer before it has its own failures.
fn readyz(status: StatusCode, body: &[u8], asker: &Asker) -> Result<Readyz, RequestFailure> {
    if status.is_success() {
        return Ok(Readyz {
            ready: true,
            failed: Vec::new(),
        });
    }
    let body = String::from_utf8_lossy(body);
    let failed = body.lines().filter_map(|line| line.strip_prefix("[-]"));
    let failed = failed.filter_map(|line| line.split_whitespace().next());
    let failed: Vec<String> = failed
        .take(CHECKS)
        .map(|check| asker.clean.words(check))
        .collect();
    if status.is_server_error() && (!failed.is_empty() || body.contains("readyz check failed")) {
        Ok(Readyz { ready: false, failed })
    } else {
        let (status, retry_after) = (Box::new(Status::default().with_code(status.as_u16())), None);
        Err(RequestFailure::Status { status, retry_after })
    }
}

/// What lets the runner read a part.
fn right(part: MemberPart) -> &'static str {
    match part {
        MemberPart::Version => "get on /version",
        MemberPart::Readyz => "get on /readyz",
        MemberPart::Leases => "get on the leases kube-controller-manager and kube-scheduler in kube-system",
        MemberPart::Nodes => "list on nodes",
        MemberPart::CustomResourceGroups => "list on customresourcedefinitions",
        MemberPart::ClusterProperties => "list on clusterproperties",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_repeats_its_credential_tells_nothing() {
        let user = r#"{"token": " CANARY-token\n", "password": "short", "client-key-data": "Q0FOQVJZ"}"#;
        let clean = Clean::of(&serde_json::from_str(user).expect("a user"));
        assert_eq!(
            clean.words("a CANARY-token, short\nand Q0FOQVJZ"),
            "a …, short and …"
        );
        assert_eq!(clean.value("CANARY-token"), "…");
        assert_eq!(clean.words(&"é".repeat(300)), format!("{}…", "é".repeat(200)));
        assert_eq!(Clean::default().words("Bearer abcdefghijklmnopqrstuvwxyz"), "…");
    }
}
