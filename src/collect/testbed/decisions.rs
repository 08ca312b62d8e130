//! PlacementDecisions of the testbed (KEP-5313), for a consumer that reads them: the run acts as scheduler, too.
//!
//! The first slice of the decision names each profile that the consumer selects, so that all scenarios apply to it.

use std::{collections::BTreeSet, sync::Arc};

use evidence::{
    ObjectKey, ObjectRef, Published,
    api::{
        ClusterProfileReference, PlacementDecision,
        names::{LABEL_DECISION_INDEX, LABEL_DECISION_KEY, LABEL_PLACEMENT_KEY},
    },
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{player::Player, publish::PublishedProfile, scenarios::RunDecision};

impl Player<'_> {
    fn decision(&self, id: RunDecision) -> Option<(String, String)> {
        let name = self.plan.claims.decision.clone();
        let name = name.unwrap_or_else(|| format!("conformance-{}", self.plan.run));
        Some(match id {
            RunDecision::Own => (self.namespace(), name),
            RunDecision::OtherDecision => (self.namespace(), format!("{name}-2")),
            RunDecision::OtherNamespace => (self.plan.unselected.clone()?, name),
        })
    }

    /// Consumers find the slices of a decision by the label, or by the name.
    fn slice_key(&self, id: RunDecision, index: usize) -> Option<ObjectKey> {
        let (namespace, decision) = self.decision(id)?;
        Some(ObjectKey::new(&namespace, &format!("{decision}-{index}")))
    }

    /// Names a profile in the first slice, if the consumer reads decisions and selects the profile. False if the API server
    /// refuses that.
    pub(super) async fn decide_first(&mut self, key: &str) -> bool {
        let Some(profile) = self.profiles.get(key) else {
            return false;
        };
        let is_decided = profile.is_selected() && !profile.template.undecided;
        if !self.plan.claims.reads_placements() || !is_decided {
            return true;
        }
        let profile = profile.key();
        if !self.decided.contains(&profile) {
            self.decided.push(profile);
        }
        self.write_first().await
    }

    /// Writes the first slice again. It is empty when it is created.
    pub(super) async fn write_first(&mut self) -> bool {
        let decided = self.decided.clone();
        let key = self.slice_key(RunDecision::Own, 0);
        let exists = key.is_some_and(|key| self.slices.contains_key(&key));
        (exists || self.write_slice(RunDecision::Own, 0, &[]).await)
            && self.write_slice(RunDecision::Own, 0, &decided).await
    }

    /// Takes a profile out of the first slice before the run deletes it.
    pub(super) async fn undecide_first(&mut self, profile: &ObjectKey) {
        if self.decided.contains(profile) {
            self.decided.retain(|other| other != profile);
            self.write_first().await;
        }
    }

    /// Writes a slice, and gives the consumer work on the profiles that it names. A profile may be missing; `without-namespace` is
    /// named without its namespace.
    pub(super) async fn decide(&mut self, id: RunDecision, index: usize, keys: &[String]) {
        let profiles = keys.iter().map(|key| ObjectKey {
            namespace: match &**key {
                "without-namespace" => String::new(),
                _ => self.namespace(),
            },
            name: self.name(key),
        });
        let profiles: Vec<ObjectKey> = profiles.collect();
        if self.write_slice(id, index, &profiles).await && id == RunDecision::Own {
            self.work_on(keys).await;
        }
    }

    async fn write_slice(&mut self, id: RunDecision, index: usize, profiles: &[ObjectKey]) -> bool {
        let (Some(key), Some((_, decision))) = (self.slice_key(id, index), self.decision(id)) else {
            return false;
        };
        if self.context.is_stopped() {
            return false;
        }
        let references = profiles.iter().map(|profile| ClusterProfileReference {
            namespace: Arc::from(&*profile.namespace),
            name: Arc::from(&*profile.name),
        });
        let decisions: Value = references
            .map(|reference| json!({"clusterProfileRef": reference}))
            .collect();
        let before = self.decided_profiles();
        let sent = self.context.now();
        let result = match self.slices.get(&key) {
            Some(slice) => self.writes.decide(&ObjectRef::from(slice), &decisions).await,
            None => {
                let labels = [
                    (LABEL_DECISION_KEY, decision.clone()),
                    // A consumer may find its decision by the placement.
                    (LABEL_PLACEMENT_KEY, decision),
                    (LABEL_DECISION_INDEX, index.to_string()),
                ];
                let labels = labels.map(|(name, value)| (name.to_owned(), value));
                self.writes.create_slice(&key, labels.into(), &decisions).await
            }
        };
        let stored = match result {
            Ok(stored) => stored,
            Err(failure) => {
                self.warn(&format!(
                    "the API server refuses the slice {}: {failure}",
                    key.name
                ));
                return false;
            }
        };
        let Ok(slice) = serde_json::from_value::<PlacementDecision>(stored) else {
            return false;
        };
        self.slices.insert(key.clone(), slice.clone());
        self.record(key, sent, Published::Slice(Box::new(slice)));
        self.change_decided(&before, sent);
        true
    }

    /// Deletes all slices of the decision that the consumer reads.
    pub(super) async fn undecide(&mut self) {
        let Some((namespace, decision)) = self.decision(RunDecision::Own) else {
            return;
        };
        let is_own = |slice: &&PlacementDecision| {
            *slice.metadata.namespace == *namespace && slice.label(LABEL_DECISION_KEY) == Some(&decision)
        };
        let objects = self.slices.values().filter(is_own);
        let objects: Vec<ObjectRef> = objects.map(ObjectRef::from).collect();
        for object in objects {
            let before = self.decided_profiles();
            let sent = self.context.now();
            if self.delete_object(&object).await {
                self.slices.remove(&ObjectKey::from(&object));
                self.change_decided(&before, sent);
            }
        }
    }

    /// The profiles that the slices name which the consumer reads.
    fn decided_profiles(&self) -> BTreeSet<ObjectKey> {
        let slices = self.slices.values();
        let read = slices.filter(|slice| self.plan.claims.reads_slice(slice));
        let references = read.flat_map(PlacementDecision::references);
        references
            .map(|reference| ObjectKey::new(&reference.namespace, &reference.name))
            .collect()
    }

    /// A write of a slice changes what the consumer should do with the profiles that it adds or removes.
    fn change_decided(&mut self, before: &BTreeSet<ObjectKey>, sent: Timestamp) {
        let after = self.decided_profiles();
        let answered = self.context.now();
        let is_changed =
            |profile: &PublishedProfile| before.contains(&profile.key()) != after.contains(&profile.key());
        for key in self.keys_of(is_changed) {
            self.close_expectations(&key, sent);
            if let Some(profile) = self.profiles.get_mut(&key) {
                profile.changed_at = answered;
            }
        }
    }
}
