//! Faults of the suite `placement-updates`.

use serde_json::json;

use super::fault::FaultInfo;
use crate::scheduler::{misbehaviours::Misbehaviour, names::SCHEDULER, script::minutes, world::FEW};

pub(super) const FAULTS: &[FaultInfo] = &[
    FaultInfo::new(
        "placement-updates/no-empty-writes",
        "sends a slice that has not changed, again every four minutes",
        |world| {
            for turn in 1..=6 {
                let patch = json!({"schedulerName": SCHEDULER});
                world.request(minutes(4 * turn), FEW, None, SCHEDULER, patch);
            }
        },
    )
    .in_audit_log_only(),
    FaultInfo::new(
        "placement-updates/no-torn-reschedule",
        "writes the slice that loses a cluster before the one that gains it",
        |world| world.misbehave(Misbehaviour::LosesFirst),
    ),
];
