//! Conditions that change again and again.

use evidence::api::ClusterProfile;

use crate::{
    engine::{Answer, Hub, Value, Writes},
    subjects::Finding,
    text::redacted,
    time::{Bucket, SECOND},
};

/// More changes than these are flapping.
const CALM: Bucket = Bucket {
    burst: 6,
    refill: 50 * SECOND,
    at_least: 0,
};

/// `conditions/not-flapping`
///
/// The implementation changes the status of one condition at most 6 times at once, and once more every 50 s.
pub(in crate::rules) fn not_flapping(writes: &Writes<'_, '_, ClusterProfile>, _: &Hub) -> Answer {
    writes.values_within(CALM, condition_statuses, |path| {
        Finding::at_path(path, "a condition changes its status too often")
    })
}

fn condition_statuses(profile: &ClusterProfile) -> Vec<Value> {
    let conditions = profile.status.conditions.iter();
    let statuses = conditions.map(|condition| Value {
        path: format!("status.conditions[{}].status", redacted(&condition.kind)),
        value: condition.status.to_string(),
    });
    statuses.collect()
}
