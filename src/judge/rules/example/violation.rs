//! The first failing example of a rule, as a change of what an implementation publishes. The lab's reference implementations
//! and random histories break the rule in the same way.

use std::{collections::BTreeMap, time::Duration};

use evidence::{
    ObjectKey,
    api::{Edition, Labels, ObjectKind, syntax::is_dns_subdomain},
};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};

use super::{
    objects::{default_decisions, expand, key_of, profiles_of},
    times,
    world::as_mapping,
};
use crate::rules::registry::Rule;

/// What an implementation publishes in the first failing example of a rule.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The example's name.
    pub name: &'static str,
    /// The edition that the example is judged by.
    pub edition: Edition,
    /// The labels of namespaces, by name.
    pub namespaces: BTreeMap<String, Labels>,
    /// The profiles. For a rule on slices, those that the slices refer to.
    pub profiles: Vec<PublishedObject>,
    /// The slices, for a rule on slices.
    pub slices: Vec<PublishedObject>,
    /// Later changes of the profiles, and how long after the start.
    pub changes: Vec<(Duration, PublishedObject)>,
}

/// An object of an example, as a difference from a conforming one.
#[derive(Clone, Debug)]
pub struct PublishedObject {
    /// Its namespace in the example.
    pub namespace: String,
    /// Its name in the example.
    pub name: String,
    /// A merge patch (RFC 7396) onto a conforming object.
    pub patch: Value,
    /// True if the example says when the API server created the object.
    pub is_dated: bool,
}

/// The worlds that an implementation can publish: other keys describe what other clients do, or what else is known.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PublishedWorld {
    profiles: Option<Vec<Value>>,
    slices: Option<Vec<Value>>,
    namespaces: Vec<LabelledNamespace>,
    steps: Vec<ChangeStep>,
    observe: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LabelledNamespace {
    name: String,
    #[serde(default)]
    labels: Labels,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangeStep {
    at: SignedDuration,
    change: Value,
}

impl Violation {
    /// The violation in the first failing example of a rule, with times relative to `now`.
    ///
    /// None for a rule on behavior, and for an example with more than published objects.
    pub fn of(rule: &'static Rule, now: Timestamp) -> Option<Self> {
        if !rule.judges_published_objects() {
            return None;
        }
        let mut examples = rule.facts.examples.iter();
        let example = examples.find(|example| example.get("fails").is_some())?;
        let name = example["name"].as_str()?;
        let edition = rule.facts.editions.first()?.edition;
        let edition = serde_json::from_value(example["edition"].clone()).unwrap_or(edition);
        let world = PublishedWorld::read(&example["fails"], edition, now)?;
        let namespaces = world.namespaces.into_iter();
        let violation = Self {
            name,
            edition,
            namespaces: namespaces.map(|entry| (entry.name, entry.labels)).collect(),
            profiles: Vec::new(),
            slices: Vec::new(),
            changes: Vec::new(),
        };
        match (edition.role().objects(), world.profiles, world.slices) {
            (ObjectKind::PlacementDecision, None, Some(slices)) => violation.with_slices(&slices),
            (ObjectKind::ClusterProfile, profiles, None) => {
                violation.with_profiles(&profiles.unwrap_or_else(|| vec![json!({})]), world.steps)
            }
            _ => None,
        }
    }

    fn with_profiles(mut self, overlays: &[Value], steps: Vec<ChangeStep>) -> Option<Self> {
        self.profiles = objects_of(ObjectKind::ClusterProfile, overlays)?;
        for step in steps {
            let change = object_of(ObjectKind::ClusterProfile, &step.change)?;
            self.changes.push((step.at.unsigned_abs(), change));
        }
        Some(self)
    }

    fn with_slices(mut self, overlays: &[Value]) -> Option<Self> {
        self.slices = objects_of(ObjectKind::PlacementDecision, overlays)?;
        for slice in &mut self.slices {
            if slice.patch.get("decisions").is_none() {
                slice.patch["decisions"] = default_decisions();
            }
        }
        let mut references: Vec<Value> = overlays.iter().flat_map(profiles_of).collect();
        references.sort_by_key(Value::to_string);
        references.dedup();
        self.profiles = objects_of(ObjectKind::ClusterProfile, &references)?;
        self.profiles.retain(|profile| is_dns_subdomain(&profile.name));
        Some(self)
    }
}

impl PublishedWorld {
    /// The world of an example. None if it has more than published objects.
    fn read(world: &Value, edition: Edition, now: Timestamp) -> Option<Self> {
        let mut world = as_mapping(world, edition);
        times::fill_in(&mut world, now).ok()?;
        serde_json::from_value(world).ok()
    }
}

fn objects_of(kind: ObjectKind, overlays: &[Value]) -> Option<Vec<PublishedObject>> {
    overlays.iter().map(|overlay| object_of(kind, overlay)).collect()
}

/// An overlay of an example, without what identifies the object. None if it says who wrote the object.
fn object_of(kind: ObjectKind, overlay: &Value) -> Option<PublishedObject> {
    let ObjectKey { namespace, name } = key_of(kind, overlay);
    let is_dated = overlay.pointer("/metadata/creationTimestamp").is_some();
    let mut patch = expand(overlay);
    if let Some(metadata) = patch.get_mut("metadata").and_then(Value::as_object_mut) {
        if metadata.contains_key("writers") {
            return None;
        }
        // The API server sets the rest.
        let keys = ["annotations", "generateName", "labels", "ownerReferences"];
        metadata.retain(|key, _| keys.contains(&&**key));
    }
    require(&mut patch, "/status/conditions", "message");
    require(&mut patch, "/status/accessProviders", "name");
    Some(PublishedObject {
        namespace,
        name,
        patch,
        is_dated,
    })
}

/// Adds an empty field to the entries of a list that lack it: the API server requires it, examples may leave it out.
fn require(patch: &mut Value, list: &str, field: &str) {
    let entries = patch.pointer_mut(list).and_then(Value::as_array_mut);
    for entry in entries.into_iter().flatten().filter_map(Value::as_object_mut) {
        entry.entry(field).or_insert_with(|| "".into());
    }
}
