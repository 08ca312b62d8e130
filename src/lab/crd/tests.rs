use std::path::PathBuf;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

use super::*;

/// The schema of one version, as JSON.
fn schema_of(definition: &CustomResourceDefinition, version: &str) -> Value {
    let version = definition
        .spec
        .versions
        .iter()
        .find(|v| v.name == version)
        .unwrap();
    serde_json::to_value(
        version
            .schema
            .as_ref()
            .unwrap()
            .open_api_v3_schema
            .as_ref()
            .unwrap(),
    )
    .unwrap()
}

/// All constraints of a schema, as lines of `path keyword value`. Descriptions are left out.
fn facts(path: &str, schema: &Value, into: &mut Vec<String>) {
    for (keyword, value) in schema.as_object().unwrap() {
        match keyword.as_str() {
            "description" => {}
            "properties" => {
                for (name, field) in value.as_object().unwrap() {
                    facts(&format!("{path}.{name}"), field, into);
                }
            }
            "items" => facts(&format!("{path}[]"), value, into),
            _ => into.push(format!("{path} {keyword} {value}")),
        }
    }
}

fn sorted_facts(definition: &CustomResourceDefinition, version: &str) -> Vec<String> {
    let mut found = Vec::new();
    facts("", &schema_of(definition, version), &mut found);
    found.sort();
    found
}

/// The lines of a table, blank lines and indentation aside.
fn table(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect();
    lines.sort();
    lines
}

/// The constraints of both versions of ClusterProfile, field by field.
const PROFILE_COMMON: &str = r#"
     type "object"
     required ["spec"]
    .apiVersion type "string"
    .kind type "string"
    .metadata type "object"
    .spec type "object"
    .spec required ["clusterManager"]
    .spec.displayName type "string"
    .spec.clusterManager type "object"
    .spec.clusterManager required ["name"]
    .spec.clusterManager x-kubernetes-validations [{"message":"ClusterManager is immutable","rule":"self == oldSelf"}]
    .spec.clusterManager.name type "string"
    .status type "object"
    .status.version type "object"
    .status.version.kubernetes type "string"
    .status.conditions type "array"
    .status.conditions x-kubernetes-list-type "map"
    .status.conditions x-kubernetes-list-map-keys ["type"]
    .status.conditions[] type "object"
    .status.conditions[] required ["lastTransitionTime","message","reason","status","type"]
    .status.conditions[].lastTransitionTime type "string"
    .status.conditions[].lastTransitionTime format "date-time"
    .status.conditions[].message type "string"
    .status.conditions[].message maxLength 32768
    .status.conditions[].observedGeneration type "integer"
    .status.conditions[].observedGeneration format "int64"
    .status.conditions[].observedGeneration minimum 0.0
    .status.conditions[].reason type "string"
    .status.conditions[].reason minLength 1
    .status.conditions[].reason maxLength 1024
    .status.conditions[].reason pattern "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
    .status.conditions[].status type "string"
    .status.conditions[].status enum ["True","False","Unknown"]
    .status.conditions[].type type "string"
    .status.conditions[].type maxLength 316
    .status.conditions[].type pattern "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
    .status.properties type "array"
    .status.properties x-kubernetes-list-type "map"
    .status.properties x-kubernetes-list-map-keys ["name"]
    .status.properties[] type "object"
    .status.properties[] required ["name","value"]
    .status.properties[].lastObservedTime type "string"
    .status.properties[].lastObservedTime format "date-time"
    .status.properties[].name type "string"
    .status.properties[].name minLength 1
    .status.properties[].name maxLength 253
    .status.properties[].value type "string"
    .status.properties[].value minLength 1
    .status.properties[].value maxLength 1024
"#;

/// The constraints of both versions on a list of access providers, at `LIST`.
const PROVIDERS_COMMON: &str = r#"
    LIST type "array"
    LIST x-kubernetes-list-type "map"
    LIST x-kubernetes-list-map-keys ["name"]
    LIST[] type "object"
    LIST[].name type "string"
    LIST[].cluster type "object"
    LIST[].cluster required ["server"]
    LIST[].cluster.server type "string"
    LIST[].cluster.tls-server-name type "string"
    LIST[].cluster.proxy-url type "string"
    LIST[].cluster.insecure-skip-tls-verify type "boolean"
    LIST[].cluster.disable-compression type "boolean"
    LIST[].cluster.certificate-authority-data type "string"
    LIST[].cluster.certificate-authority-data format "byte"
    LIST[].cluster.extensions type "array"
    LIST[].cluster.extensions[] type "object"
    LIST[].cluster.extensions[] required ["extension","name"]
    LIST[].cluster.extensions[].name type "string"
    LIST[].cluster.extensions[].extension type "object"
    LIST[].cluster.extensions[].extension x-kubernetes-preserve-unknown-fields true
"#;

/// Further constraints of `v1alpha1` on such a list.
const PROVIDERS_V1ALPHA1: &str = r#"
    LIST[] required ["name"]
    LIST[].cluster.certificate-authority type "string"
"#;

/// Further constraints of `v1alpha2`.
const PROFILE_V1ALPHA2: &str = r#"
    .spec.clusterManager.name minLength 1
    .spec.clusterManager.name maxLength 63
    .spec.clusterManager.name x-kubernetes-validations [{"message":"must be a valid Kubernetes label value","rule":"self.matches('^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$')"}]
    .status.accessProviders maxItems 64
    .status.accessProviders[] required ["cluster","name"]
    .status.accessProviders[].name minLength 1
    .status.accessProviders[].name maxLength 253
    .status.accessProviders[].cluster.server maxLength 2048
    .status.accessProviders[].cluster.server x-kubernetes-validations [{"message":"server must be a valid absolute URL with a host","rule":"isURL(self) && url(self).getHost() != ''"}]
    .status.accessProviders[].cluster.tls-server-name maxLength 253
    .status.accessProviders[].cluster.proxy-url maxLength 2048
    .status.accessProviders[].cluster.proxy-url x-kubernetes-validations [{"message":"proxy-url must be a valid URL with scheme http, https, or socks5 and a host","rule":"self == '' || (isURL(self) && url(self).getScheme() in ['http', 'https', 'socks5'] && url(self).getHost() != '')"}]
    .status.accessProviders[].cluster.extensions x-kubernetes-list-type "map"
    .status.accessProviders[].cluster.extensions x-kubernetes-list-map-keys ["name"]
    .status.accessProviders[].cluster.extensions[].name minLength 1
    .status.accessProviders[].cluster.extensions[].name maxLength 253
"#;

#[test]
fn v1alpha1_of_the_profile_constrains_what_the_published_definition_does() {
    let providers = [PROVIDERS_COMMON, PROVIDERS_V1ALPHA1].concat();
    let expected = [
        PROFILE_COMMON.to_owned(),
        providers.replace("LIST", ".status.accessProviders"),
        providers.replace("LIST", ".status.credentialProviders"),
    ]
    .concat();
    assert_eq!(sorted_facts(&cluster_profile(), "v1alpha1"), with_root(&expected));
}

#[test]
fn v1alpha2_of_the_profile_constrains_what_the_go_types_do() {
    let expected = [
        PROFILE_COMMON.to_owned(),
        PROVIDERS_COMMON.replace("LIST", ".status.accessProviders"),
        PROFILE_V1ALPHA2.to_owned(),
    ]
    .concat();
    assert_eq!(sorted_facts(&cluster_profile(), "v1alpha2"), with_root(&expected));
}

/// The constraints of both versions of PlacementDecision.
const PLACEMENT_COMMON: &str = r#"
     type "object"
     required ["decisions"]
    .apiVersion type "string"
    .kind type "string"
    .metadata type "object"
    .schedulerName type "string"
    .decisions type "array"
    .decisions maxItems 100
    .decisions[] type "object"
    .decisions[] required ["clusterProfileRef"]
    .decisions[].reason type "string"
    .decisions[].clusterProfileRef type "object"
    .decisions[].clusterProfileRef required ["name"]
    .decisions[].clusterProfileRef.name type "string"
    .decisions[].clusterProfileRef.namespace type "string"
"#;

/// Further constraints of `v1alpha1`.
const PLACEMENT_V1ALPHA1: &str = r#"
    .decisions minItems 0
"#;

/// Further constraints of `v1alpha2`.
const PLACEMENT_V1ALPHA2: &str = r#"
    .decisions[].clusterProfileRef.name maxLength 253
    .decisions[].clusterProfileRef.name x-kubernetes-validations [{"message":"must be a valid RFC 1123 DNS subdomain","rule":"self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')"}]
    .decisions[].clusterProfileRef.namespace maxLength 63
    .decisions[].clusterProfileRef.namespace x-kubernetes-validations [{"message":"must be a valid RFC 1123 DNS label","rule":"self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')"}]
"#;

#[test]
fn placement_decision_constrains_what_the_go_types_do() {
    for (version, further) in [("v1alpha1", PLACEMENT_V1ALPHA1), ("v1alpha2", PLACEMENT_V1ALPHA2)] {
        let expected = [PLACEMENT_COMMON, further].concat();
        assert_eq!(sorted_facts(&placement_decision(), version), with_root(&expected));
    }
}

#[test]
fn cluster_property_asks_for_a_value_in_both_versions() {
    let expected = r#"
         type "object"
        .apiVersion type "string"
        .kind type "string"
        .metadata type "object"
        .spec type "object"
        .spec required ["value"]
        .spec.value type "string"
        .spec.value minLength 1
        .status type "object"
    "#;
    for version in ["v1alpha1", "v1beta1"] {
        assert_eq!(sorted_facts(&cluster_property(), version), with_root(expected));
    }
}

/// The table, where the facts of the outermost object have an empty path: a line that begins with the keyword.
fn with_root(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = table(text)
        .into_iter()
        .map(|line| {
            if line.starts_with('.') {
                line
            } else {
                format!(" {line}")
            }
        })
        .collect();
    lines.sort();
    lines
}

#[test]
fn names_scopes_versions_and_subresources_are_the_published_ones() {
    let summary: Vec<Value> = all()
        .iter()
        .map(|definition| {
            let spec = &definition.spec;
            let versions: Vec<Value> = spec
                .versions
                .iter()
                .map(|v| json!([v.name, v.served, v.storage, v.subresources]))
                .collect();
            json!([
                definition.metadata.name,
                spec.scope,
                spec.names.kind,
                spec.names.list_kind,
                spec.names.singular,
                versions
            ])
        })
        .collect();
    let status = json!({"status": {}});
    assert_eq!(
        summary,
        [
            json!([
                "clusterprofiles.multicluster.x-k8s.io",
                "Namespaced",
                "ClusterProfile",
                "ClusterProfileList",
                "clusterprofile",
                [
                    ["v1alpha1", true, true, status],
                    ["v1alpha2", true, false, status]
                ]
            ]),
            json!([
                "placementdecisions.multicluster.x-k8s.io",
                "Namespaced",
                "PlacementDecision",
                "PlacementDecisionList",
                "placementdecision",
                [["v1alpha1", true, true, null], ["v1alpha2", true, false, null]]
            ]),
            json!([
                "clusterproperties.about.k8s.io",
                "Cluster",
                "ClusterProperty",
                "ClusterPropertyList",
                "clusterproperty",
                [["v1alpha1", true, false, status], ["v1beta1", true, true, status]]
            ]),
        ]
    );
}

#[test]
fn the_yaml_reads_back_as_the_same_definition() {
    for definition in all() {
        let yaml = to_yaml(&definition);
        let read: CustomResourceDefinition = serde_saphyr::from_str(&yaml).unwrap();
        assert_eq!(read, definition);
    }
}

/// YAML 1.1 parsers, such as kubectl's, read a bare `True` as a boolean.
#[test]
fn the_yaml_quotes_what_older_readers_would_take_for_booleans() {
    let yaml = to_yaml(&cluster_profile());
    for word in ["True", "False"] {
        assert!(
            !yaml.lines().any(|line| line.trim() == format!("- {word}")),
            "{word} is not quoted"
        );
    }
}

#[test]
fn the_fixtures_are_fresh() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/crds");
    for definition in all() {
        let file = folder.join(format!("{}.yaml", definition.metadata.name.as_deref().unwrap()));
        let generated = to_yaml(&definition);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&file, &generated).unwrap();
        }
        let checked_in = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            checked_in == generated,
            "{} is stale: renew it with `just crds` (UPDATE=1 cargo test -p clusterprofile-lab --lib crd)",
            file.display()
        );
    }
}
