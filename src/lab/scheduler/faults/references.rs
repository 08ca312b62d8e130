//! Faults of the suite `placement-references`.

use evidence::api::Edition;
use serde_json::{Map, json};

use super::fault::FaultInfo;
use crate::scheduler::{
    inventory::{EDGE, MEMBERS},
    misbehaviours::Misbehaviour,
    placement::Clusters,
    script::{Action, Step, minutes},
    selection::reference,
    slice::Decision,
    world::{FEW, FEW_FROM, LARGE, World},
};

pub(super) const FAULTS: &[FaultInfo] = &[
    FaultInfo::new(
        "placement-references/resolve",
        "selects a cluster that has no profile",
        |world| also_selects(world, "member-999"),
    ),
    FaultInfo::new(
        "placement-references/resolve-across-time",
        "keeps a cluster whose profile was deleted",
        |world| {
            // Of a workload whose decision is not written again.
            world
                .script
                .retain(|step| !matches!(step.action, Action::Delete { .. }));
            let action = Action::Delete { member: FEW_FROM };
            world.script.push(Step {
                at: minutes(6),
                action,
            });
            world.misbehave(Misbehaviour::KeepsDeleted);
        },
    ),
    FaultInfo::new(
        "placement-references/name-valid",
        "refers to a cluster by a name that no profile can have",
        |world| also_selects(world, "Amsterdam"),
    ),
    FaultInfo::new(
        "placement-references/namespace-readable",
        "selects clusters whose profiles the consumer may not read",
        |world| world.misbehave(Misbehaviour::ClosedInventory),
    ),
    FaultInfo::new(
        "placement-references/of-one-inventory",
        "selects clusters of two inventories for one workload",
        |world| {
            let placement = world.placement(FEW);
            placement.inventories = vec![MEMBERS, EDGE];
            placement.clusters = Clusters::Count(4);
            placement.skips = 0;
        },
    )
    .since(Edition::Placement2026M09),
    FaultInfo::new(
        "placement-references/selected-is-alive",
        "selects clusters without looking at their conditions",
        |world| world.misbehave(Misbehaviour::IgnoresHealth),
    ),
    FaultInfo::new(
        "placement-references/no-legacy-keys",
        "sends references with the keys of an object reference",
        |world| {
            // The log tells of patches what was sent, and of creations what was left of it.
            world.edit(LARGE, |slices| {
                let keys = json!({"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile"});
                let keys: Map<_, _> = keys.as_object().cloned().unwrap_or_default();
                for decision in slices
                    .iter_mut()
                    .filter_map(|slice| slice.decisions.as_mut())
                    .flatten()
                {
                    decision.pruned = keys.clone();
                }
            });
        },
    )
    .in_audit_log_only(),
];

/// Adds a cluster to a decision.
fn also_selects(world: &mut World, name: &'static str) {
    world.edit(FEW, move |slices| {
        let decision = Decision::of(reference(MEMBERS, name));
        slices[0].decisions.get_or_insert_default().push(decision);
    });
}
