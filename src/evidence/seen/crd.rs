//! Reads the CRDs of ClusterProfile and PlacementDecision: the versions that they serve, and what a schema enforces.

use serde_json::Value;

use crate::{
    ServedVersion,
    api::{ObjectKind, names},
};

/// Returns the versions that a CustomResourceDefinition of that kind serves, in its order.
pub fn served_versions(crd: &Value, kind: ObjectKind) -> Vec<ServedVersion> {
    let spec = &crd["spec"];
    if spec["group"] != names::GROUP || spec["names"]["plural"] != kind.plural() {
        return Vec::new();
    }
    let versions = spec["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
    versions
        .iter()
        .filter(|version| version["served"] == true)
        .map(|version| ServedVersion {
            name: version["name"].as_str().unwrap_or_default().to_owned(),
            immutable_manager: keeps_manager(&version["schema"]["openAPIV3Schema"]),
            status_subresource: version["subresources"]["status"].is_object(),
        })
        .collect()
}

/// Returns `true` if a transition rule compares the manager with its previous value. A rule on the manager or its name
/// only needs `oldSelf`; one on the spec must mention the manager, or keep the whole spec.
fn keeps_manager(schema: &Value) -> bool {
    let spec = &schema["properties"]["spec"];
    let manager = &spec["properties"]["clusterManager"];
    let name = &manager["properties"]["name"];
    let of_manager = |rule: &str| {
        let plain: String = rule.split_whitespace().collect();
        rule.contains("clusterManager") || plain == "self==oldSelf" || plain == "oldSelf==self"
    };
    transition_rules(name)
        .chain(transition_rules(manager))
        .next()
        .is_some()
        || transition_rules(spec)
            .chain(transition_rules(schema))
            .any(of_manager)
}

/// The CEL rules of a schema that read the previous object.
fn transition_rules(schema: &Value) -> impl Iterator<Item = &str> {
    let rules = schema["x-kubernetes-validations"].as_array();
    rules
        .into_iter()
        .flatten()
        .filter_map(|rule| rule["rule"].as_str())
        .filter(|rule| rule.contains("oldSelf"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn served(schema: Value, plural: &str) -> Vec<ServedVersion> {
        let crd = json!({"spec": {"group": "multicluster.x-k8s.io", "names": {"plural": plural}, "versions": [
            {"name": "v1alpha1", "served": true, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}},
            {"name": "v1alpha0", "served": false},
        ]}});
        served_versions(&crd, ObjectKind::ClusterProfile)
    }

    fn guarded(schema: Value) -> bool {
        served(schema, "clusterprofiles")[0].immutable_manager
    }

    #[test]
    fn served_versions_are_read() {
        let expected = json!([{"name": "v1alpha1", "immutableManager": false, "statusSubresource": true}]);
        assert_eq!(json!(served(json!({}), "clusterprofiles")), expected);
        assert_eq!(served(json!({}), "clusterproperties"), []);
    }

    #[test]
    fn guard_is_found_in_each_place() {
        let rule = |text: &str| json!({"x-kubernetes-validations": [{"rule": text}]});
        let on_spec = |spec: Value| json!({"properties": {"spec": spec}});
        let on_manager = |manager: Value| on_spec(json!({"properties": {"clusterManager": manager}}));
        for guard in [
            on_manager(rule("self == oldSelf")),
            on_manager(json!({"properties": {"name": rule("self == oldSelf")}})),
            on_spec(rule("self.clusterManager == oldSelf.clusterManager")),
            rule("self.spec.clusterManager == oldSelf.spec.clusterManager"),
            on_spec(rule("self==oldSelf")),
        ] {
            assert!(guarded(guard.clone()), "{guard}");
        }
        // A rule on something else, or one that does not compare with the old value, guards nothing.
        assert!(!guarded(on_spec(rule("self.displayName == oldSelf.displayName"))));
        assert!(!guarded(on_manager(rule("self.name != ''"))));
    }
}
