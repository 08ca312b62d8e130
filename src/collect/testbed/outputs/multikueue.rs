//! Kueue's `MultiKueueCluster` objects: which profile each is for.

use serde_json::Value;

use super::Found;
use crate::connect::call::{TimedClient, get, segment};

const GROUP: &str = "kueue.x-k8s.io";

/// Reads all of them, in the version that the hub prefers.
pub(super) async fn read(hub: &TimedClient) -> Result<Vec<Found>, String> {
    let failed = |failure: crate::connect::failure::Failure| failure.to_string();
    let group: Value = get(hub, &format!("/apis/{GROUP}")).await.map_err(failed)?;
    let version = group["preferredVersion"]["version"].as_str().unwrap_or_default();
    let path = format!("/apis/{GROUP}/{}/multikueueclusters", segment(version));
    let list: Value = get(hub, &path).await.map_err(failed)?;
    let clusters = list["items"].as_array().into_iter().flatten();
    Ok(clusters.filter(|cluster| is_active(cluster)).map(found).collect())
}

/// Whether Kueue says that it is connected.
fn is_active(cluster: &Value) -> bool {
    let mut conditions = cluster["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|condition| condition["type"] == "Active" && condition["status"] == "True")
}

fn found(cluster: &Value) -> Found {
    let spec = &cluster["spec"];
    let sources = [
        &spec["clusterProfileRef"]["name"],
        &spec["clusterSource"]["clusterProfileRef"]["name"],
    ];
    Found {
        object: format!(
            "MultiKueueCluster {}",
            cluster["metadata"]["name"].as_str().unwrap_or_default()
        ),
        texts: sources
            .into_iter()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect(),
    }
}
