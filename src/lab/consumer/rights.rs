//! Rights that the consumer does not need.

use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::ApiResource;
use serde_json::json;

use super::names::CONSUMER;
use crate::client::{Hub, RequestError, Target};

/// Lets it write profiles and their status, and read all Secrets.
pub(super) async fn grant_too_much(hub: &Hub) -> Result<(), RequestError> {
    let role = json!({
        "metadata": {"name": CONSUMER},
        "rules": [
            {"apiGroups": ["multicluster.x-k8s.io"], "resources": ["clusterprofiles", "clusterprofiles/status"], "verbs": ["*"]},
            {"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"]},
        ],
    });
    let binding = json!({
        "metadata": {"name": CONSUMER},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": CONSUMER},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": CONSUMER}],
    });
    let target = |resource| Target {
        resource,
        namespace: None,
        name: CONSUMER.to_owned(),
    };
    let roles = target(ApiResource::erase::<ClusterRole>(&()));
    hub.create(&roles, CONSUMER, &role).await?;
    let bindings = target(ApiResource::erase::<ClusterRoleBinding>(&()));
    hub.create(&bindings, CONSUMER, &binding).await?;
    Ok(())
}
