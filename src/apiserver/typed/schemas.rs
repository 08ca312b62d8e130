//! The schemas of built-in kinds, with the merge strategies of lists, which generated schemas do not have.

use k8s_openapi::{
    Resource,
    schemars::{JsonSchema, generate::SchemaSettings},
};
use serde_json::{Value, json};

use super::messages::{Kind, Merge, Message, known, message_of};

/// The schema of the kind `T`.
pub(crate) fn schema<T: Resource + JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| settings.inline_subschemas = true);
    let mut schema = T::json_schema(&mut settings.into_generator()).to_value();
    if let Some(message) = message_of(T::GROUP, T::KIND) {
        annotate(message, &mut schema);
    }
    schema
}

fn annotate(message: &Message, schema: &mut Value) {
    if message.atomic {
        schema["x-kubernetes-map-type"] = "atomic".into();
    }
    for field in &message.fields {
        if let Some(below) = schema["properties"].get_mut(field.name) {
            annotate_field(&field.kind, below);
        }
    }
}

fn annotate_field(kind: &Kind, schema: &mut Value) {
    match kind {
        Kind::Message(name) => annotate(known(name), schema),
        Kind::Map(values) => annotate_field(values, &mut schema["additionalProperties"]),
        Kind::List(merge, items) => {
            let (list_type, key) = match merge {
                Merge::Atomic => ("atomic", None),
                Merge::Set => ("set", None),
                Merge::ByKey(key) => ("map", Some(*key)),
                Merge::PatchedByKey(key) => ("atomic", Some(*key)),
            };
            schema["x-kubernetes-list-type"] = list_type.into();
            if let Merge::ByKey(key) = merge {
                schema["x-kubernetes-list-map-keys"] = json!([key]);
            }
            if *merge != Merge::Atomic {
                schema["x-kubernetes-patch-strategy"] = "merge".into();
            }
            if let Some(key) = key {
                schema["x-kubernetes-patch-merge-key"] = key.into();
            }
            annotate_field(items, &mut schema["items"]);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{
        autoscaling::v1::Scale, coordination::v1::Lease, core::v1 as core, events::v1 as events,
        rbac::v1 as rbac,
    };

    use super::*;

    fn check(kind: &Kind, schema: &Value, at: &str) {
        assert!(schema.is_object(), "{at}");
        match kind {
            Kind::Message(name) => {
                for field in &known(name).fields {
                    check(
                        &field.kind,
                        &schema["properties"][field.name],
                        &format!("{at}.{}", field.name),
                    );
                }
            }
            Kind::List(_, items) => check(items, &schema["items"], at),
            Kind::Map(values) => check(values, &schema["additionalProperties"], at),
            _ => {}
        }
    }

    fn check_whole<T: Resource + JsonSchema>() -> Value {
        let (schema, name) = (schema::<T>(), message_of(T::GROUP, T::KIND).unwrap().name);
        check(&Kind::Message(name), &schema, name);
        schema
    }

    /// Every message of the table appears in the schemas, so that it is annotated.
    #[test]
    fn all_fields_are_documented() {
        check_whole::<core::Namespace>();
        check_whole::<core::Secret>();
        check_whole::<core::Node>();
        check_whole::<core::Event>();
        check_whole::<events::Event>();
        check_whole::<Lease>();
        check_whole::<Scale>();
        check_whole::<rbac::ClusterRole>();
        check_whole::<rbac::RoleBinding>();
        let account = check_whole::<core::ServiceAccount>();
        assert_eq!(
            account["properties"]["secrets"]["x-kubernetes-list-map-keys"],
            json!(["name"])
        );
    }
}
