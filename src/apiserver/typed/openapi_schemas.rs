//! The OpenAPI schemas of built-in kinds, with descriptions of their fields.

use std::sync::LazyLock;

use k8s_openapi::{
    api::{coordination, core, events, rbac},
    apiextensions_apiserver::pkg::apis::apiextensions,
    apimachinery::pkg::apis::meta::v1 as meta,
    schemars::generate::SchemaSettings,
};
use serde_json::{Map, Value};

use crate::object::value::text;

/// What references to other schemas begin with.
pub(crate) const SCHEMAS: &str = "#/components/schemas/";
const CORE_EVENT: &str = "io.k8s.api.core.v1.Event";

/// The schemas of built-in kinds and of shared types, by name.
pub(crate) static KNOWN_SCHEMAS: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    let mut all = SchemaSettings::openapi3().into_generator();
    all.subschema_for::<core::v1::Namespace>();
    all.subschema_for::<core::v1::Secret>();
    all.subschema_for::<core::v1::ConfigMap>();
    all.subschema_for::<core::v1::Event>();
    all.subschema_for::<core::v1::Node>();
    all.subschema_for::<core::v1::ServiceAccount>();
    all.subschema_for::<events::v1::Event>();
    all.subschema_for::<coordination::v1::Lease>();
    all.subschema_for::<rbac::v1::Role>();
    all.subschema_for::<rbac::v1::ClusterRole>();
    all.subschema_for::<rbac::v1::RoleBinding>();
    all.subschema_for::<rbac::v1::ClusterRoleBinding>();
    all.subschema_for::<apiextensions::v1::CustomResourceDefinition>();
    all.subschema_for::<meta::DeleteOptions>();
    all.subschema_for::<meta::Patch>();
    all.subschema_for::<meta::Status>();
    let mut schemas = all.take_definitions(true);
    // Go's types always have metadata; posted objects need none, except old Events.
    let others = schemas.iter_mut().filter(|(name, _)| *name != CORE_EVENT);
    for fields in others.filter_map(|(_, schema)| schema.as_object_mut()) {
        fields.retain(|key, value| match (key.as_str(), value.as_array_mut()) {
            ("required", Some(names)) => {
                names.retain(|name| name != "metadata");
                !names.is_empty()
            }
            _ => true,
        });
    }
    schemas
});

/// The description of a field of a built-in kind, such as `spec.holderIdentity`. Empty if there is none. Both groups'
/// Events have the same.
pub(crate) fn description(kind: &str, path: &str) -> String {
    // All kinds share the descriptions of metadata.
    let (kind, path) = match path.strip_prefix("metadata.") {
        Some(path) => ("ObjectMeta", path),
        None => (kind, path),
    };
    let mut known = KNOWN_SCHEMAS.iter();
    let known = known.find(|(name, _)| name.rsplit('.').next() == Some(kind));
    let mut schema = known.map_or(&Value::Null, |(_, schema)| schema);
    let mut told = &Value::Null;
    for field in path.split('.') {
        told = &schema["properties"][field];
        let below = references(told).first().and_then(|name| KNOWN_SCHEMAS.get(name));
        schema = below.unwrap_or(&Value::Null);
    }
    text(told, "description").to_owned()
}

/// The names of referenced schemas.
pub(crate) fn references(schema: &Value) -> Vec<String> {
    let text = schema.to_string();
    let names = text.split(SCHEMAS).skip(1);
    names
        .filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()))
        .collect()
}
