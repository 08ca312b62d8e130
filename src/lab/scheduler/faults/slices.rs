//! Faults of the suite `placement-slices`.

use super::fault::FaultInfo;
use crate::scheduler::misbehaviours::Misbehaviour;

pub(super) const FAULTS: &[FaultInfo] = &[FaultInfo::new(
    "placement-slices/key-shared",
    "sets no key on two slices of one decision",
    |world| world.misbehave(Misbehaviour::SetsNoKey),
)
.driven()];
