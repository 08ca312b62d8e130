//! What a member on a port says: it serves what consumers look for, and has none of it.

use std::time::Duration;

use bytes::Bytes;
use http::Uri;
use serde_json::{Value, json};

/// A resource that members serve.
struct Resource {
    group_version: &'static str,
    plural: &'static str,
    kind: &'static str,
    namespaced: bool,
}

/// What consumers look for on their members.
const RESOURCES: [Resource; 9] = [
    namespaced("v1", "configmaps", "ConfigMap"),
    namespaced("v1", "pods", "Pod"),
    namespaced("v1", "secrets", "Secret"),
    cluster_wide("v1", "namespaces", "Namespace"),
    cluster_wide("v1", "nodes", "Node"),
    namespaced("apps/v1", "deployments", "Deployment"),
    namespaced("batch/v1", "jobs", "Job"),
    namespaced("kueue.x-k8s.io/v1beta2", "workloads", "Workload"),
    namespaced("kueue.x-k8s.io/v1beta2", "localqueues", "LocalQueue"),
];

const fn namespaced(group_version: &'static str, plural: &'static str, kind: &'static str) -> Resource {
    Resource {
        group_version,
        plural,
        kind,
        namespaced: true,
    }
}

const fn cluster_wide(group_version: &'static str, plural: &'static str, kind: &'static str) -> Resource {
    Resource {
        namespaced: false,
        ..namespaced(group_version, plural, kind)
    }
}

/// How long a watch lasts if the client does not say.
const WATCH: Duration = Duration::from_secs(300);

/// An answer.
pub(super) enum Answer {
    /// This object, with its status code.
    Object(u16, Value),
    /// These bytes, and then nothing until the time is over.
    Watch(Bytes, Duration),
}

/// Whether a request watches.
pub(super) fn is_watch(uri: &Uri) -> bool {
    matches!(parameter(uri, "watch"), Some("1" | "true"))
}

/// The answer to a request by a client that may do everything.
pub(super) fn answer(method: &str, uri: &Uri) -> Answer {
    let path: Vec<&str> = uri.path().trim_matches('/').split('/').collect();
    let object = |value| Answer::Object(200, value);
    match *path.as_slice() {
        ["healthz" | "livez" | "readyz"] => object(json!("ok")),
        ["version"] => object(json!({"major": "1", "minor": "34", "gitVersion": "v1.34.2"})),
        ["api"] => object(json!({"kind": "APIVersions", "versions": ["v1"]})),
        ["apis"] => object(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups()})),
        ["api", "v1"] => object(resources("v1")),
        ["apis", name] => match groups().into_iter().find(|group| group["name"] == name) {
            Some(mut group) => {
                group["kind"] = "APIGroup".into();
                group["apiVersion"] = "v1".into();
                object(group)
            }
            None => not_found(),
        },
        ["apis", group, version] => {
            let group_version = format!("{group}/{version}");
            let is_served = RESOURCES.iter().any(|one| one.group_version == group_version);
            if is_served {
                object(resources(&group_version))
            } else {
                not_found()
            }
        }
        ["api", "v1", ref rest @ ..] => of_resource("v1", rest, method, uri),
        ["apis", group, version, ref rest @ ..] => {
            of_resource(&format!("{group}/{version}"), rest, method, uri)
        }
        _ => not_found(),
    }
}

fn of_resource(group_version: &str, path: &[&str], method: &str, uri: &Uri) -> Answer {
    let path = match path {
        ["namespaces", _, rest @ ..] if !rest.is_empty() => rest,
        path => path,
    };
    let found = path.first().and_then(|plural| {
        RESOURCES
            .iter()
            .find(|one| one.group_version == group_version && one.plural == *plural)
    });
    let (Some(resource), 1, "GET") = (found, path.len(), method) else {
        return not_found();
    };
    if is_watch(uri) {
        let seconds = parameter(uri, "timeoutSeconds").and_then(|seconds| seconds.parse().ok());
        let first = if parameter(uri, "sendInitialEvents") == Some("true") {
            bookmark(resource)
        } else {
            Bytes::new()
        };
        return Answer::Watch(first, seconds.map_or(WATCH, Duration::from_secs).min(WATCH));
    }
    let list = json!({
        "kind": format!("{}List", resource.kind), "apiVersion": resource.group_version,
        "metadata": {"resourceVersion": "1"}, "items": [],
    });
    Answer::Object(200, list)
}

/// The event after which a watch-list has told all.
fn bookmark(resource: &Resource) -> Bytes {
    let event = json!({"type": "BOOKMARK", "object": {
        "kind": resource.kind, "apiVersion": resource.group_version,
        "metadata": {"resourceVersion": "1", "annotations": {"k8s.io/initial-events-end": "true"}},
    }});
    format!("{event}\n").into()
}

fn groups() -> Vec<Value> {
    let mut groups: Vec<Value> = Vec::new();
    for resource in &RESOURCES {
        let Some((name, version)) = resource.group_version.split_once('/') else {
            continue;
        };
        if groups.iter().all(|group| group["name"] != name) {
            let version = json!({"groupVersion": resource.group_version, "version": version});
            groups.push(json!({"name": name, "versions": [version], "preferredVersion": version}));
        }
    }
    groups
}

fn resources(group_version: &str) -> Value {
    let its = RESOURCES.iter().filter(|one| one.group_version == group_version);
    let list: Vec<Value> = its
        .map(|one| {
            json!({
                "name": one.plural, "singularName": one.kind.to_lowercase(), "kind": one.kind,
                "namespaced": one.namespaced, "verbs": ["get", "list", "watch"],
            })
        })
        .collect();
    json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": list})
}

/// What a member says to a client that it does not know.
pub(super) fn unauthorized() -> Answer {
    failure(401, "Unauthorized")
}

fn not_found() -> Answer {
    failure(404, "NotFound")
}

fn failure(code: u16, reason: &str) -> Answer {
    let status =
        json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code});
    Answer::Object(code, status)
}

fn parameter<'u>(uri: &'u Uri, name: &str) -> Option<&'u str> {
    let mut pairs = uri.query()?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}
