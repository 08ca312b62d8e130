//! Reconciles in rounds: selects clusters, compares slices, and corrects what differs.
//!
//! No write is needed after a restart, a deleted slice is restored, and edits of other clients are corrected.
//!
//! A reschedule never leaves a cluster in no slice. Clusters only ever move to an earlier slice, as what is new comes
//! last, and slices are written from the first to the last: the one that gains a cluster before the one that loses it.
//! Slices that became needless are deleted after that.

use std::{collections::BTreeMap, time::Duration};

use collect::clock::Clock;
use evidence::{DriverAction, api::names::LARGEST_SLICE};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until};

use super::{
    PLACEMENTS, SCHEDULER,
    inventory::{self, MEMBERS, is_available, member},
    slices::{
        clusters_of, difference, name_of, owner, select, slice, slices, target, workload, workload_object,
        workload_of,
    },
    world::{FULL_FROM, Placement, SchedulerAction, SchedulerStep, SchedulerWorld, creator, misedit},
};
use crate::{
    client::{HubClient, ObjectTarget, RequestError, Via, profile_resource, slice_resource},
    driver::{Order, Orders},
    fault::Faults,
    mirror::Mirror,
};

/// How often the scheduler compares decisions.
const ROUND: Duration = Duration::from_secs(5);
/// How long a restart takes.
const RESTART: Duration = Duration::from_secs(5);
/// The time between two writes of a scheduler that does not care.
const CARELESS: Duration = Duration::from_secs(2);
/// The delay of what is too late: beyond every timeout of the suite.
const LATE: Duration = Duration::from_secs(240);
/// The second user of a fault.
const SECOND_WRITER: &str = "reference-scheduler-2";

/// Publishes decisions for the workloads that the script and the remote control name.
pub(super) struct SchedulerController {
    hub: HubClient,
    clock: Clock,
    faults: Faults,
    /// The namespace of the clusters for workloads of the remote control.
    inventory: &'static str,
    started: Instant,
    /// The workloads, by name. A real scheduler reads them from the hub: they survive a restart.
    placed: BTreeMap<String, Placed>,
    /// The profiles on the hub, by namespace.
    profiles: BTreeMap<&'static str, Mirror>,
    /// The slices on the hub.
    slices: Mirror,
    /// How many slices were changed.
    changes: usize,
}

/// A workload that needs clusters.
struct Placed {
    placement: Placement,
    /// The workload as the owner of its slices.
    owner: Value,
    /// When it was placed.
    since: Instant,
    /// The clusters that it has; `None` after a restart.
    selected: Option<Vec<String>>,
    /// The slices last written, by name.
    slices: BTreeMap<String, Value>,
}

impl SchedulerController {
    /// A controller that knows no workload yet.
    pub(super) fn new(hub: HubClient, clock: Clock, world: &SchedulerWorld) -> Self {
        Self {
            hub,
            clock,
            faults: world.faults.clone(),
            inventory: world.inventory,
            started: Instant::now(),
            placed: BTreeMap::new(),
            profiles: BTreeMap::new(),
            slices: Mirror::new(slice_resource(), PLACEMENTS),
            changes: 0,
        }
    }

    /// Plays the script, and follows the remote control. Never ends by itself.
    pub(super) async fn run(
        mut self,
        mut script: Vec<SchedulerStep>,
        mut orders: Orders,
    ) -> Result<(), RequestError> {
        // A stable sort: steps at one time keep their order.
        script.sort_by_key(|step| step.at);
        let mut script = script.into_iter().peekable();
        let mut next = Instant::now();
        loop {
            let step_at = script.peek().map(|step| self.started + step.at);
            tokio::select! {
                Some((order, confirm)) = orders.recv() => {
                    self.follow(order).await?;
                    // The caller waits no longer: the rest is for the round.
                    let _ = confirm.send(());
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

    async fn follow(&mut self, order: Order) -> Result<(), RequestError> {
        match order.action {
            DriverAction::Place | DriverAction::Reschedule => {
                // Of clusters to which the script does nothing.
                let placement =
                    Placement::new(&order.name, order.clusters, self.inventory).skipping(FULL_FROM);
                self.place(Placement {
                    is_driven: true,
                    ..placement
                })
                .await
            }
            DriverAction::Unplace => self.unplace(&order.name).await,
            DriverAction::Restart => self.restart().await,
            _ => Ok(()),
        }
    }

    async fn take(&mut self, action: SchedulerAction) -> Result<(), RequestError> {
        match action {
            SchedulerAction::Place(placement) => self.place(placement).await,
            SchedulerAction::Unplace(name) => self.unplace(name).await,
            SchedulerAction::Delete(number) => {
                self.hub
                    .delete(&ObjectTarget::profile(MEMBERS, &member(number)))
                    .await
            }
            SchedulerAction::Report(number, is_healthy) => {
                inventory::report(&self.hub, &self.clock, number, is_healthy).await
            }
            SchedulerAction::Request(workload, patch) => {
                let target = target(&format!("{SCHEDULER}-{workload}-0"));
                match self.hub.patch(&target, SCHEDULER, Via::Object, &patch).await {
                    // Another fault has given the slice another name.
                    Err(error) if error.is_not_found() => Ok(()),
                    done => done.map(drop),
                }
            }
        }
    }

    /// Takes a workload, new or known. Its slices come with the next round.
    pub(super) async fn place(&mut self, placement: Placement) -> Result<(), RequestError> {
        if let Some(placed) = self.placed.get_mut(&placement.name) {
            placed.placement = placement;
            return Ok(());
        }
        let name = placement.name.clone();
        let workload = match self.hub.find(&workload(&name)).await? {
            Some(workload) => workload,
            None => {
                self.hub
                    .create(&workload(&name), SCHEDULER, &workload_object(&name))
                    .await?
            }
        };
        let mirror = Mirror::new(profile_resource(), placement.inventory);
        self.profiles.entry(placement.inventory).or_insert(mirror);
        let placed = Placed {
            placement,
            owner: owner(&workload),
            since: Instant::now(),
            selected: None,
            slices: BTreeMap::new(),
        };
        self.placed.insert(name, placed);
        Ok(())
    }

    /// Deletes the slices of a workload, then the workload.
    async fn unplace(&mut self, name: &str) -> Result<(), RequestError> {
        if self.placed.remove(name).is_none() || self.faults.has("placement-lifecycle/unplaced") {
            return Ok(());
        }
        self.delete_slices(name, &[]).await?;
        self.hub.delete(&workload(name)).await
    }

    async fn restart(&mut self) -> Result<(), RequestError> {
        sleep(RESTART).await;
        if self.faults.has("placement-lifecycle/restart-keeps") {
            for name in self.names() {
                self.delete_slices(&name, &[]).await?;
            }
        }
        for placed in self.placed.values_mut() {
            placed.selected = None;
            placed.slices.clear();
        }
        for (namespace, mirror) in &mut self.profiles {
            *mirror = Mirror::new(profile_resource(), namespace);
        }
        self.slices = Mirror::new(slice_resource(), PLACEMENTS);
        Ok(())
    }

    fn names(&self) -> Vec<String> {
        self.placed.keys().cloned().collect()
    }

    /// Compares all decisions with what they should be.
    pub(super) async fn round(&mut self) -> Result<(), RequestError> {
        for mirror in self.profiles.values_mut().chain([&mut self.slices]) {
            mirror.refresh(&self.hub).await?;
        }
        self.meddle().await?;
        for name in self.names() {
            match self.reconcile(&name).await {
                // It was deleted in the meantime: the next round sees that.
                Err(error) if error.is_not_found() => {}
                done => done?,
            }
        }
        Ok(())
    }

    /// Writes to the slices of other schedulers, for faults.
    async fn meddle(&mut self) -> Result<(), RequestError> {
        let claims = self.faults.has("placement-ownership/foreign-decisions-untouched");
        let deletes = self
            .faults
            .has("placement-ownership/foreign-decisions-untouched:deleted");
        for slice in self.slices.all().filter(|slice| workload_of(slice).is_none()) {
            let target = target(slice.metadata.name.as_deref().unwrap_or_default());
            if deletes {
                self.hub.delete(&target).await?;
            } else if claims && slice.data["schedulerName"] != SCHEDULER {
                let patch = json!({"schedulerName": SCHEDULER});
                self.hub.patch(&target, SCHEDULER, Via::Object, &patch).await?;
            }
        }
        Ok(())
    }

    /// Corrects the slices of a workload.
    async fn reconcile(&mut self, name: &str) -> Result<(), RequestError> {
        let Some(slices) = self.slices_for(name) else {
            return Ok(());
        };
        let loses_first = self.faults.has("placement-updates/no-torn-reschedule");
        let mut order: Vec<&Value> = slices.iter().collect();
        if loses_first {
            order.reverse();
        }
        for slice in order {
            if self.write(name, slice).await? && loses_first {
                sleep(CARELESS).await;
            }
        }
        let names: Vec<&str> = slices.iter().map(name_of).collect();
        self.delete_slices(name, &names).await
    }

    /// The slices that a workload should have; none if it has to wait.
    fn slices_for(&mut self, name: &str) -> Option<Vec<Value>> {
        let current = self.current(name)?;
        let own_slices = self.own_slices(name).len();
        let faults = &self.faults;
        let placed = self.placed.get_mut(name)?;
        let (placement, owner) = (&placed.placement, &placed.owner);
        let is_late = placement.is_driven && faults.has("placement-lifecycle/placed");
        if is_late && placed.since.elapsed() < LATE {
            return None;
        }
        let profiles = self.profiles.get(placement.inventory)?;
        let ignores_health = faults.has("placement-references/selected-is-alive");
        let mut available: Vec<String> = profiles
            .all()
            .filter(|profile| ignores_health || is_available(profile))
            .filter_map(|profile| profile.metadata.name.clone())
            .collect();
        if faults.has("placement-references/resolve-across-time") {
            let deleted = current.iter().filter(|cluster| profiles.get(cluster).is_none());
            available.extend(deleted.cloned());
        }
        let mut selected = select(placement, &current, &available);
        if selected.is_empty() && faults.has("placement-lifecycle/none-selected") {
            selected = current;
        }
        if placement.is_driven && faults.has("placement-lifecycle/crosses-the-limit") {
            selected.truncate(LARGEST_SLICE);
        }
        let mut result = slices(placement, owner, &selected);
        if placement.is_driven && faults.has("placement-lifecycle/crosses-the-limit:back") {
            let needless = result.len()..own_slices;
            result.extend(needless.map(|index| slice(placement, owner, index, &[])));
        }
        if !placement.examples.is_empty() {
            let examples = placement.examples.iter().map(|(index, patch)| {
                let mut slice = slice(placement, owner, *index, &[]);
                json_patch::merge(&mut slice, patch);
                slice
            });
            result = examples.collect();
        }
        misedit(&mut result, placement, faults, self.started.elapsed());
        placed.selected = Some(selected);
        Some(result)
    }

    /// The clusters that a workload has: from memory or, after a restart, from its slices.
    fn current(&self, name: &str) -> Option<Vec<String>> {
        if let Some(selected) = &self.placed.get(name)?.selected {
            return Some(selected.clone());
        }
        let mut names = self.own_slices(name);
        // `x-10` comes after `x-9`.
        names.sort_by_key(|name| (name.len(), name.clone()));
        let slices = names.iter().filter_map(|name| self.slices.get(name));
        Some(slices.flat_map(clusters_of).collect())
    }

    /// The names of the workload's slices on the hub.
    fn own_slices(&self, name: &str) -> Vec<String> {
        let slices = self.slices.all().filter(|slice| workload_of(slice) == Some(name));
        slices.filter_map(|slice| slice.metadata.name.clone()).collect()
    }

    /// Creates or corrects a slice. Returns true if it wrote. Does not touch the slice of another scheduler.
    async fn write(&mut self, name: &str, slice: &Value) -> Result<bool, RequestError> {
        let Some(placed) = self.placed.get_mut(name) else {
            return Ok(false);
        };
        let slice_name = name_of(slice);
        if self.faults.has("placement-lifecycle/restored") && placed.slices.get(slice_name) == Some(slice) {
            return Ok(false);
        }
        let as_user = |user: &str| {
            if user == SCHEDULER {
                self.hub.clone()
            } else {
                self.hub.acting_as(user)
            }
        };
        let result = match self.slices.get(slice_name) {
            Some(there) if workload_of(there).is_none() => None,
            Some(there) => match difference(slice, there) {
                None => None,
                Some(patch) => {
                    self.changes += 1;
                    let is_second = self.changes % 2 == 1
                        && self
                            .faults
                            .has("placement-ownership/one-writer:second-controller");
                    let writer = if is_second { SECOND_WRITER } else { SCHEDULER };
                    let (hub, target) = (as_user(writer), target(slice_name));
                    Some(hub.patch(&target, writer, Via::Object, &patch).await?)
                }
            },
            None => {
                let creator = creator(&placed.placement, &self.faults);
                Some(
                    as_user(creator)
                        .create(&target(slice_name), creator, slice)
                        .await?,
                )
            }
        };
        placed.slices.insert(slice_name.to_owned(), slice.clone());
        let is_written = result.is_some();
        if let Some(object) = result {
            self.slices.put(object);
        }
        Ok(is_written)
    }

    /// Deletes the workload's slices, except those of these names.
    async fn delete_slices(&mut self, name: &str, except: &[&str]) -> Result<(), RequestError> {
        for slice in self.own_slices(name) {
            if !except.contains(&slice.as_str()) {
                self.hub.delete(&target(&slice)).await?;
                self.slices.remove(&slice);
            }
        }
        Ok(())
    }
}
