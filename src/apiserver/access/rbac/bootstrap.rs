//! Bootstrap roles and bindings, as far as clients rely on them.

use std::{collections::BTreeMap, sync::LazyLock};

use serde_json::{Value, json};

use super::GROUP;

/// Bound groups and rules, by the name of role and binding.
static ROLES: LazyLock<BTreeMap<String, (Vec<String>, Value)>> =
    LazyLock::new(|| serde_json::from_str(include_str!("bootstrap.json")).expect("a table of roles"));

/// The bootstrap objects with their plurals, as if written at `time`.
pub(crate) fn objects(time: &str) -> Vec<(&'static str, Value)> {
    let mut objects = Vec::new();
    for (name, (groups, rules)) in &*ROLES {
        let role = object("ClusterRole", name, json!({"rules": rules}), time);
        objects.push(("clusterroles", role));
        let subject = |group| json!({"kind": "Group", "apiGroup": GROUP, "name": group});
        let binding = json!({
            "subjects": groups.iter().map(subject).collect::<Value>(),
            "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name},
        });
        let binding = object("ClusterRoleBinding", name, binding, time);
        objects.push(("clusterrolebindings", binding));
    }
    objects
}

fn object(kind: &str, name: &str, mut object: Value, time: &str) -> Value {
    let api_version = format!("{GROUP}/v1");
    let mut owned = json!({"f:metadata": {
        "f:annotations": {".": {}, "f:rbac.authorization.kubernetes.io/autoupdate": {}},
        "f:labels": {".": {}, "f:kubernetes.io/bootstrapping": {}},
    }});
    for (field, _) in object.as_object().into_iter().flatten() {
        owned[format!("f:{field}")] = json!({});
    }
    object["kind"] = kind.into();
    object["apiVersion"] = api_version.clone().into();
    object["metadata"] = json!({
        "name": name,
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
        "managedFields": [{
            "manager": "kube-apiserver", "operation": "Update", "apiVersion": api_version, "time": time,
            "fieldsType": "FieldsV1", "fieldsV1": owned,
        }],
    });
    object
}
