//! The world: all that the scheduler will do, before it does any of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use collect::clock::Clock;
use evidence::api::names::LARGEST_SLICE;
use judge::rules::example::Violation;
use serde_json::Value;

use super::{
    controller::Controller,
    inventory::{EDGE, Health, MEMBERS},
    misbehaviours::{Misbehaviour, Misbehaviours},
    names::PLACEMENTS,
    placement::{Clusters, Placement},
    script::{Action, Step, minutes},
    slice::Slice,
};
use crate::{client::Hub, manager::Manager};

/// A workload that no cluster satisfies.
pub(super) const NONE: &str = "none";
/// A workload of a few clusters. Nothing happens to them: for faults.
pub(super) const FEW: &str = "few";
/// A workload that fills a slice. Nothing happens to it, either.
pub(super) const FULL: &str = "full";
/// A workload of two slices. One of its clusters is deleted, another fails.
pub(super) const LARGE: &str = "large";
/// A workload that grows past the limit of a slice, and shrinks again.
const GROWING: &str = "growing";
/// A workload that does not mind the order of its clusters. One of them is deleted.
const UNORDERED: &str = "unordered";
/// A workload in the second inventory.
const AT_THE_EDGE: &str = "at-the-edge";
/// Comes and goes.
const PASSING: &str = "passing";

/// Less than the time between two rounds.
const MOMENT: Duration = Duration::from_secs(2);
/// How many clusters [`LARGE`] has.
const LARGE_COUNT: usize = 110;
/// The number of the cluster that is deleted. `LARGE` has it, and `GROWING`.
const DELETED: usize = 5;
/// The number of the cluster that fails and recovers. The same have it.
const OUTAGE: usize = 60;
/// The first clusters of [`FULL`] and of [`FEW`]: they lose none, and share none.
pub(super) const FULL_FROM: usize = 65;
pub(super) const FEW_FROM: usize = 170;
/// How many clusters [`FEW`] has.
pub(super) const FEW_COUNT: usize = 5;

/// The scheduler's world: the workloads at first, and its script.
pub struct World {
    /// The namespace of the clusters for workloads of the remote control.
    pub(super) inventory: &'static str,
    pub(super) placements: Vec<Placement>,
    /// The names of further profiles, next to the workloads.
    pub(super) profiles: BTreeSet<String>,
    pub(super) script: Vec<Step>,
    pub(super) misbehaviours: Misbehaviours,
}

impl World {
    /// The world that breaks no rule.
    pub(super) fn conforming() -> Self {
        let of_members =
            |name: &str, count| Placement::new(PLACEMENTS, name, Clusters::Count(count), MEMBERS);
        let step = |at, action| Step { at, action };
        let resize = |count| Action::Resize {
            workload: GROWING,
            clusters: Clusters::Count(count),
        };
        let outage = |health| Action::Report {
            member: OUTAGE,
            health,
        };
        Self {
            inventory: MEMBERS,
            placements: vec![
                of_members(NONE, 0),
                of_members(FEW, FEW_COUNT).skipping(FEW_FROM),
                of_members(FULL, LARGEST_SLICE).skipping(FULL_FROM),
                of_members(LARGE, LARGE_COUNT),
                of_members(GROWING, 99),
                of_members(UNORDERED, 8).without_order(),
                Placement::new(PLACEMENTS, AT_THE_EDGE, Clusters::Count(3), EDGE),
            ],
            profiles: BTreeSet::new(),
            script: vec![
                step(minutes(3), Action::Place(of_members(PASSING, 7))),
                step(minutes(5), resize(101)),
                // Between two rounds, so that the decisions name it for a moment.
                step(minutes(6) + MOMENT, Action::Delete { member: DELETED }),
                step(minutes(8) + MOMENT, outage(Health::Down)),
                step(minutes(10), resize(100)),
                step(minutes(12), outage(Health::Well)),
                step(minutes(14), Action::Unplace { workload: PASSING }),
            ],
            misbehaviours: Misbehaviours::default(),
        }
    }

    /// A world without workloads, in which nothing happens. The clusters are those of the reference manager.
    pub(super) fn of_fleet() -> Self {
        Self {
            inventory: Manager::NAMESPACE,
            placements: Vec::new(),
            profiles: BTreeSet::new(),
            script: Vec::new(),
            misbehaviours: Misbehaviours::default(),
        }
    }

    /// What publishes the decisions on a hub. It knows no workload yet.
    pub(super) fn controller(&self, hub: Hub, clock: Clock) -> Controller {
        Controller::new(hub, clock, self.inventory, self.misbehaviours.clone())
    }

    /// The placement of that name.
    pub(super) fn placement(&mut self, workload: &str) -> &mut Placement {
        let mut placements = self.placements.iter_mut();
        placements
            .find(|placement| placement.name == workload)
            .expect("faults name workloads of the world")
    }

    /// Changes the slices of a workload whenever they are published.
    pub(super) fn edit(&mut self, workload: &str, edit: impl Fn(&mut Vec<Slice>) + Send + Sync + 'static) {
        self.edit_over_time(workload, move |slices, _| edit(slices));
    }

    /// The same, by the time since the scheduler's start.
    pub(super) fn edit_over_time(
        &mut self,
        workload: &str,
        edit: impl Fn(&mut Vec<Slice>, Duration) + Send + Sync + 'static,
    ) {
        self.placement(workload).edits.push(Arc::new(edit));
    }

    /// Publishes the slices of an example as decisions for further workloads, and the profiles that they refer to.
    pub(super) fn publish_example(&mut self, example: &Violation) {
        let profiles = example.profiles.iter();
        self.profiles.extend(profiles.map(|profile| profile.name.clone()));
        let turn = self.placements.len();
        let mut slices_of: BTreeMap<&str, Vec<(usize, Value)>> = BTreeMap::new();
        for slice in &example.slices {
            let (workload, index) = slice.name.rsplit_once('-').unwrap_or((&slice.name, "0"));
            let slice = (index.parse().unwrap_or_default(), with_namespaces(&slice.patch));
            slices_of.entry(workload).or_default().push(slice);
        }
        for (workload, slices) in slices_of {
            let name = format!("{workload}-{turn}");
            self.placements
                .push(Placement::new(PLACEMENTS, &name, Clusters::Count(0), MEMBERS));
            self.edit(&name, move |published| replace(published, &slices));
        }
    }

    /// Adds a step that sends a merge patch for the first slice of the workload.
    pub(super) fn request(
        &mut self,
        at: Duration,
        workload: &'static str,
        user: Option<&'static str>,
        field_manager: &'static str,
        patch: Value,
    ) {
        let action = Action::Request {
            workload,
            user,
            field_manager,
            patch,
        };
        self.script.push(Step { at, action });
    }

    pub(super) fn misbehave(&mut self, misbehaviour: Misbehaviour) {
        self.misbehaviours.add(misbehaviour);
    }
}

/// Replaces the only slice of a decision by these numbers and merge patches.
fn replace(published: &mut Vec<Slice>, slices: &[(usize, Value)]) {
    let empty = published.remove(0);
    published.extend(slices.iter().map(|(index, patch)| {
        let mut slice = empty.clone();
        slice.number(*index);
        slice.patch = patch.clone();
        slice
    }));
}

/// A slice of an example whose references name the namespace of the workloads.
fn with_namespaces(slice: &Value) -> Value {
    let mut slice = slice.clone();
    let decisions = slice.get_mut("decisions").and_then(Value::as_array_mut);
    for decision in decisions.into_iter().flatten() {
        decision["clusterProfileRef"]["namespace"] = PLACEMENTS.into();
    }
    slice
}
