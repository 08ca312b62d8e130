//! A large fleet: profiles as a manager publishes them, nearly 5 kB each as the hub returns them.

use std::{sync::LazyLock, time::Duration};

use anyhow::Context;
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use collect::clock::Clock;
use futures::{Stream, StreamExt as _, TryStreamExt as _, stream};
use http::{Method, Request, header};
use jiff::{Timestamp, ToSpan as _};
use kube::Client;
use lab::hub::Hub;
use serde_json::{Value, json};
use tokio::time::interval;

/// The name of the cluster manager and of its field manager.
pub const MANAGER: &str = "fleet-manager";
/// The user as whom it writes.
const USER: &str = "reference-manager";
/// Where the profiles live, in turns.
pub const NAMESPACES: [&str; 3] = ["fleet-east", "fleet-north", "fleet-west"];
/// How many requests are under way in parallel.
const AT_ONCE: usize = 32;
/// The API version that is written and read: the one that is stored, so that the server need not convert.
pub const VERSION: &str = "v1alpha1";

/// Certificates of members' authorities, as `certificate-authority-data` has them; shared out in turns.
static AUTHORITIES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let authority = |number: usize| {
        let name = format!("authority-{number}.clusters.example");
        let certificate = rcgen::generate_simple_self_signed([name]).expect("a certificate");
        BASE64.encode(certificate.cert.pem())
    };
    (0..32).map(authority).collect()
});

pub fn namespace(number: usize) -> &'static str {
    NAMESPACES[number % NAMESPACES.len()]
}

pub fn name(number: usize) -> String {
    format!("{MANAGER}-{number:06}")
}

/// The profile of that number, as its manager creates it.
pub fn created(number: usize) -> Value {
    json!({
        "apiVersion": format!("multicluster.x-k8s.io/{VERSION}"),
        "kind": "ClusterProfile",
        "metadata": {
            "name": name(number),
            "namespace": namespace(number),
            "labels": {
                "x-k8s.io/cluster-manager": MANAGER,
                "multicluster.x-k8s.io/inventory-member-id": member_id(number),
                "topology.kubernetes.io/region": region(number),
            },
        },
        "spec": {"displayName": format!("Cluster {number}"), "clusterManager": {"name": MANAGER}},
    })
}

/// Its status. A manager that looks again `nodes` nodes later writes another one.
pub fn status(number: usize, nodes: usize, now: Timestamp) -> Value {
    let now = rfc3339(now);
    let property = |name: &str, value: String| json!({"name": name, "value": value, "lastObservedTime": now});
    let condition = |kind: &str, reason: &str, message: &str| {
        json!({
            "type": kind, "status": "True", "reason": reason, "message": message,
            "lastTransitionTime": now, "observedGeneration": 1,
        })
    };
    let host = format!("{}.{}.clusters.example", name(number), region(number));
    json!({
        "version": {"kubernetes": format!("v1.{}.{}", 32 + number % 4, number % 11)},
        "properties": [
            property("cluster.clusterset.k8s.io", member_id(number)),
            property("cluster-endpoints.k8s.io", json!([format!("{host}:6443")]).to_string()),
            property("location.topology.k8s.io", region(number).to_owned()),
            property("count.node.k8s.io", (3 + number % 200 + nodes).to_string()),
            property("type.node.k8s.io", json!(["standard-8", "highmem-16"]).to_string()),
            property("metrics-endpoints.k8s.io", json!([{"Prometheus": format!("https://metrics.{host}")}]).to_string()),
            property("group.customResource.k8s.io", json!(["argoproj.io", "cert-manager.io"]).to_string()),
            property("provider.clusters.example/tier", format!("tier-{}", number % 5)),
        ],
        "conditions": [
            condition("ControlPlaneHealthy", "ControlPlaneHealthy", "all checks of the control plane pass"),
            condition("Joined", "Registered", "the member is managed by the hub"),
        ],
        "accessProviders": [{
            "name": "secretreader",
            "cluster": {
                "server": format!("https://{host}:6443"),
                "certificate-authority-data": AUTHORITIES[number % AUTHORITIES.len()],
                "extensions": [{
                    "name": "client.authentication.k8s.io/exec",
                    "extension": {"clusterName": name(number)},
                }],
            },
        }],
    })
}

/// The whole profile, as a hub shows it.
pub fn shown(number: usize, now: Timestamp) -> Value {
    let mut profile = created(number);
    profile["status"] = status(number, 0, now);
    let metadata = &mut profile["metadata"];
    metadata["uid"] = member_id(number + 1_000_000).into();
    metadata["resourceVersion"] = (1000 + 2 * number).to_string().into();
    metadata["generation"] = 1.into();
    metadata["creationTimestamp"] = rfc3339(now).into();
    let entry = |fields: Value| {
        json!({
            "manager": MANAGER, "operation": "Update", "apiVersion": profile["apiVersion"],
            "time": rfc3339(now), "fieldsType": "FieldsV1", "fieldsV1": fields,
        })
    };
    let metadata = json!({"f:labels": owned(&profile["metadata"]["labels"])});
    let spec = entry(json!({"f:metadata": metadata, "f:spec": owned(&profile["spec"])}));
    let mut status = entry(json!({"f:status": owned(&profile["status"])}));
    status["subresource"] = "status".into();
    profile["metadata"]["managedFields"] = json!([spec, status]);
    profile
}

/// The fields of a value in the form of managedFields. A list of objects is keyed by type or name.
fn owned(value: &Value) -> Value {
    let keyed = |item: &Value| {
        let key = ["type", "name"].into_iter().find(|key| item.get(key).is_some())?;
        Some((format!("k:{}", json!({key: item[key]})), owned(item)))
    };
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (format!("f:{key}"), owned(value)))
            .collect(),
        Value::Array(items) => items.iter().filter_map(keyed).collect(),
        _ => json!({}),
    }
}

pub async fn create_namespaces(client: &Client) -> anyhow::Result<()> {
    for name in NAMESPACES {
        let namespace = json!({"metadata": {"name": name}});
        send(client, Method::POST, "/api/v1/namespaces", &namespace).await?;
    }
    Ok(())
}

pub async fn create(client: &Client, number: usize) -> anyhow::Result<()> {
    let path = path(Some(namespace(number)), "");
    send(client, Method::POST, &path, &created(number))
        .await
        .map(drop)
}

/// Writes a profile's status as its manager does, and returns the profile.
pub async fn write_status(
    client: &Client,
    number: usize,
    nodes: usize,
    now: Timestamp,
) -> anyhow::Result<String> {
    let path = path(Some(namespace(number)), &format!("/{}/status", name(number)));
    let status = json!({"status": status(number, nodes, now)});
    send(client, Method::PATCH, &path, &status).await
}

/// Does `work` for each number, many at once.
pub async fn for_each<F>(count: usize, work: impl Fn(usize) -> F) -> anyhow::Result<()>
where
    F: Future<Output = anyhow::Result<()>>,
{
    let all = stream::iter(0..count).map(work).buffer_unordered(AT_ONCE);
    all.try_for_each(|()| async { Ok(()) }).await
}

/// Publishes so many profiles on a hub of the suite's own, each with its status.
pub async fn publish(hub: &Hub, count: usize) -> anyhow::Result<()> {
    let client = &hub.client_as(USER, MANAGER)?;
    create_namespaces(client).await?;
    let now = created_at();
    let publishing = for_each(count, |number| async move {
        create(client, number).await?;
        write_status(client, number, 0, now).await.map(drop)
    });
    publishing.await.context("failed to publish the fleet")
}

/// Writes the status of one profile after the other, `rate` times a second at most, without an end.
/// Returns the number of each profile, and the resourceVersion after the write.
pub fn writes(
    hub: &Hub,
    fleet: usize,
    rate: u32,
) -> anyhow::Result<impl Stream<Item = anyhow::Result<(usize, u64)>> + use<>> {
    let client = hub.client_as(USER, MANAGER)?;
    // Ticks that come late are made up for.
    let ticks = interval(Duration::from_secs(1) / rate);
    let turns = stream::unfold((ticks, 0), |(mut ticks, turn)| async move {
        ticks.tick().await;
        Some((turn, (ticks, turn + 1)))
    });
    let writes = turns.map(move |turn: usize| {
        let (client, number, nodes) = (client.clone(), turn % fleet, 1 + turn / fleet);
        async move {
            let written = write_status(&client, number, nodes, Clock::system().now()).await?;
            let written: Value = serde_json::from_str(&written)?;
            let version = written["metadata"]["resourceVersion"].as_str();
            Ok((number, version.context("no resourceVersion")?.parse()?))
        }
    });
    Ok(writes.buffer_unordered(AT_ONCE))
}

/// The path of the profiles of a namespace, or of all, and what is below.
pub fn path(namespace: Option<&str>, below: &str) -> String {
    let namespace = namespace.map_or(String::new(), |name| format!("/namespaces/{name}"));
    format!("/apis/multicluster.x-k8s.io/{VERSION}{namespace}/clusterprofiles{below}")
}

async fn send(client: &Client, method: Method, path: &str, body: &Value) -> anyhow::Result<String> {
    let content_type = match method {
        Method::PATCH => "application/merge-patch+json",
        _ => "application/json",
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::CONTENT_TYPE, content_type);
    Ok(client
        .request_text(request.body(body.to_string().into_bytes())?)
        .await?)
}

/// The last observed time of the fleet: two seconds ago, since times in Kubernetes have whole seconds.
pub fn created_at() -> Timestamp {
    Clock::system().now() - 2.seconds()
}

fn region(number: usize) -> &'static str {
    ["europe-north1", "europe-west4", "us-east1", "asia-south2"][number % 4]
}

fn member_id(number: usize) -> String {
    format!("6f1c7a52-3d0e-4b8f-9a41-{number:012x}")
}

/// RFC 3339 to the second, as Kubernetes writes times.
fn rfc3339(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
