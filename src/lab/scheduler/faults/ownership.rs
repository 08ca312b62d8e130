//! Faults of the suite `placement-ownership`.

use serde_json::{Value, json};

use super::fault::FaultInfo;
use crate::scheduler::{
    inventory::{MEMBERS, member},
    misbehaviours::Misbehaviour,
    names::CONSUMER,
    script::minutes,
    world::{FEW, FEW_COUNT, FEW_FROM},
};

pub(super) const FAULTS: &[FaultInfo] = &[
    FaultInfo::new(
        "placement-ownership/one-writer",
        "has a second controller write every other change",
        |world| world.misbehave(Misbehaviour::SecondWriter),
    ),
    FaultInfo::new(
        "placement-ownership/consumers-read-only",
        "lets a consumer write into decisions what it has applied",
        |world| {
            let applied: Vec<Value> = (FEW_FROM..FEW_FROM + FEW_COUNT)
                .map(|number| {
                    let reference = json!({"namespace": MEMBERS, "name": member(number)});
                    json!({"clusterProfileRef": reference, "reason": "applied"})
                })
                .collect();
            let patch = json!({"decisions": applied});
            world.request(minutes(7), FEW, Some(CONSUMER), CONSUMER, patch);
        },
    )
    .in_audit_log_only(),
    FaultInfo::new(
        "placement-ownership/consumers-cannot-write",
        "grants a consumer the right to change decisions",
        |world| world.misbehave(Misbehaviour::OpenToConsumers),
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
    FaultInfo::new(
        "placement-ownership/not-a-conversation",
        "lets another program note in annotations what it has applied",
        |world| {
            let patch = json!({"metadata": {"annotations": {"example.com/applied": "yes"}}});
            world.request(minutes(7), FEW, None, CONSUMER, patch);
        },
    ),
];
