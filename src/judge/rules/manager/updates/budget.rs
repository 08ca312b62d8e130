//! How often objects are written (KEP-4322 › Scalability implication).

use evidence::{Request, api::ClusterProfile};

use crate::{
    engine::{Answer, BUDGET, Hub, Value, Writes},
    subjects::Finding,
    text::redacted,
    time::{Bucket, SECOND},
};

/// A property changes less often than once in 30 s. Times are known to the second, so an interval of 31 s is long enough.
const PROPERTY_PACE: Bucket = Bucket {
    burst: 1,
    refill: 31 * SECOND,
    at_least: 600 * SECOND,
};

/// `updates/status-writes-within-budget`
///
/// The implementation's status writes to one object never exceed 10 at once and one more every 30 s.
pub(in crate::rules) fn status_writes_within_budget(
    writes: &Writes<'_, '_, ClusterProfile>,
    _: &Hub,
) -> Answer {
    let message = "the status is written more often than the budget allows";
    writes.within(BUDGET, "writes", Finding::at_path("status", message))
}

/// `updates/writes-within-burst`
///
/// The implementation's changes of one object never exceed 10 at once and one more every 30 s. Does not apply if the status
/// writes alone do: `updates/status-writes-within-budget` reports them.
pub(in crate::rules) fn writes_within_burst(writes: &Writes<'_, '_, ClusterProfile>, _: &Hub) -> Answer {
    let message = "the profile is written more often than the budget allows";
    let finding = Finding::at_path("metadata.resourceVersion", message);
    let answer = writes.within(BUDGET, "writes of any kind", finding);
    if !matches!(answer, Answer::Broken(_)) {
        return answer;
    }
    match writes
        .of_status()
        .within(BUDGET, "writes", Finding::at_path("status", message))
    {
        Answer::Broken(_) => Answer::NotApplicable,
        _ => answer,
    }
}

/// `updates/refused-writes-within-budget`
///
/// The implementation's requests on one name that the hub refuses never exceed 10 at once and one more every 30 s.
pub(in crate::rules) fn refused_writes_within_budget(
    writes: &Writes<'_, '_, ClusterProfile>,
    _: &Hub,
) -> Answer {
    let message = "the hub refuses requests on one name more often than the budget allows";
    writes.within(
        BUDGET,
        "refused requests",
        Finding::at_path("metadata.name", message),
    )
}

/// `updates/no-empty-writes`
///
/// No status write of the implementation leaves the object unchanged. A single one is a warning.
pub(in crate::rules) fn no_empty_writes(writes: &Writes<'_, '_, ClusterProfile>, _: &Hub) -> Answer {
    let finding = Finding::at_path("status", "the status is written without a change");
    let finding = finding.expected("writes only if the status changed");
    writes.of_status().each_changes_something(finding)
}

/// Whether the audit log shows if a status write changed anything.
pub(in crate::rules) fn shows_effect(request: &Request) -> bool {
    !request.is_status_write() || request.changed.is_some()
}

/// `updates/no-dynamic-data`
///
/// The implementation changes no property's value once in 30 s, or more often, over 10 minutes.
pub(in crate::rules) fn no_dynamic_data(writes: &Writes<'_, '_, ClusterProfile>, _: &Hub) -> Answer {
    writes.values_within(PROPERTY_PACE, property_values, |path| {
        Finding::at_path(path, "a property changes too often")
    })
}

fn property_values(profile: &ClusterProfile) -> Vec<Value> {
    let properties = profile.status.properties.iter();
    let values = properties.map(|property| Value {
        path: format!("status.properties[{}].value", redacted(&property.name)),
        value: property.value.to_string(),
    });
    values.collect()
}
