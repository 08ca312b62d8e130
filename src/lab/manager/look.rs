//! Asks a member for its health, its inventory, and tokens.

use std::{collections::BTreeSet, time::Duration};

use evidence::api::names::LABEL_HONOURED_PROPERTY;
use http::Request;
use http_body_util::BodyExt;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{
    api::{
        authentication::v1::TokenRequest,
        coordination::v1::Lease,
        core::v1::{Node, ServiceAccount},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Client,
    api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams, PostParams},
};
use serde_json::{Value, json};
use tokio::time::timeout;

/// How long a member may take to answer before it counts as down.
const PATIENCE: Duration = Duration::from_secs(5);
/// The age at which a lease is stale; the usual holder renews it every two seconds, and gives up after fifteen.
const STALE: SignedDuration = SignedDuration::from_secs(60);
/// The leases that a live control plane renews, if it keeps them in the member.
const CONTROL_PLANE: [&str; 2] = ["kube-controller-manager", "kube-scheduler"];
/// The namespace in a member where consumers' service accounts are.
const ACCOUNTS: &str = "default";
/// The lifetime of a token, in seconds: longer than any run of the manager.
const TOKEN_SECONDS: i64 = 24 * 60 * 60;
/// The API group of ClusterProperty.
const ABOUT: &str = "about.k8s.io";

/// The health of a member's control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Health {
    /// Healthy.
    Well,
    /// The API server is not ready, because of these checks.
    Failing(Vec<String>),
    /// The holder of that lease has not renewed it.
    Stale(String),
    /// The API server does not answer.
    Silent,
}

/// The inventory of a member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Inventory {
    pub version: String,
    pub nodes: usize,
    /// The API groups of its custom resource definitions.
    pub groups: BTreeSet<String>,
    /// Names and values of the ClusterProperties that may appear in a profile.
    pub properties: Vec<(String, String)>,
}

/// Asks a member for its health.
pub(super) async fn health(member: &Client, now: Timestamp) -> Health {
    let answer = timeout(PATIENCE, async {
        let failing = failing_checks(member).await?;
        Ok::<_, kube::Error>((failing, stale_lease(member, now).await?))
    });
    match answer.await {
        Ok(Ok((Some(failing), _))) => Health::Failing(failing),
        Ok(Ok((None, Some(lease)))) => Health::Stale(lease),
        Ok(Ok((None, None))) => Health::Well,
        Ok(Err(_)) | Err(_) => Health::Silent,
    }
}

/// Asks a member for its inventory. `None` unless every request succeeds.
pub(super) async fn inventory(member: &Client) -> Option<Inventory> {
    let answer = timeout(PATIENCE, async {
        let version = member.apiserver_version().await?.git_version;
        let all = ListParams::default();
        let nodes = Api::<Node>::all(member.clone()).list_metadata(&all).await?;
        let definitions = Api::<CustomResourceDefinition>::all(member.clone());
        // A definition's name is its resource, a dot, and its group.
        let groups: BTreeSet<String> = definitions
            .list_metadata(&all)
            .await?
            .items
            .into_iter()
            .filter_map(|definition| {
                definition
                    .metadata
                    .name?
                    .split_once('.')
                    .map(|(_, group)| group.to_owned())
            })
            .collect();
        let properties = if groups.contains(ABOUT) {
            cluster_properties(member).await?
        } else {
            Vec::new()
        };
        Ok::<_, kube::Error>(Inventory {
            version,
            nodes: nodes.items.len(),
            groups,
            properties,
        })
    });
    answer.await.ok()?.ok()
}

/// The names of the failing checks; `None` if the API server is ready.
async fn failing_checks(member: &Client) -> Result<Option<Vec<String>>, kube::Error> {
    let request = Request::get("/readyz?verbose")
        .body(Vec::new().into())
        .expect("a fixed request is well-formed");
    let response = member.send(request).await?;
    if response.status().is_success() {
        return Ok(None);
    }
    let body = response.into_body().collect().await?.to_bytes();
    let text = String::from_utf8_lossy(&body);
    let failing = text
        .lines()
        .filter_map(|line| line.strip_prefix("[-]")?.split(' ').next())
        .map(str::to_owned);
    Ok(Some(failing.collect()))
}

/// The first stale lease of the control plane.
async fn stale_lease(member: &Client, now: Timestamp) -> Result<Option<String>, kube::Error> {
    let leases: Api<Lease> = Api::namespaced(member.clone(), "kube-system");
    let leases = leases.list(&ListParams::default()).await?;
    let is_stale = |lease: &Lease| {
        let renewed = lease.spec.as_ref().and_then(|spec| spec.renew_time.as_ref());
        renewed.is_some_and(|renewed| now.duration_since(renewed.0) > STALE)
    };
    Ok(leases
        .into_iter()
        .filter(is_stale)
        .filter_map(|lease| lease.metadata.name)
        .find(|name| CONTROL_PLANE.contains(&name.as_str())))
}

/// The labelled ClusterProperties: the others are private to the member (KEP-4322 › Properties).
async fn cluster_properties(member: &Client) -> Result<Vec<(String, String)>, kube::Error> {
    let kind = GroupVersionKind::gvk(ABOUT, "v1beta1", "ClusterProperty");
    let resource = ApiResource::from_gvk_with_plural(&kind, "clusterproperties");
    let properties: Api<DynamicObject> = Api::all_with(member.clone(), &resource);
    let labelled = ListParams::default().labels(&format!("{LABEL_HONOURED_PROPERTY}=true"));
    let properties = properties.list(&labelled).await?;
    let read = |property: DynamicObject| {
        let value = property.data.pointer("/spec/value").and_then(Value::as_str)?;
        Some((property.metadata.name?, value.to_owned()))
    };
    Ok(properties.items.into_iter().filter_map(read).collect())
}

/// A token of the consumer's service account, which has no rights until the member grants some.
pub(super) async fn token(member: &Client, consumer: &str) -> Result<Option<String>, kube::Error> {
    let accounts: Api<ServiceAccount> = Api::namespaced(member.clone(), ACCOUNTS);
    let mut account = ServiceAccount::default();
    account.metadata.name = Some(consumer.to_owned());
    match accounts.create(&PostParams::default(), &account).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.is_already_exists() => {}
        Err(error) => return Err(error),
    }
    let request: TokenRequest = serde_json::from_value(json!({
        "spec": {"audiences": [], "expirationSeconds": TOKEN_SECONDS},
    }))
    .expect("a fixed request is well-formed");
    let answer = accounts
        .create_token_request(consumer, &PostParams::default(), &request)
        .await?;
    Ok(answer.status.and_then(|status| status.token))
}
