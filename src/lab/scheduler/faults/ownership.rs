//! Faults of the suite `placement-ownership`.

use super::fault::FaultInfo;
use crate::scheduler::misbehaviours::Misbehaviour;

pub(super) const FAULTS: &[FaultInfo] = &[
    FaultInfo::new(
        "placement-ownership/one-writer",
        "has a second controller write every other change",
        |world| world.misbehave(Misbehaviour::SecondWriter),
    ),
    FaultInfo::new(
        "placement-ownership/foreign-decisions-untouched",
        "puts its name on every slice that it finds beside its own",
        |world| world.misbehave(Misbehaviour::Claims),
    )
    .driven(),
    FaultInfo::new(
        "placement-ownership/foreign-decisions-untouched:deleted",
        "deletes the slices that it does not know",
        |world| world.misbehave(Misbehaviour::Tidies),
    )
    .driven(),
];
