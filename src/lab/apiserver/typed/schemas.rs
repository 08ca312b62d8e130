//! The schemas of the server's own kinds, with what their documentation does not tell machines: how lists are merged.

use k8s_openapi::schemars::JsonSchema;
use k8s_openapi::schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::messages::{Kind, Merge, Message, known, message_of};

/// The schema of the kind `T`.
pub(in crate::lab::apiserver) fn schema<T: JsonSchema>(group: &str, kind: &str) -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| settings.inline_subschemas = true);
    let mut schema = T::json_schema(&mut settings.into_generator()).to_value();
    if let Some(message) = message_of(group, kind) {
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
            let key = match merge {
                Merge::Atomic | Merge::Set => None,
                Merge::ByKey(key) | Merge::PatchedByKey(key) => Some(*key),
            };
            let list_type = match merge {
                Merge::Set => "set",
                Merge::ByKey(_) => "map",
                Merge::Atomic | Merge::PatchedByKey(_) => "atomic",
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
    use super::*;
    use k8s_openapi::api::{
        coordination::v1::Lease, core::v1 as core, events::v1 as events, rbac::v1 as rbac,
    };

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

    /// What the table of types knows is documented, so that it is annotated.
    #[test]
    fn all_fields_are_documented() {
        check(
            &Kind::Message("Namespace"),
            &schema::<core::Namespace>("", "Namespace"),
            "Namespace",
        );
        check(
            &Kind::Message("Secret"),
            &schema::<core::Secret>("", "Secret"),
            "Secret",
        );
        check(&Kind::Message("Node"), &schema::<core::Node>("", "Node"), "Node");
        check(
            &Kind::Message("Event"),
            &schema::<core::Event>("", "Event"),
            "Event",
        );
        let event = schema::<events::Event>("events.k8s.io", "Event");
        check(&Kind::Message("events.Event"), &event, "events.Event");
        check(&Kind::Message("Lease"), &schema::<Lease>("", "Lease"), "Lease");
        check(
            &Kind::Message("ClusterRole"),
            &schema::<rbac::ClusterRole>("", "ClusterRole"),
            "ClusterRole",
        );
        check(
            &Kind::Message("RoleBinding"),
            &schema::<rbac::RoleBinding>("", "RoleBinding"),
            "RoleBinding",
        );
        let account = schema::<core::ServiceAccount>("", "ServiceAccount");
        check(&Kind::Message("ServiceAccount"), &account, "ServiceAccount");
        assert_eq!(
            account["properties"]["secrets"]["x-kubernetes-list-map-keys"],
            json!(["name"])
        );
    }
}
