//! Faults of the suite `placement-ownership`.

use super::fault::FaultInfo;
use crate::scheduler::{misbehaviours::Misbehaviour, names::SCHEDULER, script::minutes, world::FEW};

/// Another scheduler.
const OTHER: &str = "other-scheduler";

pub(super) const FAULTS: &[FaultInfo] = &[
    FaultInfo::new(
        "placement-ownership/one-writer",
        "puts its name on a slice of another scheduler",
        |world| {
            world.placement(FEW).creator = Some(OTHER);
            world.edit_over_time(FEW, |slices, elapsed| {
                if elapsed < minutes(4) {
                    slices[0].scheduler = OTHER.to_owned();
                }
            });
        },
    )
    .flags(&["--scheduler", SCHEDULER]),
    FaultInfo::new(
        "placement-ownership/one-writer:second-controller",
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
