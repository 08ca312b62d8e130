//! Object metadata as the suite reads it: reduced to what rules use, and shared between versions.

use std::{collections::BTreeMap, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::IgnoredAny};
use serde_json::Value;

use super::shape::{Object, is_default, or_default, share, share_list, share_some};

/// Label keys and values.
pub type Labels = BTreeMap<String, String>;

/// The object metadata that rules use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// Name within the namespace.
    #[serde(deserialize_with = "or_default")]
    pub name: Arc<str>,
    /// Namespace; empty for a cluster-scoped object.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub namespace: Arc<str>,
    /// Uid; empty in hand-written input.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub uid: Arc<str>,
    /// The hub's opaque version.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub resource_version: String,
    /// Counts the changes of the spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// The prefix of a generated name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generate_name: Option<Arc<str>>,
    /// RFC 3339, as given by the hub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<Arc<str>>,
    /// RFC 3339; set while the object waits for its finalizers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<Arc<str>>,
    /// Labels.
    #[serde(deserialize_with = "labels", skip_serializing_if = "is_default")]
    pub labels: Arc<Labels>,
    /// Annotations. No rule is about them, but none may hold a credential.
    #[serde(deserialize_with = "annotations", skip_serializing_if = "is_default")]
    pub annotations: Arc<Labels>,
    /// Field ownership; `None` if the input has no `managedFields`.
    #[serde(alias = "managedFields", skip_serializing_if = "Option::is_none")]
    pub writers: Option<Arc<[Writer]>>,
}

/// One entry of `managedFields`, reduced to ownership.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(default)]
pub struct Writer {
    /// The field manager's name.
    pub manager: Arc<str>,
    /// `Apply` or `Update`.
    pub operation: Arc<str>,
    /// The subresource of the write; empty for the object itself.
    #[serde(skip_serializing_if = "is_default")]
    pub subresource: Arc<str>,
    /// When the entry last changed, RFC 3339 to the second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Arc<str>>,
    /// The owned parts, sorted, for example `status.conditions` and `metadata.labels[x-k8s.io/cluster-manager]`.
    pub owns: Arc<[Box<str>]>,
}

impl Metadata {
    /// Shares every part that equals the one in `previous`, which may be of another object.
    pub fn share_with(&mut self, previous: &Self) {
        share(&mut self.name, &previous.name);
        share(&mut self.namespace, &previous.namespace);
        share(&mut self.uid, &previous.uid);
        share(&mut self.labels, &previous.labels);
        share(&mut self.annotations, &previous.annotations);
        if let (Some(writers), Some(previous)) = (&mut self.writers, &previous.writers) {
            share_list(writers, previous, |writer, previous| {
                share(&mut writer.manager, &previous.manager);
                share(&mut writer.operation, &previous.operation);
                share(&mut writer.subresource, &previous.subresource);
                share_some(&mut writer.time, &previous.time);
                share(&mut writer.owns, &previous.owns);
            });
        }
    }
}

/// Reads labels. A `null` value is empty, as on the hub.
fn labels<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Labels>, D::Error> {
    let labels: Option<BTreeMap<String, Option<String>>> = Option::deserialize(deserializer)?;
    let labels = labels.unwrap_or_default().into_iter();
    let labels = labels.map(|(key, value)| (key, value.unwrap_or_default()));
    Ok(Arc::new(labels.collect()))
}

/// Reads annotations. In a dump, a value without quotes is read as text, so that its profile is not lost.
fn annotations<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Labels>, D::Error> {
    let annotations: Option<BTreeMap<String, Value>> = Option::deserialize(deserializer)?;
    let text = |value| match value {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let annotations = annotations.unwrap_or_default().into_iter();
    let annotations = annotations.map(|(key, value)| (key, text(value)));
    Ok(Arc::new(annotations.collect()))
}

/// The tree of `fieldsV1`, three levels deep. What is below, a large part of a profile's JSON, is not kept.
type OwnedFields = BTreeMap<String, Option<BTreeMap<String, Option<BTreeMap<String, IgnoredAny>>>>>;

impl<'de> Deserialize<'de> for Writer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct WriterFields {
            manager: Option<Arc<str>>,
            operation: Option<Arc<str>>,
            subresource: Option<Arc<str>>,
            time: Option<Arc<str>>,
            owns: Option<Vec<Box<str>>>,
            fields_v1: Option<OwnedFields>,
        }
        let Object(entry) = Object::<WriterFields>::deserialize(deserializer)?;
        let owns = entry.owns.or(entry.fields_v1.map(|fields| owned_paths(&fields)));
        let mut owns = owns.unwrap_or_default();
        owns.sort_unstable();
        owns.dedup();
        Ok(Writer {
            manager: entry.manager.unwrap_or_default(),
            operation: entry.operation.unwrap_or_default(),
            subresource: entry.subresource.unwrap_or_default(),
            time: entry.time,
            owns: owns.into(),
        })
    }
}

/// The paths of the owned fields, two levels deep; three for labels and annotations, one for `decisions` and the like.
fn owned_paths(tree: &OwnedFields) -> Vec<Box<str>> {
    let mut paths = Vec::new();
    for (group, fields) in tree {
        let Some(group) = group.strip_prefix("f:") else {
            continue;
        };
        let before = paths.len();
        for (field, below) in fields.iter().flatten() {
            let Some(field) = field.strip_prefix("f:") else {
                continue;
            };
            let path = format!("{group}.{field}");
            if matches!(&*path, "metadata.labels" | "metadata.annotations") {
                let keys = below.iter().flat_map(|fields| fields.keys());
                let keys = keys.filter_map(|key| key.strip_prefix("f:"));
                paths.extend(keys.map(|key| format!("{path}[{key}]").into()));
            } else {
                paths.push(path.into());
            }
        }
        if paths.len() == before && !matches!(group, "metadata" | "spec" | "status") {
            paths.push(group.into());
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn labels_are_strings_and_annotations_become_strings() {
        let odd = json!({"a": "x", "b": 1, "c": -2.5, "d": true, "e": null, "f": ["y"], "g": {"h": 1}});
        let read: Metadata = serde_json::from_value(json!({"annotations": odd})).expect("metadata");
        let read = json!(*read.annotations);
        let texts = json!({"a": "x", "b": "1", "c": "-2.5", "d": "true", "e": "", "f": r#"["y"]"#, "g": r#"{"h":1}"#});
        assert_eq!(read, texts);
        let read: Metadata =
            serde_json::from_value(json!({"labels": {"a": null}, "annotations": null})).expect("metadata");
        assert_eq!((read.labels["a"].as_str(), read.annotations.len()), ("", 0));
        for refused in [
            r#"{"labels": {"a": 1}}"#,
            r#"{"labels": ["a"]}"#,
            r#"{"annotations": "x"}"#,
        ] {
            assert!(serde_json::from_str::<Metadata>(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn writers_have_their_fields() {
        let entry = json!({
            "manager": "m", "operation": "Update", "apiVersion": "v", "fieldsType": "FieldsV1",
            "subresource": "status", "time": "2026-11-20T10:33:43Z",
            "fieldsV1": {
                "f:metadata": {"f:labels": {".": {}, "f:a.b/c": {}}, "f:generateName": {}},
                "f:status": {"f:conditions": {".": {}, "k:{\"type\":\"Joined\"}": {".": {}, "f:status": {}}}, "f:version": {"f:kubernetes": {}}},
            },
        });
        let owns = |entry: Value| {
            let writer: Writer = serde_json::from_value(entry).expect("reads");
            (writer.owns.join(" "), writer)
        };
        let owned = "metadata.generateName metadata.labels[a.b/c] status.conditions status.version";
        assert_eq!(owns(entry).0, owned);
        // Of a kind without a spec.
        let fields = json!({"f:decisions": {}, "f:schedulerName": {}, "f:status": {}});
        let (owned, writer) = owns(json!({"manager": "m", "fieldsV1": fields}));
        assert_eq!(owned, "decisions schedulerName");
        let again: Writer = serde_json::from_value(json!(writer)).expect("reads back");
        assert_eq!(again, writer);
    }
}
