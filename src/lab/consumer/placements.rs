//! The decision of a consumer that reads PlacementDecisions.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use evidence::api::names::{LABEL_DECISION_INDEX, LABEL_DECISION_KEY};
use kube::api::DynamicObject;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{CONSUMER, ConsumerWorld, DECISION, NAMESPACES, selection::key};
use crate::{
    client::{HubClient, RequestError, Via, slice_resource},
    mirror::Mirror,
};

/// How long a rollout waits with the members of later slices.
const WAVE: Duration = Duration::from_secs(90);

/// The decision that it reads.
pub(super) struct Placements {
    slices: BTreeMap<&'static str, Mirror>,
    /// The profiles that the decision ever named, for a fault.
    ever: BTreeSet<(String, String)>,
    /// Since when a later slice names each of these profiles, for a rollout.
    waiting: BTreeMap<(String, String), Instant>,
}

impl Placements {
    pub(super) fn new() -> Self {
        let mirror = |namespace| Mirror::new(slice_resource(), namespace);
        Self {
            slices: NAMESPACES.map(|namespace| (namespace, mirror(namespace))).into(),
            ever: BTreeSet::new(),
            waiting: BTreeMap::new(),
        }
    }

    /// Retains the profiles that the decision names.
    pub(super) async fn select(
        &mut self,
        hub: &HubClient,
        world: &ConsumerWorld,
        profiles: &mut Vec<Arc<DynamicObject>>,
    ) -> Result<(), RequestError> {
        for mirror in self.slices.values_mut() {
            mirror.refresh(hub).await?;
        }
        if world.has("consumer-placement/read-only-and-feedback-elsewhere") {
            self.write(hub).await?;
        }
        let there: BTreeSet<String> = profiles.iter().map(|profile| key(profile, world)).collect();
        let mut profiles_named = self.named(world, &there);
        if world.has("consumer-placement/follows") {
            self.ever.extend(profiles_named);
            profiles_named = self.ever.clone();
        }
        if world.habits.rolls_out {
            self.wait_for_waves(&mut profiles_named);
        }
        profiles.retain(|profile| {
            let namespace = profile.metadata.namespace.clone().unwrap_or_default();
            profiles_named.contains(&(namespace, profile.metadata.name.clone().unwrap_or_default()))
        });
        Ok(())
    }

    /// Retains the profiles that the first slices name, and those that later slices have named for long enough.
    fn wait_for_waves(&mut self, profiles: &mut BTreeSet<(String, String)>) {
        let mut first = BTreeSet::new();
        for (namespace, mirror) in &self.slices {
            for slice in mirror
                .all()
                .filter(|slice| label(slice, LABEL_DECISION_INDEX).as_deref() == Some("0"))
            {
                first.extend(members(slice).iter().map(|member| referred(member, namespace)));
            }
        }
        self.waiting.retain(|member, _| profiles.contains(member));
        profiles.retain(|member| {
            let since = *self.waiting.entry(member.clone()).or_insert_with(Instant::now);
            first.contains(member) || since.elapsed() >= WAVE
        });
    }

    /// The profiles that all slices of the decision name, by namespace and name.
    fn named(&self, world: &ConsumerWorld, there: &BTreeSet<String>) -> BTreeSet<(String, String)> {
        let mut profiles = BTreeSet::new();
        for (namespace, mirror) in &self.slices {
            let of_decision = mirror
                .all()
                .filter(|slice| label(slice, LABEL_DECISION_KEY).as_deref() == Some(DECISION));
            let mut slices: Vec<&DynamicObject> = of_decision.collect();
            slices.sort_by_key(|slice| {
                let index = label(slice, LABEL_DECISION_INDEX).unwrap_or_default();
                index.parse::<usize>().unwrap_or(usize::MAX)
            });
            for slice in slices {
                let members = members(slice);
                if members.is_empty() && world.has("consumer-placement/all-slices") {
                    break;
                }
                for member in members {
                    let name = member["clusterProfileRef"]["name"].as_str().unwrap_or_default();
                    let namesake = NAMESPACES
                        .into_iter()
                        .filter(|_| world.has("consumer-placement/references"))
                        .rfind(|other| there.contains(&format!("{other}/{name}")));
                    profiles.insert(referred(member, namesake.unwrap_or(namespace)));
                }
            }
        }
        profiles
    }

    /// Writes to slices, for a fault.
    async fn write(&mut self, hub: &HubClient) -> Result<(), RequestError> {
        for mirror in self.slices.values_mut() {
            let is_seen = |slice: &&DynamicObject| {
                let annotations = slice.metadata.annotations.as_ref();
                annotations.is_some_and(|annotations| annotations.contains_key(CONSUMER))
            };
            let new: Vec<String> = mirror
                .all()
                .filter(|slice| !is_seen(slice))
                .filter_map(|slice| slice.metadata.name.clone())
                .collect();
            for name in new {
                let patch = json!({"metadata": {"annotations": {CONSUMER: "seen"}}});
                mirror.patch(hub, CONSUMER, (&name, Via::Object), &patch).await?;
            }
        }
        Ok(())
    }
}

fn label(slice: &DynamicObject, key: &str) -> Option<String> {
    slice.metadata.labels.as_ref()?.get(key).cloned()
}

/// The entries of a slice.
fn members(slice: &DynamicObject) -> &[Value] {
    slice.data["decisions"].as_array().map_or(&[], Vec::as_slice)
}

/// The namespace and name of the profile of an entry; its namespace is `namespace` unless the reference has one.
fn referred(member: &Value, namespace: &str) -> (String, String) {
    let reference = &member["clusterProfileRef"];
    let own = reference["namespace"].as_str().filter(|text| !text.is_empty());
    let name = reference["name"].as_str().unwrap_or_default();
    (own.unwrap_or(namespace).to_owned(), name.to_owned())
}
