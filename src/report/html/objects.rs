//! The objects that findings are about, as far as the evidence holds them.

use std::collections::HashMap;

use evidence::{
    Evidence, History, Namespace, ObjectRef, ProfileHistory, Secret, Tracked,
    api::{ClusterProfile, DecisionId, PlacementDecision, names},
    redact::redact_value,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::excerpt::mapping;
use crate::story::{Named, named};

type Name<'a> = (&'a str, &'a str);

/// What identifies a profile (all that have had one name) or a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key<'a> {
    /// A namespace and a name.
    Profile(&'a str, &'a str),
    Decision(DecisionId<'a>),
}

/// The objects by name.
pub(super) struct Objects<'a> {
    profiles: Named<'a, ClusterProfile>,
    slices: Named<'a, PlacementDecision>,
    namespaces: HashMap<&'a str, &'a Namespace>,
    secrets: HashMap<Name<'a>, &'a Secret>,
}

impl<'a> Objects<'a> {
    /// Sorts all objects that were seen.
    pub(super) fn of(evidence: &'a Evidence) -> Self {
        let namespaces = evidence.namespaces.iter();
        let secrets = evidence.secrets.iter();
        Self {
            profiles: named(&evidence.profiles),
            slices: named(&evidence.slices),
            namespaces: namespaces
                .map(|namespace| (&*namespace.name, namespace))
                .collect(),
            secrets: secrets
                .map(|secret| ((&*secret.namespace, &*secret.name), secret))
                .collect(),
        }
    }

    /// The profiles of a name, one after the other.
    pub(super) fn profiles<'s>(&'s self, namespace: &'s str, name: &'s str) -> &'s [&'s ProfileHistory] {
        self.profiles.get(&(namespace, name)).map_or(&[], Vec::as_slice)
    }

    /// The profile or the decision that an object is, or belongs to.
    pub(super) fn key_of<'s>(&'s self, object: &'s ObjectRef) -> Option<Key<'s>> {
        match &*object.kind {
            names::KIND => Some(Key::Profile(&object.namespace, &object.name)),
            names::PLACEMENT_KIND => {
                let slice = version(&self.slices, object)?;
                Some(Key::Decision(DecisionId::of(slice)))
            }
            _ => None,
        }
    }

    /// Returns the object in the given version or the last one, without credentials and values of Secrets.
    pub(super) fn find(&self, object: &ObjectRef) -> Option<Value> {
        let mut found = self.as_on_hub(object)?;
        redact_value(&mut found);
        Some(found)
    }

    fn as_on_hub(&self, object: &ObjectRef) -> Option<Value> {
        match &*object.kind {
            names::KIND => in_full(version(&self.profiles, object)?),
            names::PLACEMENT_KIND => in_full(version(&self.slices, object)?),
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
}

/// The given version of an object, or the last one.
fn version<'s, T: Tracked>(named: &'s Named<'_, T>, object: &'s ObjectRef) -> Option<&'s T> {
    let histories = named.get(&(&*object.namespace, &*object.name))?;
    let is_meant = |history: &&&History<T>| *history.last().metadata().uid == *object.uid;
    let history = histories.iter().find(is_meant).or(histories.last())?;
    let version = history.versions.iter().rev().find(|version| {
        let own = &version.object.metadata().resource_version;
        !own.is_empty() && *own == object.resource_version
    });
    Some(version.map_or_else(|| history.last(), |version| &version.object))
}

/// An object as the hub has it.
fn in_full<T: Tracked + Serialize>(object: &T) -> Option<Value> {
    let mut value = serde_json::to_value(object).ok()?;
    value["kind"] = json!(T::KIND);
    if let Some(metadata) = value["metadata"].as_object_mut() {
        // Our own digest of `managedFields`, which is no part of the object.
        metadata.remove("writers");
    }
    Some(value)
}
