//! Defaults for what examples leave out: a profile, a slice and a Secret that keep every rule.

use evidence::api::{ClusterProfile, Edition, names};
use jiff::SignedDuration;
use serde_json::{Map, Value, json};

use super::{certificates::ca_data, staged::Staged, time::stamp};

/// The manager of profiles that do not name one.
pub(super) const MANAGER: &str = "m";

/// A string in a tree of objects.
pub(super) fn text<'a>(value: &'a Value, path: &[&str]) -> Option<&'a str> {
    path.iter().try_fold(value, |value, key| value.get(key))?.as_str()
}

/// The name and namespace that an overlay gives to a profile, or their defaults.
pub(super) fn key(overlay: &Value) -> (String, String) {
    let name = text(overlay, &["metadata", "name"]).unwrap_or("a");
    let namespace = text(overlay, &["metadata", "namespace"]).unwrap_or("default");
    (name.to_owned(), namespace.to_owned())
}

/// The API version of an edition.
pub(super) fn api_version(edition: Edition) -> &'static str {
    match edition {
        Edition::Standard | Edition::Y2026M07 | Edition::Placement2025M09 | Edition::Consumer2026M07 => {
            "v1alpha1"
        }
        Edition::Y2026M09 | Edition::Placement2026M09 | Edition::Consumer2026M09 => "v1alpha2",
    }
}

/// The profile onto which `overlay` is merged, with the overlay's name, namespace and manager.
pub(super) fn profile(overlay: &Value, edition: Edition, created: SignedDuration) -> Value {
    let (name, namespace) = key(overlay);
    let manager = text(overlay, &["spec", "clusterManager", "name"]).unwrap_or(MANAGER);
    let created = stamp(created);
    let host = format!("{name}.{namespace}.example:6443");
    let condition = |kind: &str| {
        json!({
            "type": kind, "status": "True", "reason": "AsExpected", "message": "",
            "lastTransitionTime": created, "observedGeneration": 1,
        })
    };
    // A name of one letter begins with no prefix: only advice on names minds.
    let prefix = &name[..name.char_indices().next_back().map_or(0, |(last, _)| last)];
    let generate_name = Some(prefix).filter(|prefix| !prefix.is_empty() && !name.starts_with(manager));
    let extension = |name: &str, content: Value| json!({"name": name, "extension": content});
    let property =
        |name: &str, value: String| json!({"name": name, "value": value, "lastObservedTime": created});
    json!({
        "apiVersion": format!("{}/{}", names::GROUP, api_version(edition)),
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": format!("uid-{namespace}-{name}"),
            "generation": 1,
            "generateName": generate_name,
            "creationTimestamp": created,
            "labels": {
                names::LABEL_MANAGER: manager,
                names::LABEL_MEMBER_ID: format!("{namespace}-{name}"),
            },
            "writers": writers(manager, &created),
        },
        "spec": {"displayName": name, "clusterManager": {"name": manager}},
        "status": {
            "version": {"kubernetes": "v1.34.1"},
            "properties": [
                property(names::PROPERTY_ENDPOINTS, format!("[\"{host}\"]")),
                property("id.k8s.io", format!("{name}.{namespace}")),
                property(names::PROPERTY_LOCATION, "europe-west".to_owned()),
                property(names::PROPERTY_NODE_COUNT, "3".to_owned()),
                property(names::PROPERTY_NODE_TYPES, json!(["standard-8"]).to_string()),
                property(names::PROPERTY_METRICS_ENDPOINTS, json!([{"Prometheus": format!("https://{host}")}]).to_string()),
                property(names::PROPERTY_RESOURCE_GROUPS, "[]".to_owned()),
            ],
            "conditions": [condition(names::CONDITION_JOINED), condition(names::CONDITION_HEALTHY)],
            "accessProviders": [{
                "name": "secretreader",
                "cluster": {
                    "server": format!("https://{host}"),
                    "certificate-authority-data": ca_data("current"),
                    "proxy-url": "https://proxy.example:3128",
                    "extensions": [
                        extension(names::EXTENSION_EXEC, json!({"clusterName": name})),
                        extension(names::EXTENSION_ARGS, json!(["--audience", format!("https://{host}")])),
                        extension(names::EXTENSION_ENVS, json!({"CLIENT_ID": format!("{namespace}-{name}")})),
                    ],
                },
            }],
        },
    })
}

impl Staged for ClusterProfile {
    fn key(overlay: &Value) -> (String, String) {
        key(overlay)
    }

    fn conforming(overlay: &Value, edition: Edition, created: SignedDuration) -> Value {
        profile(overlay, edition, created)
    }

    fn expand(overlay: &Value) -> Value {
        without_kind(overlay)
    }

    fn drop_writers(&mut self) {
        self.metadata.writers = None;
    }
}

pub(super) fn without_kind(overlay: &Value) -> Value {
    let mut overlay = overlay.clone();
    if let Some(overlay) = overlay.as_object_mut() {
        overlay.remove("kind");
    }
    overlay
}

fn writers(manager: &str, time: &str) -> Value {
    let label = |key: &str| format!("metadata.labels[{key}]");
    json!([
        {
            "manager": manager, "operation": "Update", "time": time,
            "owns": [
                "metadata.generateName", label(names::LABEL_MANAGER), label(names::LABEL_MEMBER_ID),
                "spec.clusterManager", "spec.displayName",
            ],
        },
        {
            "manager": manager, "operation": "Update", "subresource": "status", "time": time,
            "owns": ["status.accessProviders", "status.conditions", "status.properties", "status.version"],
        },
    ])
}

/// A consumer's Secret for a profile, in the namespace of that name.
pub(super) fn secret(namespace: &str, name: &str, profile: &Value, server: &str, digest: &str) -> Value {
    let (profile_name, profile_namespace) = key(profile);
    json!({
        "namespace": namespace,
        "name": name,
        "uid": format!("uid-{namespace}-{name}"),
        "resourceVersion": "1",
        "labels": {
            names::LABEL_SECRET_PROFILE: profile_name,
            names::LABEL_SECRET_PROFILE_NAMESPACE: profile_namespace,
        },
        "keys": [names::SECRET_CONFIG_KEY],
        "kubeconfig": {
            "currentContext": "member",
            "contexts": [{"name": "member", "cluster": "member", "user": "consumer"}],
            "clusters": [{"name": "member", "server": server, "files": []}],
            "users": [
                {"name": "consumer", "credentials": [{"kind": "token", "digest": digest}], "files": []},
            ],
        },
    })
}

/// A namespace. One with consumers' Secrets belongs to the consumer of the same name.
pub(super) fn namespace(name: &str, holds_secrets: bool) -> Value {
    let mut labels = Map::new();
    if holds_secrets {
        labels.insert(names::LABEL_CONSUMER.to_owned(), name.into());
    }
    json!({"name": name, "uid": format!("uid-{name}"), "resourceVersion": "1", "labels": labels})
}

/// A look at a member that agrees with the conforming profile.
pub(super) fn look() -> Value {
    json!({
        "version": "v1.34.1",
        "readyz": {"ready": true},
        "leases": [],
        "nodes": 3,
        "customResourceGroups": [],
        "clusterProperties": [],
    })
}
