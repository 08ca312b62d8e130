//! Faults of the suite `updates`.

use std::time::Duration;

use serde_json::json;

use super::registry::{FaultInfo, HubChange};
use crate::api::names::CONDITION_HEALTHY;
use crate::lab::manager::members::QUIET;
use crate::lab::manager::script::{Via, minutes};
use crate::lab::manager::status::Property;
use crate::lab::manager::world::{MANAGER, World};

/// A property that is no property of a cluster, but of a moment.
const LOAD: &str = "cpu-load.example.com";

pub(super) const FAULTS: &[FaultInfo] = &[
    FaultInfo::new(
        "updates/status-writes-within-budget",
        "writes a status twenty times in a minute and a half",
        // The words change, not what they say: twenty writes are few over half an hour.
        |world| chatter(world, 20, Duration::from_secs(4)),
    ),
    FaultInfo::new(
        "updates/average-rate",
        "writes a status every fifteen seconds for as long as it lives",
        |world| chatter(world, 100, Duration::from_secs(15)),
    )
    // A mean above the refill, the burst taken off, is an overdrawn bucket: the two sums are the same.
    .also(&["updates/status-writes-within-budget"]),
    FaultInfo::new(
        "updates/status-by-subresource",
        "writes the status with the rest of the object",
        |world| world.status_via = Via::Object,
    )
    .on(HubChange::WithoutStatusSubresource),
    FaultInfo::new(
        "updates/status-by-subresource:request",
        "sends a status with the rest of the object to a hub that drops it",
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
        "updates/distinct-appliers",
        "has a second controller update parts of a status",
        |world| {
            let patch = json!({"status": {"version": {"kubernetes": "v1.34.3"}}});
            world.request(
                minutes(4),
                QUIET,
                "reference-manager-versions",
                Via::Status,
                patch,
            );
        },
    ),
    FaultInfo::new(
        "updates/no-dynamic-data",
        "publishes the load of a member's processors",
        |world| {
            world.profile(QUIET).status.properties.push(Property {
                name: LOAD.to_owned(),
                value: "0.40".to_owned(),
                observed: true,
            });
            for turn in 0..100_u32 {
                let at = minutes(1) + Duration::from_secs(15) * turn;
                world.observe(at, QUIET, move |status, _| {
                    status.set_value(LOAD, &format!("0.{}", 41 + turn % 50));
                });
            }
        },
    )
    // Each value is a write of the status, so the status changes as often as the property does.
    .also(&["updates/status-writes-within-budget", "updates/average-rate"]),
];

/// Has the quiet member's status written `times` over, each time with another message of a condition.
fn chatter(world: &mut World, times: u32, every: Duration) {
    for turn in 1..=times {
        world.observe(minutes(4) + every * turn, QUIET, move |status, _| {
            status.alter(CONDITION_HEALTHY, |condition| {
                condition.message = format!("all checks passed, {turn} times over");
            });
        });
    }
}
