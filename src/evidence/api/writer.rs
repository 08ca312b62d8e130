//! Reads `managedFields`, and keeps two levels of the tree of owned fields.

use std::{fmt, sync::Arc};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};

use super::{Writer, shape::Object};

impl<'de> Deserialize<'de> for Writer {
    /// Reads an entry of the hub (`fieldsV1`) or of the evidence file (`owns`).
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Entry {
            manager: Option<Arc<str>>,
            operation: Option<Arc<str>>,
            subresource: Option<Arc<str>>,
            time: Option<Arc<str>>,
            owns: Option<Vec<Box<str>>>,
            fields_v1: Option<OwnedFields>,
        }
        let Object(entry) = Object::<Entry>::deserialize(deserializer)?;
        let mut owns = entry
            .owns
            .or(entry.fields_v1.map(|fields| fields.0))
            .unwrap_or_default();
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

/// The paths that a `fieldsV1` tree owns, two levels deep (three for labels and annotations).
struct OwnedFields(Vec<Box<str>>);

impl<'de> Deserialize<'de> for OwnedFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut paths = Vec::new();
        deserializer.deserialize_any(Level {
            prefix: "",
            depth: 0,
            paths: &mut paths,
        })?;
        Ok(OwnedFields(paths))
    }
}

/// One level of the tree: records the path of each `f:` key, and descends where needed.
struct Level<'a> {
    prefix: &'a str,
    depth: usize,
    paths: &'a mut Vec<Box<str>>,
}

impl<'de> Visitor<'de> for Level<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tree of owned fields")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        let keyed = matches!(self.prefix, "metadata.labels" | "metadata.annotations");
        while let Some(key) = map.next_key::<String>()? {
            let Some(field) = key.strip_prefix("f:") else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let path = match (self.prefix, keyed) {
                ("", _) => field.to_owned(),
                (prefix, true) => format!("{prefix}[{field}]"),
                (prefix, false) => format!("{prefix}.{field}"),
            };
            let deeper = self.depth == 0 || matches!(&*path, "metadata.labels" | "metadata.annotations");
            if deeper {
                let level = Level {
                    prefix: &path,
                    depth: self.depth + 1,
                    paths: &mut *self.paths,
                };
                let known = level.paths.len();
                map.next_value_seed(Seed(level))?;
                // Fields beside these, such as `decisions`, are owned as a whole.
                let is_group = matches!(field, "metadata" | "spec" | "status");
                if self.depth == 0 && !is_group && self.paths.len() == known {
                    self.paths.push(path.into());
                }
            } else {
                map.next_value::<IgnoredAny>()?;
                self.paths.push(path.into());
            }
        }
        Ok(())
    }
}

struct Seed<'a>(Level<'a>);

impl<'de> serde::de::DeserializeSeed<'de> for Seed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keeps_who_owns_what() {
        let entry = json!({
            "manager": "m", "operation": "Update", "apiVersion": "v", "fieldsType": "FieldsV1",
            "subresource": "status", "time": "2026-11-20T10:33:43Z",
            "fieldsV1": {
                "f:metadata": {"f:labels": {".": {}, "f:a.b/c": {}}, "f:generateName": {}},
                "f:status": {"f:conditions": {".": {}, "k:{\"type\":\"Joined\"}": {".": {}, "f:status": {}}}, "f:version": {"f:kubernetes": {}}},
            },
        });
        let writer: Writer = serde_json::from_value(entry).expect("reads");
        let owns: Vec<&str> = writer.owns.iter().map(|path| &**path).collect();
        assert_eq!(
            owns,
            [
                "metadata.generateName",
                "metadata.labels[a.b/c]",
                "status.conditions",
                "status.version"
            ]
        );
        let entry =
            json!({"manager": "m", "fieldsV1": {"f:decisions": {}, "f:schedulerName": {}, "f:status": {}}});
        let writer: Writer = serde_json::from_value(entry).expect("reads");
        let owns: Vec<&str> = writer.owns.iter().map(|path| &**path).collect();
        assert_eq!(
            owns,
            ["decisions", "schedulerName"],
            "fields of a kind without a spec"
        );
        let again: Writer =
            serde_json::from_value(serde_json::to_value(&writer).expect("writes")).expect("reads back");
        assert_eq!(again, writer);
    }
}
