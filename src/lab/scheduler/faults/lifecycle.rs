//! Faults of the suite `placement-lifecycle`.

use super::fault::FaultInfo;
use crate::scheduler::misbehaviours::Misbehaviour;

pub(super) const FAULTS: &[FaultInfo] = &[
    FaultInfo::new(
        "placement-lifecycle/placed",
        "publishes a decision minutes after it was asked for",
        |world| world.misbehave(Misbehaviour::PlacesLate),
    )
    .driven(),
    FaultInfo::new(
        "placement-lifecycle/crosses-the-limit",
        "leaves out the clusters that do not fit into one slice",
        |world| world.misbehave(Misbehaviour::StopsAtTheLimit),
    )
    .driven(),
    FaultInfo::new(
        "placement-lifecycle/crosses-the-limit:back",
        "keeps an empty slice when the clusters fit into one again",
        |world| world.misbehave(Misbehaviour::KeepsNeedlessSlices),
    )
    // It lasts.
    .also(&["placement-slices/no-needless-slices"])
    .driven(),
    FaultInfo::new(
        "placement-lifecycle/unplaced",
        "keeps the decision of a workload that is gone",
        |world| world.misbehave(Misbehaviour::KeepsDecisions),
    )
    .driven(),
    FaultInfo::new(
        "placement-lifecycle/none-selected",
        "keeps the last decision when no cluster can be selected any more",
        |world| world.misbehave(Misbehaviour::KeepsStale),
    )
    .driven(),
    FaultInfo::new(
        "placement-lifecycle/restored",
        "assumes that a slice is what it last wrote",
        |world| world.misbehave(Misbehaviour::TrustsItsMemory),
    )
    .driven(),
    FaultInfo::new(
        "placement-lifecycle/restart-keeps",
        "creates all slices anew when it starts",
        |world| world.misbehave(Misbehaviour::Recreates),
    )
    // Its clusters leave the decision and come back.
    .also(&["placement-updates/no-torn-reschedule"])
    .driven(),
];
