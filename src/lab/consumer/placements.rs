//! Which profiles its decision names, for a consumer that reads PlacementDecisions.

use std::collections::{BTreeMap, BTreeSet};

use evidence::api::names::{LABEL_DECISION_INDEX, LABEL_DECISION_KEY};
use kube::api::DynamicObject;
use serde_json::json;

use super::{
    names::{CONSUMER, DECISION, NAMESPACES},
    selection::key,
    world::{Misbehaviour, World},
};
use crate::{
    client::{Hub, RequestError, Via, slice_resource},
    mirror::Mirror,
};

/// The decision that it reads.
pub(super) struct Placements {
    slices: BTreeMap<&'static str, Mirror>,
    /// The profiles that the decision ever named: for a fault.
    ever: BTreeSet<(String, String)>,
}

impl Placements {
    pub(super) fn new() -> Self {
        let mirror = |namespace| Mirror::new(slice_resource(), namespace);
        Self {
            slices: NAMESPACES.map(|namespace| (namespace, mirror(namespace))).into(),
            ever: BTreeSet::new(),
        }
    }

    /// Leaves those of the profiles that the decision names now.
    pub(super) async fn select(
        &mut self,
        hub: &Hub,
        world: &World,
        profiles: &mut Vec<DynamicObject>,
    ) -> Result<(), RequestError> {
        for mirror in self.slices.values_mut() {
            mirror.refresh(hub).await?;
        }
        if world.has(Misbehaviour::WritesSlices) {
            self.write(hub).await?;
        }
        let there: BTreeSet<String> = profiles.iter().map(|profile| key(profile, world)).collect();
        let mut named = self.named(world, &there);
        if world.has(Misbehaviour::KeepsTheRemoved) {
            self.ever.extend(named);
            named = self.ever.clone();
        }
        profiles.retain(|profile| {
            let namespace = profile.metadata.namespace.clone().unwrap_or_default();
            named.contains(&(namespace, profile.metadata.name.clone().unwrap_or_default()))
        });
        Ok(())
    }

    /// The profiles that all slices of the decision name, by namespace and name.
    fn named(&self, world: &World, there: &BTreeSet<String>) -> BTreeSet<(String, String)> {
        let label = |slice: &DynamicObject, key: &str| slice.metadata.labels.as_ref()?.get(key).cloned();
        let mut named = BTreeSet::new();
        for (namespace, mirror) in &self.slices {
            let its = mirror
                .all()
                .filter(|slice| label(slice, LABEL_DECISION_KEY).as_deref() == Some(DECISION));
            let mut slices: Vec<&DynamicObject> = its.collect();
            slices.sort_by_key(|slice| {
                let index = label(slice, LABEL_DECISION_INDEX).unwrap_or_default();
                index.parse::<usize>().unwrap_or(usize::MAX)
            });
            for slice in slices {
                let members = slice.data["decisions"].as_array().map_or(&[][..], Vec::as_slice);
                if members.is_empty() && world.has(Misbehaviour::StopsAtAnEmptySlice) {
                    break;
                }
                for member in members {
                    let reference = &member["clusterProfileRef"];
                    let name = reference["name"].as_str().unwrap_or_default();
                    let own = reference["namespace"].as_str().filter(|own| !own.is_empty());
                    let namesake = NAMESPACES
                        .into_iter()
                        .filter(|_| world.has(Misbehaviour::TakesNamesakes))
                        .rfind(|other| there.contains(&format!("{other}/{name}")));
                    let namespace = own.or(namesake).unwrap_or(namespace);
                    named.insert((namespace.to_owned(), name.to_owned()));
                }
            }
        }
        named
    }

    /// Writes to slices, as no consumer should.
    async fn write(&mut self, hub: &Hub) -> Result<(), RequestError> {
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
