//! Definitions that store more than the published ones.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray,
};

/// The field of an extension that has its content.
const CONTENT: &str = "extension";

/// The definition, with extensions of any content, or none: older hubs have stored such, and a consumer must live with that.
pub fn lax(mut definition: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut definition.spec.versions {
        if let Some(schema) = version
            .schema
            .as_mut()
            .and_then(|schema| schema.open_api_v3_schema.as_mut())
        {
            loosen(schema);
        }
    }
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
