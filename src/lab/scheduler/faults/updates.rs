//! Faults of the suite `placement-updates`.

use evidence::api::names::LABEL_DECISION_INDEX;
use serde_json::json;

use super::fault::FaultInfo;
use crate::scheduler::{
    misbehaviours::Misbehaviour,
    names::SCHEDULER,
    script::minutes,
    world::{FEW, LARGE, UNORDERED},
};

pub(super) const FAULTS: &[FaultInfo] = &[
    FaultInfo::new(
        "placement-updates/stable-order",
        "lists the same clusters in another order every minute",
        |world| {
            world.edit_over_time(UNORDERED, |slices, elapsed| {
                let decisions = slices[0].decisions.get_or_insert_default();
                let count = u64::try_from(decisions.len().max(1)).unwrap_or(1);
                let turn = elapsed.as_secs() / 60 % count;
                decisions.rotate_left(usize::try_from(turn).unwrap_or(0));
            });
        },
    ),
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
        "placement-updates/not-churning",
        "drops a cluster and selects it again, all the time",
        |world| {
            world.edit_over_time(FEW, |slices, elapsed| {
                let is_churning = (minutes(7)..minutes(12)).contains(&elapsed);
                if is_churning && elapsed.as_secs() / 20 % 2 == 1 {
                    slices[0].decisions.get_or_insert_default().pop();
                }
            });
        },
    ),
    FaultInfo::new(
        "placement-updates/no-torn-reschedule",
        "writes the slice that loses a cluster before the one that gains it",
        |world| world.misbehave(Misbehaviour::LosesFirst),
    ),
    FaultInfo::new(
        "placement-updates/index-follows-order",
        "puts a slice first, and leaves the index of the other as it was",
        |world| {
            world.edit_over_time(LARGE, |slices, elapsed| {
                let others = slices.iter_mut().skip(1);
                for slice in others.filter(|_| elapsed >= minutes(7)) {
                    slice.label(LABEL_DECISION_INDEX, "0");
                }
            });
        },
    )
    // Two slices have one index then.
    .also(&["placement-slices/index-complete"]),
];
