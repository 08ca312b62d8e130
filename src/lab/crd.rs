//! The CustomResourceDefinitions that the suite installs: the YAML in `crds/`, with descriptions of our own.
//!
//! They accept and refuse the same objects as the published ones, so that the lab's hubs judge writes as other hubs do. The
//! facts come from the API's Go types and the definitions generated from them:
//!
//! * ClusterProfile `v1alpha1` equals the published definition of release v0.1.
//! * ClusterProfile `v1alpha2` is **derived**: its Go types (release v0.2, in
//!   `apis/v1alpha2/clusterprofile_types.go` of kubernetes-sigs/cluster-inventory-api) are known, the definition
//!   that controller-gen generates was not available. Each validation marker of the types is translated as
//!   controller-gen does; `v1alpha1` stays the storage version, as the release notes say.
//! * PlacementDecision `v1alpha1` equals the published definition of release v0.1, in the category `multicluster` besides.
//! * PlacementDecision `v1alpha2` is **derived** from its Go types in the same way (`apis/v1alpha2/placementdecision_types.go`).
//! * ClusterProperty (About API, KEP-2149) equals the published definition that serves `v1alpha1` and stores
//!   `v1beta1`.
//!
//! Where the types ask CEL's `format` library for a name, these definitions match it with that library's expression:
//! only Kubernetes 1.32 and newer compile rules with `format`.

use std::sync::LazyLock;

use evidence::user_file::read_compiled_in;
pub use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray,
};
use serde_json::{Value, json};

const CLUSTER_PROFILE: &str = include_str!("crds/clusterprofiles.multicluster.x-k8s.io.yaml");
const PLACEMENT_DECISION: &str = include_str!("crds/placementdecisions.multicluster.x-k8s.io.yaml");
const CLUSTER_PROPERTY: &str = include_str!("crds/clusterproperties.about.k8s.io.yaml");
/// The field of an extension that has its content.
const CONTENT: &str = "extension";

/// All definitions, as a stream of YAML documents for `kubectl apply -f -`.
pub fn yaml() -> String {
    [CLUSTER_PROFILE, PLACEMENT_DECISION, CLUSTER_PROPERTY].join("---\n")
}

/// All definitions, in the order of [`yaml`].
pub fn all() -> Vec<CustomResourceDefinition> {
    vec![cluster_profile(), placement_decision(), cluster_property()]
}

/// ClusterProfile (KEP-4322): `v1alpha1`, which is stored, and the stricter `v1alpha2`.
pub fn cluster_profile() -> CustomResourceDefinition {
    static PARSED: LazyLock<CustomResourceDefinition> = LazyLock::new(|| parse(CLUSTER_PROFILE));
    PARSED.clone()
}

/// PlacementDecision (KEP-5313): `v1alpha1`, which is stored, and the stricter `v1alpha2`. Neither has a status.
pub fn placement_decision() -> CustomResourceDefinition {
    static PARSED: LazyLock<CustomResourceDefinition> = LazyLock::new(|| parse(PLACEMENT_DECISION));
    PARSED.clone()
}

/// ClusterProperty (About API, KEP-2149): `v1alpha1` and `v1beta1`, which differ only in name; `v1beta1` is stored.
pub fn cluster_property() -> CustomResourceDefinition {
    static PARSED: LazyLock<CustomResourceDefinition> = LazyLock::new(|| parse(CLUSTER_PROPERTY));
    PARSED.clone()
}

/// A definition of objects of any shape.
pub(crate) fn of_any_shape(group: &str, version: &str, plural: &str, kind: &str) -> Value {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")},
            "versions": [{"name": version, "served": true, "storage": true, "schema": {"openAPIV3Schema": any}}],
        },
    })
}

fn parse(yaml: &str) -> CustomResourceDefinition {
    read_compiled_in(yaml).expect("the checked-in YAML is a definition")
}

/// The definition, with extensions of any content, or none: older hubs have stored such objects, and consumers must
/// tolerate them.
pub fn lax(mut definition: CustomResourceDefinition) -> CustomResourceDefinition {
    let versions = definition.spec.versions.iter_mut();
    let schemas = versions.filter_map(|version| version.schema.as_mut()?.open_api_v3_schema.as_mut());
    schemas.for_each(loosen);
    definition
}

fn loosen(schema: &mut JSONSchemaProps) {
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        loosen(items);
    }
    for (name, field) in schema.properties.iter_mut().flatten() {
        if name == CONTENT {
            field.type_ = None;
            field.nullable = Some(true);
            field.x_kubernetes_preserve_unknown_fields = Some(true);
        } else {
            loosen(field);
        }
    }
    if let Some(required) = &mut schema.required {
        required.retain(|name| name != CONTENT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_definition_is_read_completely() {
        let yaml = yaml();
        for (text, definition) in yaml.split("---\n").zip(all()) {
            let whole: serde_json::Value = serde_saphyr::from_str(text).unwrap();
            assert_eq!(serde_json::to_value(&definition).unwrap(), whole);
        }
    }

    /// YAML 1.1 parsers, for example kubectl's, read a bare `True` as a boolean.
    #[test]
    fn the_yaml_quotes_what_yaml_1_1_reads_as_a_boolean() {
        for word in ["True", "False"] {
            assert!(
                !yaml().lines().any(|line| line.trim() == format!("- {word}")),
                "{word} is not quoted"
            );
        }
    }
}
