//! Reconciles in rounds: selects clusters, compares slices, and corrects what differs.
//!
//! No write is needed after a restart, a deleted slice is restored, and foreign edits are corrected.
//!
//! A reschedule never leaves a cluster in no slice. Clusters only ever move to an earlier slice, as what is new comes
//! last, and slices are written from the first to the last: the one that gains a cluster before the one that loses it.
//! Slices that became needless are deleted after that.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use collect::clock::Clock;
use evidence::api::{
    ClusterProfileReference,
    names::{LABEL_DECISION_INDEX, LABEL_DECISION_KEY, LARGEST_SLICE},
};
use serde_json::Value;
use tokio::time::{Instant, sleep, sleep_until};

use super::{
    misbehaviours::{LATE, Misbehaviour, Misbehaviours},
    names::SCHEDULER,
    placement::{Clusters, Placement},
    remote::Commands,
    script::Step,
    selection::{is_well, reference, select},
    slice::{self, Slice},
    slices::{clusters_of, slice as slice_of, slices, workload_of},
    workload,
};
use crate::{
    client::{Hub, RequestError, Via, profile_resource, slice_resource},
    mirror::Mirror,
};

/// How often the scheduler compares decisions.
const ROUND: Duration = Duration::from_secs(5);
/// How long a restart takes.
const RESTART: Duration = Duration::from_secs(5);
/// The time between two writes of a scheduler that does not care.
const CARELESS: Duration = Duration::from_secs(2);
/// The second user of [`Misbehaviour::SecondWriter`].
const SECOND_WRITER: &str = "reference-scheduler-2";

/// Publishes decisions for the workloads that the script and the remote control name.
pub(super) struct Controller {
    pub(super) hub: Hub,
    pub(super) clock: Clock,
    pub(super) misbehaviours: Misbehaviours,
    /// The namespace of the clusters for workloads of the remote control.
    pub(super) inventory: &'static str,
    born: Instant,
    /// The workloads, by namespace and name. A real scheduler reads them from the hub: they survive a restart.
    pub(super) placed: BTreeMap<(String, String), Placed>,
    /// The profiles on the hub, by namespace.
    profiles: BTreeMap<String, Mirror>,
    /// The slices on the hub, by namespace.
    pub(super) slices: BTreeMap<String, Mirror>,
    /// The profiles that were ever well.
    known: BTreeSet<ClusterProfileReference>,
    /// How many slices were changed.
    changes: usize,
}

/// A workload that needs clusters.
pub(super) struct Placed {
    pub(super) placement: Placement,
    /// The workload as the owner of its slices.
    owner: Value,
    /// True if the remote control placed it.
    pub(super) is_driven: bool,
    /// When it was placed.
    since: Instant,
    /// The clusters that it has; `None` after a restart.
    selected: Option<Vec<ClusterProfileReference>>,
    /// The slices last written, by name.
    written: BTreeMap<String, Value>,
}

impl Controller {
    pub(super) fn new(hub: Hub, clock: Clock, inventory: &'static str, misbehaviours: Misbehaviours) -> Self {
        Self {
            hub,
            clock,
            misbehaviours,
            inventory,
            born: Instant::now(),
            placed: BTreeMap::new(),
            profiles: BTreeMap::new(),
            slices: BTreeMap::new(),
            known: BTreeSet::new(),
            changes: 0,
        }
    }

    /// Plays the script, and follows the remote control. Never ends by itself.
    pub(super) async fn run(
        mut self,
        mut script: Vec<Step>,
        mut commands: Commands,
    ) -> Result<(), RequestError> {
        // A stable sort: steps at one time keep their order.
        script.sort_by_key(|step| step.at);
        let mut script = script.into_iter().peekable();
        let mut next = Instant::now();
        loop {
            let step_at = script.peek().map(|step| self.born + step.at);
            tokio::select! {
                Some((order, taken)) = commands.recv() => {
                    self.follow(order).await?;
                    // The caller waits no longer: the rest is for the round.
                    let _ = taken.send(());
                    next = Instant::now();
                }
                () = sleep_until(step_at.unwrap_or(next)), if step_at.is_some_and(|at| at <= next) => {
                    if let Some(step) = script.next() {
                        self.take(step.action).await?;
                    }
                }
                () = sleep_until(next) => {
                    self.round().await?;
                    next = Instant::now() + ROUND;
                }
            }
        }
    }

    /// Takes a workload, new or known. Its slices come with the next round.
    pub(super) async fn place(&mut self, placement: Placement) -> Result<(), RequestError> {
        let key = (placement.namespace.clone(), placement.name.clone());
        if let Some(placed) = self.placed.get_mut(&key) {
            placed.placement = placement;
            return Ok(());
        }
        let target = workload::target(&placement.namespace, &placement.name);
        let workload = match self.hub.find(&target).await? {
            Some(there) => there,
            None => {
                let object = workload::object(&placement);
                self.hub.create(&target, SCHEDULER, &object).await?
            }
        };
        let mut namespaces = BTreeSet::from([placement.inventory.to_owned()]);
        if let Clusters::These(list) = &placement.clusters {
            namespaces.extend(list.iter().map(|cluster| cluster.namespace.to_string()));
        }
        for namespace in namespaces {
            let mirror = Mirror::new(profile_resource(), &namespace);
            self.profiles.entry(namespace).or_insert(mirror);
        }
        let mirror = Mirror::new(slice_resource(), &placement.namespace);
        self.slices.entry(placement.namespace.clone()).or_insert(mirror);
        let placed = Placed {
            placement,
            owner: workload::owner(&workload),
            is_driven: false,
            since: Instant::now(),
            selected: None,
            written: BTreeMap::new(),
        };
        self.placed.insert(key, placed);
        Ok(())
    }

    /// Deletes the slices of a workload, then the workload.
    pub(super) async fn unplace(&mut self, namespace: &str, name: &str) -> Result<(), RequestError> {
        let key = (namespace.to_owned(), name.to_owned());
        if self.placed.remove(&key).is_none() || self.misbehaviours.has(Misbehaviour::KeepsDecisions) {
            return Ok(());
        }
        self.delete_slices(namespace, name, &[]).await?;
        self.hub.delete(&workload::target(namespace, name)).await
    }

    pub(super) async fn restart(&mut self) -> Result<(), RequestError> {
        sleep(RESTART).await;
        let keys: Vec<_> = self.placed.keys().cloned().collect();
        if self.misbehaviours.has(Misbehaviour::Recreates) {
            for (namespace, name) in &keys {
                self.delete_slices(namespace, name, &[]).await?;
            }
        }
        for placed in self.placed.values_mut() {
            placed.selected = None;
            placed.written.clear();
        }
        for (namespace, mirror) in &mut self.profiles {
            *mirror = Mirror::new(profile_resource(), namespace);
        }
        for (namespace, mirror) in &mut self.slices {
            *mirror = Mirror::new(slice_resource(), namespace);
        }
        Ok(())
    }

    /// Compares all decisions with what they should be.
    pub(super) async fn round(&mut self) -> Result<(), RequestError> {
        for mirror in self.profiles.values_mut().chain(self.slices.values_mut()) {
            mirror.refresh(&self.hub).await?;
        }
        self.meddle().await?;
        let keys: Vec<_> = self.placed.keys().cloned().collect();
        for key in keys {
            match self.reconcile(&key).await {
                // It was deleted in the meantime: the next round sees that.
                Err(error) if error.is_not_found() => {}
                done => done?,
            }
        }
        Ok(())
    }

    /// Corrects the slices of a workload.
    async fn reconcile(&mut self, key: &(String, String)) -> Result<(), RequestError> {
        let Some(wanted) = self.wanted(key) else {
            return Ok(());
        };
        let (namespace, name) = key;
        let mut order: Vec<&Slice> = wanted.iter().collect();
        if self.misbehaviours.has(Misbehaviour::LosesFirst) {
            order.reverse();
        }
        for slice in order {
            let is_written = self.write(key, slice).await?;
            if is_written && self.misbehaviours.has(Misbehaviour::LosesFirst) {
                sleep(CARELESS).await;
            }
        }
        let names: Vec<&str> = wanted.iter().map(|slice| slice.name.as_str()).collect();
        self.delete_slices(namespace, name, &names).await
    }

    /// The slices that a workload should have; none if it has to wait.
    fn wanted(&mut self, key: &(String, String)) -> Option<Vec<Slice>> {
        let has = self.has(key)?;
        let placed = self.placed.get(key)?;
        let (placement, owner) = (placed.placement.clone(), placed.owner.clone());
        let is_driven = placed.is_driven;
        if is_driven && self.misbehaviours.has(Misbehaviour::PlacesLate) && placed.since.elapsed() < LATE {
            return None;
        }
        let mut selected = select(&placement, &has, &self.available(&placement));
        if selected.is_empty() && self.misbehaviours.has(Misbehaviour::KeepsStale) {
            selected = has;
        }
        if is_driven && self.misbehaviours.has(Misbehaviour::StopsAtTheLimit) {
            selected.truncate(LARGEST_SLICE);
        }
        let mut wanted = slices(&placement, &owner, &selected);
        if is_driven && self.misbehaviours.has(Misbehaviour::KeepsNeedlessSlices) {
            let there = self.own_slices(&key.0, &key.1).len();
            for index in wanted.len()..there {
                wanted.push(slice_of(&placement, &owner, index, &[]));
            }
        }
        if is_driven && self.misbehaviours.has(Misbehaviour::SetsNoKey) {
            for slice in &mut wanted {
                slice.labels.remove(LABEL_DECISION_KEY);
                slice.labels.remove(LABEL_DECISION_INDEX);
            }
        }
        for edit in &placement.edits {
            edit(&mut wanted, self.born.elapsed());
        }
        self.placed.get_mut(key)?.selected = Some(selected);
        Some(wanted)
    }

    /// The clusters that a workload has: from memory or, after a restart, from its slices.
    fn has(&self, (namespace, name): &(String, String)) -> Option<Vec<ClusterProfileReference>> {
        let placed = self.placed.get(&(namespace.clone(), name.clone()))?;
        if let Some(selected) = &placed.selected {
            return Some(selected.clone());
        }
        let mirror = self.slices.get(namespace)?;
        let mut own = self.own_slices(namespace, name);
        // `x-10` comes after `x-9`.
        own.sort_by_key(|name| (name.len(), name.clone()));
        let slices = own.iter().filter_map(|name| mirror.get(name));
        Some(slices.flat_map(clusters_of).collect())
    }

    /// The clusters that a workload may get, in order.
    fn available(&mut self, placement: &Placement) -> Vec<ClusterProfileReference> {
        let ignores_health = self.misbehaviours.has(Misbehaviour::IgnoresHealth);
        let mut namespaces = BTreeSet::from([placement.inventory]);
        if let Clusters::These(list) = &placement.clusters {
            namespaces.extend(list.iter().map(|cluster| &*cluster.namespace));
        }
        let mut available = BTreeSet::new();
        for namespace in namespaces {
            let profiles = self.profiles.get(namespace).into_iter().flat_map(Mirror::all);
            let well = profiles.filter(|profile| ignores_health || is_well(profile));
            let names = well.filter_map(|profile| profile.metadata.name.as_deref());
            available.extend(names.map(|name| reference(namespace, name)));
            if self.misbehaviours.has(Misbehaviour::KeepsDeleted) {
                let gone = |one: &&ClusterProfileReference| {
                    *one.namespace == *namespace
                        && self
                            .profiles
                            .get(namespace)
                            .is_some_and(|mirror| mirror.get(&one.name).is_none())
                };
                available.extend(self.known.iter().filter(gone).cloned());
            }
        }
        self.known.extend(available.iter().cloned());
        available.into_iter().collect()
    }

    /// The names of the workload's slices on the hub.
    fn own_slices(&self, namespace: &str, name: &str) -> Vec<String> {
        let slices = self.slices.get(namespace).into_iter().flat_map(Mirror::all);
        slices
            .filter(|slice| workload_of(slice) == Some(name))
            .filter_map(|slice| slice.metadata.name.clone())
            .collect()
    }

    /// Creates or corrects a slice. Returns true if it wrote. Leaves alone what another scheduler put there.
    async fn write(&mut self, key: &(String, String), slice: &Slice) -> Result<bool, RequestError> {
        let (Some(placed), Some(mirror)) = (self.placed.get_mut(key), self.slices.get_mut(&slice.namespace))
        else {
            return Ok(false);
        };
        let object = slice.to_json();
        if self.misbehaviours.has(Misbehaviour::TrustsItsMemory)
            && placed.written.get(&slice.name) == Some(&object)
        {
            return Ok(false);
        }
        let written = match mirror.get(&slice.name) {
            Some(there) if workload_of(there).is_none() => None,
            Some(there) => match slice.difference(there) {
                None => None,
                Some(patch) => {
                    self.changes += 1;
                    let is_odd = self.changes % 2 == 1;
                    let (hub, field_manager) = if is_odd && self.misbehaviours.has(Misbehaviour::SecondWriter)
                    {
                        (self.hub.acting_as(SECOND_WRITER), SECOND_WRITER)
                    } else {
                        (self.hub.clone(), SCHEDULER)
                    };
                    Some(
                        hub.patch(&slice.target(), field_manager, Via::Object, &patch)
                            .await?,
                    )
                }
            },
            None => {
                let creator = placed.placement.creator;
                let hub = creator.map_or_else(|| self.hub.clone(), |user| self.hub.acting_as(user));
                let field_manager = creator.unwrap_or(SCHEDULER);
                Some(hub.create(&slice.target(), field_manager, &object).await?)
            }
        };
        placed.written.insert(slice.name.clone(), object);
        let is_written = written.is_some();
        if let Some(written) = written {
            mirror.put(written);
        }
        Ok(is_written)
    }

    /// Deletes the workload's slices, except those.
    async fn delete_slices(
        &mut self,
        namespace: &str,
        name: &str,
        except: &[&str],
    ) -> Result<(), RequestError> {
        for slice in self.own_slices(namespace, name) {
            if except.contains(&slice.as_str()) {
                continue;
            }
            self.hub.delete(&slice::target(namespace, &slice)).await?;
            if let Some(mirror) = self.slices.get_mut(namespace) {
                mirror.remove(&slice);
            }
        }
        Ok(())
    }
}
