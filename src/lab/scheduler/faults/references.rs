//! Faults of the suite `placement-references`.

use super::fault::FaultInfo;
use crate::scheduler::{
    inventory::MEMBERS,
    misbehaviours::Misbehaviour,
    script::{Action, Step, minutes},
    selection::reference,
    world::{FEW, FEW_FROM, World},
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
        "placement-references/selected-is-alive",
        "selects clusters without looking at their conditions",
        |world| world.misbehave(Misbehaviour::IgnoresHealth),
    ),
];

/// Adds a cluster to a decision.
fn also_selects(world: &mut World, name: &'static str) {
    world.edit(FEW, move |slices| {
        slices[0].decisions.push(reference(MEMBERS, name));
    });
}
