//! Faults of the suite `placement-labels`.

use super::fault::FaultInfo;
use crate::scheduler::{script::minutes, world::FEW};

pub(super) const FAULTS: &[FaultInfo] = &[FaultInfo::new(
    "placement-labels/scheduler-stable",
    "takes another name after a while",
    |world| {
        world.edit_over_time(FEW, |slices, elapsed| {
            if elapsed >= minutes(4) {
                slices[0].scheduler = "reference-scheduler-v2".to_owned();
            }
        });
    },
)];
