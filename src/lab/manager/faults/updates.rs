//! Faults of the suite `updates`.

use std::time::Duration;

use evidence::api::names::CONDITION_HEALTHY;
use serde_json::json;

use super::fault::FaultInfo;
use crate::{
    client::Via,
    manager::{
        members::{QUIET, UNASKED},
        script::minutes,
        status::observed,
        world::MANAGER,
    },
};

/// A property that changes all the time.
const LOAD: &str = "cpu-load.example.com";
/// The field manager of a second controller.
const SECOND_CONTROLLER: &str = "reference-manager-versions";

pub(super) const FAULTS: &[FaultInfo] = &[
    FaultInfo::new(
        "updates/status-writes-within-budget",
        "rewords a condition twenty times in a minute and a half",
        |world| {
            for turn in 1..=20 {
                let at = minutes(4) + Duration::from_secs(4) * turn;
                world.observe(at, QUIET, move |status, _| {
                    status.alter(CONDITION_HEALTHY, |condition| {
                        condition.message = format!("all checks passed, {turn} times over");
                    });
                });
            }
        },
    ),
    FaultInfo::new(
        "updates/writes-within-burst",
        "numbers its rounds in a label, twenty times in a minute and a half",
        |world| {
            for turn in 1..=20 {
                let at = minutes(4) + Duration::from_secs(4) * turn;
                let patch = json!({"metadata": {"labels": {"example.com/round": turn.to_string()}}});
                world.request(at, QUIET, MANAGER, Via::Object, patch);
            }
        },
    ),
    FaultInfo::new(
        "updates/refused-writes-within-budget",
        "sends a condition without a status, which the hub refuses, again every four seconds",
        |world| {
            for turn in 1..=20 {
                let at = minutes(4) + Duration::from_secs(4) * turn;
                let patch = json!({"status": {"conditions": [{"type": CONDITION_HEALTHY}]}});
                world.request(at, QUIET, MANAGER, Via::Status, patch);
            }
        },
    )
    .in_audit_log_only(),
    FaultInfo::new(
        "updates/no-empty-writes",
        "sends a version that has not changed, again every four minutes",
        |world| {
            let version = world.profile(QUIET).status.kubernetes.clone();
            for turn in 1..=6 {
                let patch = json!({"status": {"version": {"kubernetes": version}}});
                world.request(minutes(4 * turn), QUIET, MANAGER, Via::Status, patch);
            }
        },
    )
    .in_audit_log_only(),
    FaultInfo::new(
        "updates/status-by-subresource",
        "sends a status with the rest of the object, from which the hub drops it",
        |world| {
            let patch = json!({
                "metadata": {"annotations": {"example.com/checked": "yes"}},
                "status": {"version": {"kubernetes": "v1.34.3"}},
            });
            world.request(minutes(4), QUIET, MANAGER, Via::Object, patch);
        },
    )
    .in_audit_log_only(),
    FaultInfo::new(
        "updates/status-by-subresource:labels",
        "sends labels with a status, from which the hub drops them",
        |world| {
            let patch = json!({
                "metadata": {"labels": {"example.com/checked": "yes"}},
                "status": {"version": {"kubernetes": "v1.34.3"}},
            });
            world.request(minutes(4), UNASKED, MANAGER, Via::Status, patch);
        },
    )
    .in_audit_log_only(),
    FaultInfo::new(
        "updates/distinct-appliers",
        "has a second controller update parts of a status",
        |world| {
            let patch = json!({"status": {"version": {"kubernetes": "v1.34.3"}}});
            world.request(minutes(4), UNASKED, SECOND_CONTROLLER, Via::Status, patch);
        },
    )
    .flags(&[
        "--cluster-manager-field-manager",
        MANAGER,
        "--cluster-manager-field-manager",
        SECOND_CONTROLLER,
    ]),
    FaultInfo::new(
        "updates/no-dynamic-data",
        "publishes the load of a member's processors",
        |world| {
            world
                .profile(QUIET)
                .status
                .properties
                .push(observed(LOAD, "0.40"));
            // Faster than the budget refills for twelve minutes, but within the burst.
            for turn in 0..30_u32 {
                let at = minutes(4) + Duration::from_secs(24) * turn;
                world.observe(at, QUIET, move |status, _| {
                    status.set_value(LOAD, &format!("0.{}", 41 + turn % 50));
                });
            }
        },
    ),
];
