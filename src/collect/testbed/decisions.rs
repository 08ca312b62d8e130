//! The decisions of a testbed, for a consumer that reads PlacementDecisions (KEP-5313): the run plays the scheduler, too.
//!
//! Such a consumer acts on no profile that no decision names. So that all scenes can be played for it, the first slice of its
//! decision names each profile that is staged for it, controls as well: what a consumer makes of profiles is judged alike,
//! whichever way it came to them. The scenes on decisions have further slices.

use std::sync::Arc;

use evidence::{
    ObjectKey, ObjectRef,
    api::{
        ClusterProfileReference, ObjectKind,
        names::{LABEL_DECISION_INDEX, LABEL_DECISION_KEY, LABEL_PLACEMENT_KEY},
    },
    runs::LABEL_RUN,
};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use super::{
    profile::{Place, Status},
    session::{Profile, Session},
};
use crate::driver::{OURSELVES, UndoEntry};

/// The decisions on the testbed.
#[derive(Default)]
pub(super) struct Decisions {
    state: Mutex<State>,
    /// Held while the first slice is written: each write has all of its members.
    first: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    slices: Vec<Slice>,
    /// Whom the first slice of the decision names, as long as there is one.
    selected: Vec<ClusterProfileReference>,
}

/// A slice on the testbed.
#[derive(Clone)]
struct Slice {
    object: ObjectRef,
    undo: Option<u64>,
}

/// Where a slice is.
#[derive(Clone, Debug)]
pub(super) struct SliceAt {
    pub namespace: String,
    /// The key of its decision.
    pub key: String,
    /// Its place among the slices of that.
    pub index: usize,
}

impl SliceAt {
    /// Its name: consumers tell slices of a decision by the label, or by their names.
    fn object_key(&self) -> ObjectKey {
        ObjectKey {
            namespace: self.namespace.clone(),
            name: format!("{}-{}", self.key, self.index),
        }
    }
}

/// Refers to a profile, by its namespace and name.
pub(super) fn reference(profile: &ObjectRef) -> ClusterProfileReference {
    ClusterProfileReference {
        name: Arc::from(&*profile.name),
        namespace: Arc::from(&*profile.namespace),
    }
}

impl Session<'_> {
    /// The key of the decision that the consumer reads.
    pub fn decision_key(&self) -> String {
        let named = self.plan.claims.decision.clone();
        named.unwrap_or_else(|| format!("conformance-{}", self.plan.run))
    }

    /// A slice of that decision.
    pub fn slice(&self, index: usize) -> SliceAt {
        SliceAt {
            namespace: self.place().namespace,
            key: self.decision_key(),
            index,
        }
    }

    /// Publishes a profile that no decision names yet.
    pub async fn publish_unnamed(&self, place: &Place, what: &str, status: &Status) -> Option<Profile> {
        let profile = self.create(place, what).await?;
        if self.say(&profile, status).await {
            return Some(profile);
        }
        self.withdraw(&profile).await;
        None
    }

    /// Names a profile in the first slice of the decision, if the consumer reads decisions and selects it. False if the hub
    /// refuses that.
    pub(super) async fn select(&self, profile: &Profile) -> bool {
        if !self.plan.claims.reads_placements() || !profile.is_selected {
            return true;
        }
        let _alone = self.decisions.first.lock().await;
        let first = self.slice(0);
        // What a slice names from its beginning asks something else.
        if !self.has(&first) && !self.put(&first, &[]).await {
            return false;
        }
        let selected = {
            let mut state = self.decided();
            let reference = reference(&profile.object);
            if !state.selected.contains(&reference) {
                state.selected.push(reference);
            }
            state.selected.clone()
        };
        self.put(&first, &selected).await
    }

    /// Takes a profile that is to go out of the first slice, as its scheduler would.
    pub(super) async fn deselect(&self, profile: &Profile) {
        let _alone = self.decisions.first.lock().await;
        let selected = {
            let mut state = self.decided();
            let before = state.selected.len();
            let gone = reference(&profile.object);
            state.selected.retain(|reference| *reference != gone);
            (state.selected.len() < before).then(|| state.selected.clone())
        };
        if let Some(selected) = selected {
            self.put(&self.slice(0), &selected).await;
        }
    }

    /// Publishes the first slice again, with all that it named.
    pub async fn select_again(&self) {
        let _alone = self.decisions.first.lock().await;
        let selected = self.decided().selected.clone();
        self.put(&self.slice(0), &selected).await;
    }

    /// The same, and has the consumer work on its members, if it needs to be told.
    pub async fn put_and_work(&self, at: &SliceAt, members: &[ClusterProfileReference]) {
        if !self.put(at, members).await {
            return;
        }
        for member in members {
            let own = Some(&*member.namespace).filter(|namespace| !namespace.is_empty());
            let profile = ObjectRef {
                namespace: own.unwrap_or(&at.namespace).to_owned(),
                name: member.name.to_string(),
                ..ObjectRef::default()
            };
            self.work_on(&profile).await;
        }
    }

    /// Publishes a slice, or gives it other members. False if the hub refuses that.
    pub async fn put(&self, at: &SliceAt, members: &[ClusterProfileReference]) -> bool {
        if self.is_stopped() {
            return false;
        }
        let key = at.object_key();
        let members: Vec<Value> = members
            .iter()
            .map(|reference| json!({"clusterProfileRef": reference}))
            .collect();
        let members = Value::Array(members);
        let there = self.find(&key);
        let done = match there {
            Some(slice) => self.writes.decide(&slice.object, &members).await.map(|_| None),
            None => {
                let undo = UndoEntry::Slice { slice: key.clone() };
                let Some(undo) = self.write_down(undo, &format!("the decision {}", key.name)) else {
                    return false;
                };
                let object = json!({
                    "metadata": {
                        "namespace": key.namespace,
                        "name": key.name,
                        "labels": {
                            LABEL_RUN: self.plan.run,
                            LABEL_DECISION_KEY: at.key,
                            // A consumer may find its decision by the placement that asked for it.
                            LABEL_PLACEMENT_KEY: at.key,
                            LABEL_DECISION_INDEX: at.index.to_string(),
                        },
                    },
                    "schedulerName": OURSELVES,
                    "decisions": members,
                });
                let created = self.writes.create(ObjectKind::PlacementDecision, &key, object);
                created.await.map(|object| Some(Slice { object, undo }))
            }
        };
        match done {
            Ok(created) => {
                self.decided().slices.extend(created);
                true
            }
            Err(failure) => {
                self.warn(&format!(
                    "the decision {} in {} is not as the scene wants it: {failure}",
                    key.name, key.namespace
                ));
                false
            }
        }
    }

    /// Deletes all slices of the decision that the consumer reads.
    pub async fn withdraw_decision(&self) {
        let is_its = |slice: &Slice| {
            let index = slice.object.name.strip_prefix(&self.decision_key());
            let index = index.and_then(|rest| rest.strip_prefix('-'));
            index.is_some_and(|index| index.parse::<usize>().is_ok())
                && slice.object.namespace == self.place().namespace
        };
        let slices: Vec<Slice> = self
            .decided()
            .slices
            .extract_if(.., |slice| is_its(slice))
            .collect();
        self.delete_slices(slices).await;
    }

    /// Deletes all slices. False if the hub keeps some.
    pub(super) async fn clear_decisions(&self) -> bool {
        let slices = std::mem::take(&mut self.decided().slices);
        self.delete_slices(slices).await
    }

    async fn delete_slices(&self, slices: Vec<Slice>) -> bool {
        let mut is_clear = true;
        for slice in slices {
            let kind = ObjectKind::PlacementDecision;
            is_clear &= self.delete(kind, &slice.object, slice.undo).await;
        }
        is_clear
    }

    fn has(&self, at: &SliceAt) -> bool {
        self.find(&at.object_key()).is_some()
    }

    fn find(&self, key: &ObjectKey) -> Option<Slice> {
        let state = self.decided();
        let mut slices = state.slices.iter();
        slices
            .find(|slice| ObjectKey::from(&slice.object) == *key)
            .cloned()
    }

    fn decided(&self) -> MutexGuard<'_, State> {
        self.decisions.state.lock()
    }
}
