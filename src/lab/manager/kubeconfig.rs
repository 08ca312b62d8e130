//! The kubeconfigs that the manager gives to consumers.

use serde_json::{Value, json};

use super::access::Access;

/// A kubeconfig with one cluster, one user and one context: one consumer's access to one member.
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
