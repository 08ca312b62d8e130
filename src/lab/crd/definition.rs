//! What the definitions have in common: names, versions, and their YAML.

use k8s_openapi::{
    apiextensions_apiserver::pkg::apis::apiextensions::v1::{
        CustomResourceColumnDefinition, CustomResourceDefinition, CustomResourceDefinitionNames,
        CustomResourceDefinitionSpec, CustomResourceDefinitionVersion, CustomResourceSubresourceStatus,
        CustomResourceSubresources, CustomResourceValidation,
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use serde_json::json;

use super::schema::{Schema, object, string};

/// The definition as a YAML document for `kubectl apply -f`; the same text each time.
pub fn to_yaml(definition: &CustomResourceDefinition) -> String {
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    serde_saphyr::to_string_with_options(definition, options)
        .expect("every definition can be written as YAML")
}

/// Names of a kind.
pub(super) struct Kind {
    pub(super) group: &'static str,
    pub(super) kind: &'static str,
    pub(super) singular: &'static str,
    pub(super) plural: &'static str,
    /// `Namespaced` or `Cluster`.
    pub(super) scope: &'static str,
}

/// One version, with its status subresource.
pub(super) fn version(name: &str, spec_and_status: Schema) -> CustomResourceDefinitionVersion {
    CustomResourceDefinitionVersion {
        subresources: Some(CustomResourceSubresources {
            status: Some(CustomResourceSubresourceStatus(json!({}))),
            scale: None,
        }),
        ..version_without_status(name, spec_and_status)
    }
}

/// One version of a kind that has no status.
pub(super) fn version_without_status(name: &str, schema: Schema) -> CustomResourceDefinitionVersion {
    CustomResourceDefinitionVersion {
        name: name.to_owned(),
        served: true,
        storage: false,
        schema: Some(CustomResourceValidation {
            open_api_v3_schema: Some(schema.build()),
        }),
        ..Default::default()
    }
}

/// The root object: the fields of every Kubernetes object, and those of its kind.
pub(super) fn root<const N: usize>(fields: [(&str, Schema); N]) -> Schema {
    object([
        ("apiVersion", string().about("Group and version of this object.")),
        ("kind", string().about("Kind of this object.")),
        ("metadata", object([])),
    ])
    .with(fields)
}

/// A column of `kubectl get`: heading, type and JSON path.
pub(super) fn column(name: &str, type_: &str, json_path: &str) -> CustomResourceColumnDefinition {
    CustomResourceColumnDefinition {
        name: name.to_owned(),
        type_: type_.to_owned(),
        json_path: json_path.to_owned(),
        ..Default::default()
    }
}

/// The definition of `kind` in these versions, in the category that lists all SIG-Multicluster kinds.
pub(super) fn definition(
    kind: &Kind,
    versions: Vec<CustomResourceDefinitionVersion>,
) -> CustomResourceDefinition {
    CustomResourceDefinition {
        metadata: ObjectMeta {
            name: Some(format!("{}.{}", kind.plural, kind.group)),
            ..Default::default()
        },
        spec: CustomResourceDefinitionSpec {
            group: kind.group.to_owned(),
            names: CustomResourceDefinitionNames {
                categories: Some(vec!["multicluster".to_owned()]),
                kind: kind.kind.to_owned(),
                list_kind: Some(format!("{}List", kind.kind)),
                plural: kind.plural.to_owned(),
                singular: Some(kind.singular.to_owned()),
                short_names: None,
            },
            scope: kind.scope.to_owned(),
            versions,
            ..Default::default()
        },
        status: None,
    }
}
