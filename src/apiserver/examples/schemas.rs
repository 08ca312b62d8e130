//! Prints `typed/schemas.json`, the schemas of the built-in kinds:
//!
//! ```sh
//! cargo run -p in-process-apiserver --features schemas --example schemas > src/apiserver/typed/schemas.json
//! ```
//!
//! They are a file because k8s-openapi with schemas of all kinds takes much longer to compile.

use k8s_openapi::{
    api::{
        authentication::v1 as authentication, authorization::v1 as authorization, coordination::v1::Lease,
        core::v1 as core, events::v1 as events, rbac::v1 as rbac,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::ListMeta,
    schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings},
};
use serde_json::json;

/// Code checks the versions of a CRD, so their schema stays open.
const LEFT_OPEN: &str = "CustomResourceDefinitionVersion";
/// The types that only the versions of a CRD refer to.
const OF_VERSIONS: [&str; 9] = [
    "CustomResourceColumnDefinition",
    "CustomResourceSubresourceScale",
    "CustomResourceSubresources",
    "CustomResourceSubresourceStatus",
    "CustomResourceValidation",
    "ExternalDocumentation",
    "JSONSchemaProps",
    "SelectableField",
    "ValidationRule",
];

fn main() {
    let mut generator = SchemaSettings::openapi3().into_generator();
    let add: [fn(&mut SchemaGenerator); 19] = [
        define::<core::Namespace>,
        define::<core::Secret>,
        define::<core::ConfigMap>,
        define::<core::ServiceAccount>,
        define::<core::Event>,
        define::<core::Node>,
        define::<events::Event>,
        define::<Lease>,
        define::<rbac::Role>,
        define::<rbac::ClusterRole>,
        define::<rbac::RoleBinding>,
        define::<rbac::ClusterRoleBinding>,
        define::<authentication::SelfSubjectReview>,
        define::<authentication::TokenRequest>,
        define::<authorization::SelfSubjectAccessReview>,
        define::<authorization::SelfSubjectRulesReview>,
        define::<authorization::SubjectAccessReview>,
        define::<CustomResourceDefinition>,
        define::<ListMeta>,
    ];
    for define in add {
        define(&mut generator);
    }
    let mut definitions = generator.take_definitions(false);
    let is_of_version = |name: &str| {
        OF_VERSIONS
            .iter()
            .any(|kind| name.ends_with(&format!(".v1.{kind}")))
    };
    definitions.retain(|name, _| !is_of_version(name));
    for (name, schema) in &mut definitions {
        if name.ends_with(LEFT_OPEN) {
            *schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        }
    }
    let line = |(name, schema)| format!("\"{name}\": {schema}");
    let lines: Vec<String> = definitions.iter().map(line).collect();
    println!("{{\n{}\n}}", lines.join(",\n"));
}

fn define<T: JsonSchema>(generator: &mut SchemaGenerator) {
    generator.subschema_for::<T>();
}
