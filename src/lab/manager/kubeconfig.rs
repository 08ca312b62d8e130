//! The credentials that the manager hands to consumers.

use serde_json::{Value, json};

use super::status::Access;

/// A kubeconfig with one cluster, one user and one context: one consumer's way into one member.
pub(super) fn kubeconfig(access: &Access, consumer: &str, token: &str) -> Value {
    let member = &access.cluster;
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": member,
            "cluster": {"server": access.server, "certificate-authority-data": access.ca_data},
        }],
        "users": [{"name": consumer, "user": {"token": token}}],
        "contexts": [{"name": format!("{consumer}@{member}"), "context": {"cluster": member, "user": consumer}}],
        "current-context": format!("{consumer}@{member}"),
    })
}
