//! The workloads for which the scheduler decides: objects of a kind of the lab, which own their decisions.

use evidence::api::names::LABEL_PLACEMENT_KEY;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::{Value, json};

use super::placement::Placement;
use crate::client::Target;

const GROUP: &str = "lab.example.com";
const VERSION: &str = "v1";
const KIND: &str = "Workload";
const PLURAL: &str = "workloads";

/// The definition of the kind.
pub(super) fn definition() -> CustomResourceDefinition {
    serde_json::from_value(json!({
        "metadata": {"name": format!("{PLURAL}.{GROUP}")},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": KIND, "listKind": format!("{KIND}List"), "plural": PLURAL, "singular": "workload"},
            "versions": [{
                "name": VERSION, "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }],
        },
    }))
    .expect("it is a definition")
}

/// A workload on the hub.
pub(super) fn target(namespace: &str, name: &str) -> Target {
    let kind = GroupVersionKind::gvk(GROUP, VERSION, KIND);
    Target {
        resource: ApiResource::from_gvk_with_plural(&kind, PLURAL),
        namespace: Some(namespace.to_owned()),
        name: name.to_owned(),
    }
}

/// The object to create. It carries the placement key, as its decisions do.
pub(super) fn object(placement: &Placement) -> Value {
    let name = &placement.name;
    let labels = json!({LABEL_PLACEMENT_KEY: name});
    json!({"metadata": {"namespace": placement.namespace, "name": name, "labels": labels}})
}

/// Refers to the workload as the owner of a slice.
pub(super) fn owner(workload: &DynamicObject) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/{VERSION}"),
        "kind": KIND,
        "name": workload.metadata.name,
        "uid": workload.metadata.uid,
        "controller": true,
    })
}
