//! The objects that findings are about, as far as the evidence holds them.

use std::collections::HashMap;

use evidence::{Evidence, Namespace, ObjectRef, ProfileHistory, Secret, api::names, redact::redact_value};
use serde_json::{Value, json};

use super::excerpt::mapping;

type Key<'a> = (&'a str, &'a str);

/// The objects by name.
pub(super) struct Objects<'a> {
    profiles: HashMap<Key<'a>, Vec<&'a ProfileHistory>>,
    namespaces: HashMap<&'a str, &'a Namespace>,
    secrets: HashMap<Key<'a>, &'a Secret>,
}

impl<'a> Objects<'a> {
    /// Sorts all objects that were seen.
    pub(super) fn of(evidence: &'a Evidence) -> Self {
        let mut profiles: HashMap<Key<'a>, Vec<&'a ProfileHistory>> = HashMap::new();
        for history in &evidence.profiles {
            let metadata = &history.last().metadata;
            let key = (&*metadata.namespace, &*metadata.name);
            profiles.entry(key).or_default().push(history);
        }
        let namespaces = evidence.namespaces.iter();
        let secrets = evidence.secrets.iter();
        Self {
            profiles,
            namespaces: namespaces
                .map(|namespace| (&*namespace.name, namespace))
                .collect(),
            secrets: secrets
                .map(|secret| ((&*secret.namespace, &*secret.name), secret))
                .collect(),
        }
    }

    /// The profiles of a name, one after the other.
    pub(super) fn histories<'s>(&'s self, namespace: &'s str, name: &'s str) -> &'s [&'s ProfileHistory] {
        self.profiles.get(&(namespace, name)).map_or(&[], Vec::as_slice)
    }

    /// Returns the object in the given version or the last one, without credentials and values of Secrets.
    pub(super) fn find(&self, object: &ObjectRef) -> Option<Value> {
        let mut found = self.as_on_hub(object)?;
        redact_value(&mut found);
        Some(found)
    }

    fn as_on_hub(&self, object: &ObjectRef) -> Option<Value> {
        match &*object.kind {
            names::KIND => self.profile(object),
            "Namespace" => self.namespaces.get(&*object.name).map(|namespace| {
                json!({
                    "apiVersion": "v1",
                    "kind": "Namespace",
                    "metadata": {"name": namespace.name, "labels": namespace.labels},
                })
            }),
            "Secret" => {
                let secret = self.secrets.get(&(&*object.namespace, &*object.name))?;
                let never = |key: &String| (key.clone(), json!("(never shown)"));
                Some(json!({
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "metadata": {"name": secret.name, "namespace": secret.namespace, "labels": secret.labels},
                    "data": mapping(secret.keys.iter().map(never)),
                }))
            }
            _ => None,
        }
    }

    fn profile(&self, object: &ObjectRef) -> Option<Value> {
        let histories = self.histories(&object.namespace, &object.name);
        let is_meant = |history: &&&ProfileHistory| *history.last().metadata.uid == *object.uid;
        let history = histories.iter().find(is_meant).or(histories.last())?;
        let version = history.versions.iter().rev().find(|version| {
            let own = &version.object.metadata.resource_version;
            !own.is_empty() && *own == object.resource_version
        });
        let profile = version.map_or_else(|| history.last(), |version| &version.object);
        let mut value = serde_json::to_value(profile).ok()?;
        value["kind"] = json!(names::KIND);
        if let Some(metadata) = value["metadata"].as_object_mut() {
            // Our own digest of `managedFields`, which is no part of the object.
            metadata.remove("writers");
        }
        Some(value)
    }
}
