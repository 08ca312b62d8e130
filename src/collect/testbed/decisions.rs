//! PlacementDecisions of the testbed (KEP-5313), for a consumer that reads them: the run acts as scheduler, too.
//!
//! The first slice of the decision names each profile that the consumer selects, so that all scenarios apply to it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use evidence::{
    ObjectKey, ObjectRef, Published,
    api::{
        ClusterProfileReference, ObjectKind, PlacementDecision,
        names::{LABEL_DECISION_INDEX, LABEL_DECISION_KEY, LABEL_PLACEMENT_KEY},
    },
    runs::LABEL_RUN,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{player::Player, publish::PublishedProfile, scenarios::SliceId};
use crate::driver::OURSELVES;

const KIND: ObjectKind = ObjectKind::PlacementDecision;

/// The slices on the hub, and what the first one names.
#[derive(Default)]
pub(super) struct Slices {
    stored: BTreeMap<ObjectKey, (ObjectRef, PlacementDecision)>,
    first: Vec<ClusterProfileReference>,
}

/// The namespace of a slice, the key of its decision, and its index.
struct SliceLocation {
    namespace: String,
    decision: String,
    index: usize,
}

impl Player<'_> {
    fn decision_key(&self) -> String {
        let named = self.plan.claims.decision.clone();
        named.unwrap_or_else(|| format!("conformance-{}", self.plan.run))
    }

    fn slice(&self, id: SliceId) -> Option<SliceLocation> {
        let (namespace, decision) = (self.namespace(), self.decision_key());
        let own = SliceLocation {
            namespace,
            decision,
            index: 0,
        };
        Some(match id {
            SliceId::Own(index) => SliceLocation { index, ..own },
            SliceId::OtherDecision => SliceLocation {
                decision: format!("{}-2", own.decision),
                ..own
            },
            SliceId::OtherNamespace => SliceLocation {
                namespace: self.plan.unselected.clone()?,
                ..own
            },
        })
    }

    /// A reference to a profile in the consumer's first namespace, which may be missing. `without-namespace` has none.
    fn reference(&self, key: &str) -> ClusterProfileReference {
        let namespace = match key {
            "without-namespace" => String::new(),
            _ => self.namespace(),
        };
        ClusterProfileReference {
            name: Arc::from(self.name(key)),
            namespace: Arc::from(namespace),
        }
    }

    /// Names a profile in the first slice, if the consumer reads decisions and selects the profile. False if the API server
    /// refuses that.
    pub(super) async fn decide_first(&mut self, key: &str) -> bool {
        let Some(profile) = self.profiles.get(key) else {
            return false;
        };
        let is_decided = profile.is_selected && !profile.template.undecided;
        if !self.plan.claims.reads_placements() || !is_decided {
            return true;
        }
        let reference = ClusterProfileReference {
            name: Arc::from(&*profile.object.name),
            namespace: Arc::from(&*profile.object.namespace),
        };
        if !self.slices.first.contains(&reference) {
            self.slices.first.push(reference);
        }
        self.write_first().await
    }

    /// Writes the first slice again. It is empty when it is created.
    pub(super) async fn write_first(&mut self) -> bool {
        let Some(first) = self.slice(SliceId::Own(0)) else {
            return false;
        };
        let references = self.slices.first.clone();
        if !self.slices.stored.contains_key(&first.key()) && !self.write_slice(&first, &[]).await {
            return false;
        }
        self.write_slice(&first, &references).await
    }

    /// Takes a profile out of the first slice before the run deletes it.
    pub(super) async fn undecide_first(&mut self, profile: &ObjectKey) {
        let before = self.slices.first.len();
        let is_other = |reference: &ClusterProfileReference| {
            *reference.name != *profile.name || *reference.namespace != *profile.namespace
        };
        self.slices.first.retain(is_other);
        if self.slices.first.len() < before {
            self.write_first().await;
        }
    }

    /// Writes a slice, and gives the consumer work on the profiles that it names.
    pub(super) async fn decide(&mut self, id: SliceId, keys: &[&str]) {
        let Some(slice) = self.slice(id) else { return };
        let references: Vec<_> = keys.iter().map(|key| self.reference(key)).collect();
        if self.write_slice(&slice, &references).await && matches!(id, SliceId::Own(_)) {
            self.work_on(keys).await;
        }
    }

    async fn write_slice(&mut self, slice: &SliceLocation, references: &[ClusterProfileReference]) -> bool {
        if self.is_stopped() {
            return false;
        }
        let key = slice.key();
        let decisions = references.iter();
        let decisions: Value = decisions
            .map(|reference| json!({"clusterProfileRef": reference}))
            .collect();
        let before = self.decided();
        let sent = self.now();
        let written = match self.slices.stored.get(&key) {
            Some((object, _)) => self.writes.decide(object, &decisions).await,
            None => {
                let object = self.new_slice(slice, &key, decisions);
                self.writes.create(KIND, &key, object).await
            }
        };
        let stored = match written {
            Ok(stored) => stored,
            Err(failure) => {
                self.warn(&format!(
                    "the API server refuses the slice {}: {failure}",
                    key.name
                ));
                return false;
            }
        };
        let object = ObjectRef::of_value(&stored, KIND.name());
        let Ok(typed) = serde_json::from_value::<PlacementDecision>(stored) else {
            return false;
        };
        self.slices.stored.insert(key.clone(), (object, typed.clone()));
        self.record(key, sent, Published::Slice(Box::new(typed)));
        self.decisions_changed(&before, sent);
        true
    }

    fn new_slice(&self, slice: &SliceLocation, key: &ObjectKey, decisions: Value) -> Value {
        json!({
            "metadata": {
                "namespace": key.namespace,
                "name": key.name,
                "labels": {
                    LABEL_RUN: self.plan.run,
                    LABEL_DECISION_KEY: slice.decision,
                    // A consumer may find its decision by the placement.
                    LABEL_PLACEMENT_KEY: slice.decision,
                    LABEL_DECISION_INDEX: slice.index.to_string(),
                },
            },
            "schedulerName": OURSELVES,
            "decisions": decisions,
        })
    }

    /// Deletes all slices of the decision that the consumer reads.
    pub(super) async fn undecide(&mut self) {
        let (namespace, decision) = (self.namespace(), self.decision_key());
        let is_own = |slice: &PlacementDecision| {
            *slice.metadata.namespace == *namespace && slice.label(LABEL_DECISION_KEY) == Some(&decision)
        };
        let slices = self.slices.stored.values();
        let objects: Vec<ObjectRef> = slices
            .filter(|(_, slice)| is_own(slice))
            .map(|(object, _)| object.clone())
            .collect();
        for object in objects {
            let before = self.decided();
            let sent = self.now();
            if self.delete_object(KIND, &object).await {
                self.slices.stored.remove(&ObjectKey::from(&object));
                self.decisions_changed(&before, sent);
            }
        }
    }

    /// The profiles that the slices name which the consumer reads.
    fn decided(&self) -> BTreeSet<ObjectKey> {
        let slices = self.slices.stored.values().map(|(_, slice)| slice);
        let read = slices.filter(|slice| self.plan.claims.reads_slice(slice));
        let named = read.flat_map(|slice| {
            let decisions = slice.decisions.iter().flat_map(|decisions| decisions.iter());
            decisions.filter_map(|decision| {
                let reference = decision.cluster_profile_ref.as_ref()?;
                let namespace = match &*reference.namespace {
                    "" => &*slice.metadata.namespace,
                    namespace => namespace,
                };
                Some(ObjectKey {
                    namespace: namespace.to_owned(),
                    name: reference.name.to_string(),
                })
            })
        });
        named.collect()
    }

    /// A write of a slice changes what the consumer should do with the profiles that it adds or removes.
    fn decisions_changed(&mut self, before: &BTreeSet<ObjectKey>, sent: Timestamp) {
        let after = self.decided();
        let answered = self.now();
        let changed: BTreeSet<ObjectKey> = before.symmetric_difference(&after).cloned().collect();
        let keys = self.profiles.iter();
        let keys: Vec<String> = keys
            .filter(|(_, profile)| changed.contains(&PublishedProfile::key(profile)))
            .map(|(key, _)| key.clone())
            .collect();
        for key in keys {
            self.close_expectations_at(&key, sent);
            self.set_changed(&key, answered);
        }
    }
}

impl SliceLocation {
    /// Consumers find the slices of a decision by the label, or by the name.
    fn key(&self) -> ObjectKey {
        ObjectKey {
            namespace: self.namespace.clone(),
            name: format!("{}-{}", self.decision, self.index),
        }
    }
}
