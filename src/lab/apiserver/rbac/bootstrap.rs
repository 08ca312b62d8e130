//! The roles and bindings that every server has from the start, as far as clients rely on them.

use serde_json::{Value, json};

use super::GROUP;
use crate::lab::apiserver::auth::{AUTHENTICATED, MASTERS, UNAUTHENTICATED};
use crate::lab::apiserver::server::ApiServer;

impl ApiServer {
    /// Puts them there.
    pub(in crate::lab::apiserver) fn place_roles(&self) {
        for (name, groups, rules) in roles() {
            self.place_bootstrap("ClusterRole", name, json!({"rules": rules}));
            let subjects = groups
                .iter()
                .map(|group| json!({"kind": "Group", "apiGroup": GROUP, "name": group}));
            let binding = json!({
                "subjects": subjects.collect::<Value>(),
                "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name},
            });
            self.place_bootstrap("ClusterRoleBinding", name, binding);
        }
    }

    fn place_bootstrap(&self, kind: &str, name: &str, mut object: Value) {
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
                "manager": "kube-apiserver", "operation": "Update", "apiVersion": api_version, "time": self.time(),
                "fieldsType": "FieldsV1", "fieldsV1": owned,
            }],
        });
        self.place((GROUP, &format!("{}s", kind.to_lowercase())), object);
    }
}

/// The name of each role and its binding, the groups that are bound to it, and its rules.
fn roles() -> [(&'static str, &'static [&'static str], Value); 5] {
    let health = ["/healthz", "/livez", "/readyz", "/version", "/version/"];
    [
        (
            "cluster-admin",
            &[MASTERS],
            json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}, {"nonResourceURLs": ["*"], "verbs": ["*"]}]),
        ),
        (
            "system:basic-user",
            &[AUTHENTICATED],
            json!([
                {"apiGroups": ["authorization.k8s.io"],
                 "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"], "verbs": ["create"]},
                {"apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"], "verbs": ["create"]},
            ]),
        ),
        (
            "system:discovery",
            &[AUTHENTICATED],
            json!([{"nonResourceURLs": [
                "/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz",
                "/version", "/version/",
            ], "verbs": ["get"]}]),
        ),
        (
            "system:monitoring",
            &["system:monitoring"],
            json!([
                {"nonResourceURLs": [
                    "/flagz", "/healthz", "/healthz/*", "/livez", "/livez/*", "/metrics", "/metrics/slis", "/readyz",
                    "/readyz/*", "/statusz",
                ], "verbs": ["get"]},
                {"apiGroups": [""], "resources": ["nodes/metrics"], "verbs": ["get"]},
            ]),
        ),
        (
            "system:public-info-viewer",
            &[AUTHENTICATED, UNAUTHENTICATED],
            json!([{"nonResourceURLs": health, "verbs": ["get"]}]),
        ),
    ]
}
