//! What the consumer's roles let it do: what it needs, and more for a fault.

use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::api::ApiResource;
use serde_json::{Value, json};

use super::{
    names::{CONSUMER, OUTPUTS},
    world::{Misbehaviour, World},
};
use crate::client::{Hub, RequestError, Target};

const GROUP: &str = "multicluster.x-k8s.io";

/// Lets it read profiles and decisions, set finalizers, write events, and keep Secrets where its outputs are.
pub(super) async fn grant(hub: &Hub, world: &World) -> Result<(), RequestError> {
    let rule = |group: &str, resource: &str, verbs: &[&str]| json!({"apiGroups": [group], "resources": [resource], "verbs": verbs});
    let mut rules = vec![
        rule(GROUP, "clusterprofiles", &["get", "list", "watch", "patch"]),
        rule(GROUP, "placementdecisions", &["get", "list", "watch"]),
        rule("", "events", &["create", "patch"]),
    ];
    if world.has(Misbehaviour::WritesStatus) {
        rules.push(rule(GROUP, "clusterprofiles/status", &["patch"]));
    }
    if world.has(Misbehaviour::WritesSlices) {
        rules.push(rule(GROUP, "placementdecisions", &["patch"]));
    }
    if world.has(Misbehaviour::MayTooMuch) {
        rules.push(rule(GROUP, "clusterprofiles", &["*"]));
        rules.push(rule(GROUP, "clusterprofiles/status", &["*"]));
        rules.push(rule("", "secrets", &["list"]));
    }
    let cluster = |resource| (resource, None);
    let outputs = |resource| (resource, Some(OUTPUTS));
    let verbs = ["get", "list", "create", "patch", "delete"];
    for (place, object) in [
        (
            cluster(ApiResource::erase::<ClusterRole>(&())),
            json!({"rules": rules}),
        ),
        (
            cluster(ApiResource::erase::<ClusterRoleBinding>(&())),
            binding("ClusterRole"),
        ),
        (
            outputs(ApiResource::erase::<Role>(&())),
            json!({"rules": [rule("", "secrets", &verbs)]}),
        ),
        (outputs(ApiResource::erase::<RoleBinding>(&())), binding("Role")),
    ] {
        create(hub, place, object).await?;
    }
    Ok(())
}

/// Binds the role of its name to it.
fn binding(kind: &str) -> Value {
    let group = "rbac.authorization.k8s.io";
    json!({
        "roleRef": {"apiGroup": group, "kind": kind, "name": CONSUMER},
        "subjects": [{"apiGroup": group, "kind": "User", "name": CONSUMER}],
    })
}

/// Creates an object of its name.
async fn create(
    hub: &Hub,
    (resource, namespace): (ApiResource, Option<&str>),
    mut object: Value,
) -> Result<(), RequestError> {
    let target = Target {
        resource,
        namespace: namespace.map(str::to_owned),
        name: CONSUMER.to_owned(),
    };
    object["metadata"] = json!({"name": CONSUMER, "namespace": namespace});
    hub.create(&target, CONSUMER, &object).await.map(drop)
}
