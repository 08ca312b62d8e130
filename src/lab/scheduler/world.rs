//! What the scheduler will do: its workloads, the script of events, and how its faults change them.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use evidence::api::names::{LABEL_DECISION_INDEX, LABEL_DECISION_KEY, LARGEST_SLICE};
use jiff::Timestamp;
use judge::rules::example::Violation;
use serde_json::Value;

use super::{
    PLACEMENTS, SCHEDULER,
    inventory::{EDGE, MEMBERS},
    slices::decision,
};
use crate::{
    client::minutes,
    fault::{Fault, Faults},
    manager::Manager,
};

/// A workload of a few clusters. Nothing happens to them: for faults.
pub(super) const FEW: &str = "few";
/// A workload that grows past the limit of a slice, and shrinks again.
const GROWING: &str = "growing";
/// Comes and goes.
const PASSING: &str = "passing";
/// Less than the time between two rounds.
const MOMENT: Duration = Duration::from_secs(2);
/// The number of the cluster that is deleted. `large` has it, and `growing`.
const DELETED: usize = 5;
/// The number of the cluster that fails and recovers. `large` has it, and `growing`.
const OUTAGE: usize = 60;
/// The first clusters of `full` and of [`FEW`]: they lose none, and share none.
pub(super) const FULL_FROM: usize = 65;
const FEW_FROM: usize = 170;
/// Another scheduler, for a fault.
const OTHER: &str = "other-scheduler";

/// The scheduler's world: the workloads at first, and its script.
pub(super) struct SchedulerWorld {
    /// The namespace of the clusters for workloads of the remote control.
    pub inventory: &'static str,
    pub placements: Vec<Placement>,
    /// The names of further profiles, next to the workloads.
    pub profiles: BTreeSet<String>,
    pub script: Vec<SchedulerStep>,
    pub faults: Faults,
}

/// A workload that needs clusters.
#[derive(Clone)]
pub(super) struct Placement {
    /// The workload's name, and the decision's key.
    pub name: String,
    /// How many clusters it needs.
    pub clusters: usize,
    /// The namespace of the profiles to select from.
    pub inventory: &'static str,
    /// How many clusters of the inventory are left to other workloads.
    pub skips: usize,
    /// True if the order of the clusters matters: slices then have an index.
    pub is_ordered: bool,
    /// True if a run placed it.
    pub is_driven: bool,
    /// The numbers and merge patches of the slices to publish instead of the selected clusters, for an example.
    pub examples: Vec<(usize, Value)>,
}

/// A step of the script, at a time after the scheduler's start.
pub(super) struct SchedulerStep {
    pub at: Duration,
    pub action: SchedulerAction,
}

/// An event of the world, or a request that a fault adds.
pub(super) enum SchedulerAction {
    /// A workload is created, or needs another number of clusters.
    Place(Placement),
    /// The workload of that name is deleted.
    Unplace(&'static str),
    /// The profile of that number is deleted.
    Delete(usize),
    /// The profile of that number reports its cluster as healthy, or as down.
    Report(usize, bool),
    /// This merge patch is sent for the first slice of the workload of that name.
    Request(&'static str, Value),
}

impl Placement {
    pub(super) fn new(name: &str, clusters: usize, inventory: &'static str) -> Self {
        Self {
            name: name.to_owned(),
            clusters,
            inventory,
            skips: 0,
            is_ordered: true,
            is_driven: false,
            examples: Vec::new(),
        }
    }

    /// Selects later clusters of the inventory first.
    pub(super) fn skipping(self, skips: usize) -> Self {
        Self { skips, ..self }
    }
}

impl SchedulerWorld {
    /// The world that breaks no rule but those of the faults.
    pub(super) fn conforming(faults: Vec<Fault>, now: Timestamp) -> Self {
        let of_members = |name, count| Placement::new(name, count, MEMBERS);
        let unordered = Placement {
            is_ordered: false,
            ..of_members("unordered", 8)
        };
        let mut world = Self {
            inventory: MEMBERS,
            placements: vec![
                of_members("none", 0),
                of_members(FEW, 5).skipping(FEW_FROM),
                of_members("full", LARGEST_SLICE).skipping(FULL_FROM),
                of_members("large", 110),
                of_members(GROWING, 99),
                unordered,
                Placement::new("at-the-edge", 3, EDGE),
            ],
            ..Self::of_fleet(faults.clone())
        };
        for (at, action) in [
            (minutes(3), SchedulerAction::Place(of_members(PASSING, 7))),
            (minutes(5), SchedulerAction::Place(of_members(GROWING, 101))),
            // Between two rounds, so that the decisions name it briefly.
            (minutes(6) + MOMENT, SchedulerAction::Delete(DELETED)),
            (minutes(8) + MOMENT, SchedulerAction::Report(OUTAGE, false)),
            (minutes(10), SchedulerAction::Place(of_members(GROWING, 100))),
            (minutes(12), SchedulerAction::Report(OUTAGE, true)),
            (minutes(14), SchedulerAction::Unplace(PASSING)),
        ] {
            world.script.push(SchedulerStep { at, action });
        }
        for fault in faults {
            world.apply(&fault, now);
        }
        world
    }

    /// A world without workloads, in which nothing happens. The clusters are those of the reference manager.
    pub(super) fn of_fleet(faults: Vec<Fault>) -> Self {
        Self {
            inventory: Manager::NAMESPACE,
            placements: Vec::new(),
            profiles: BTreeSet::new(),
            script: Vec::new(),
            faults: Faults::new(faults),
        }
    }

    /// Changes the script as a fault needs it, or adds what an example publishes.
    fn apply(&mut self, fault: &Fault, now: Timestamp) {
        if fault.info().id == "placement-references/resolve-across-time" {
            // Of a workload whose decision is not written again.
            self.script
                .retain(|step| !matches!(step.action, SchedulerAction::Delete(_)));
            let (at, action) = (minutes(6), SchedulerAction::Delete(FEW_FROM));
            self.script.push(SchedulerStep { at, action });
        }
        for request in &fault.info().requests {
            let steps = request.sent().map(|(at, patch)| SchedulerStep {
                at,
                action: SchedulerAction::Request(request.of, patch),
            });
            self.script.extend(steps);
        }
        if let Some(example) = fault.example(now) {
            self.publish_example(&example);
        }
    }

    /// Publishes the slices of an example as decisions for further workloads, and the profiles that they refer to.
    fn publish_example(&mut self, example: &Violation) {
        let profiles = example.profiles.iter();
        self.profiles.extend(profiles.map(|profile| profile.name.clone()));
        let turn = self.placements.len();
        let mut placements = BTreeMap::new();
        for slice in &example.slices {
            let (workload, index) = slice.name.rsplit_once('-').unwrap_or((&slice.name, "0"));
            let mut patch = slice.patch.clone();
            let decisions = patch.get_mut("decisions").and_then(Value::as_array_mut);
            for decision in decisions.into_iter().flatten() {
                decision["clusterProfileRef"]["namespace"] = PLACEMENTS.into();
            }
            let placement = || Placement::new(&format!("{workload}-{turn}"), 0, MEMBERS);
            let placement = placements.entry(workload).or_insert_with(placement);
            placement
                .examples
                .push((index.parse().unwrap_or_default(), patch));
        }
        self.placements.extend(placements.into_values());
    }
}

/// Changes the slices of a workload as faults do. `elapsed` is the time since the scheduler's start.
pub(super) fn misedit(slices: &mut [Value], placement: &Placement, faults: &Faults, elapsed: Duration) {
    if placement.is_driven && faults.has("placement-slices/key-shared") {
        for slice in &mut *slices {
            if let Some(labels) = slice["metadata"]["labels"].as_object_mut() {
                labels.retain(|key, _| key != LABEL_DECISION_KEY && key != LABEL_DECISION_INDEX);
            }
        }
    }
    if placement.name != FEW || placement.is_driven {
        return;
    }
    if faults.has("placement-references/resolve")
        && let Some(decisions) = slices[0]["decisions"].as_array_mut()
    {
        decisions.push(decision(MEMBERS, "member-999"));
    }
    if faults.has("placement-labels/scheduler-stable") && elapsed >= minutes(4) {
        slices[0]["schedulerName"] = "reference-scheduler-v2".into();
    }
    if faults.has("placement-ownership/one-writer") && elapsed < minutes(4) {
        slices[0]["schedulerName"] = OTHER.into();
    }
}

/// The user and field manager that creates the slices of a workload.
pub(super) fn creator(placement: &Placement, faults: &Faults) -> &'static str {
    if placement.name == FEW && faults.has("placement-ownership/one-writer") {
        OTHER
    } else {
        SCHEDULER
    }
}
