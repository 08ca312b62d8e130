//! How properties may change.

use evidence::{
    api::{
        ClusterProfile, Property,
        names::{PROPERTY_CLUSTER_ID, PROPERTY_CLUSTERSET, PROPERTY_LOCATION},
    },
    parse_time,
};
use jiff::Timestamp;

use crate::{
    engine::{Ahead, Answer, CLOCKS_APART, Change, Hub, Seen, Value},
    subjects::Finding,
    text::{is_placeholder, redacted},
    time::{SECOND, timestamp},
};

/// `properties/location-immutable`
///
/// The location of a member, once set, never changes.
pub(in crate::rules) fn location(profile: &ClusterProfile) -> Option<Value> {
    let location = profile.property(PROPERTY_LOCATION)?;
    let is_set = !location.value.is_empty();
    is_set.then(|| value_of(PROPERTY_LOCATION, &location.value))
}

/// `properties/cluster-id-stable`
///
/// The cluster id does not change while the profile names the same ClusterSet.
pub(in crate::rules) fn cluster_id(profile: &ClusterProfile) -> Option<Value> {
    clusterset(profile)?;
    let id = known_value(profile, PROPERTY_CLUSTER_ID)?;
    Some(value_of(PROPERTY_CLUSTER_ID, id))
}

/// The ClusterSet in the profile's property.
pub(in crate::rules) fn clusterset(profile: &ClusterProfile) -> Option<&str> {
    known_value(profile, PROPERTY_CLUSTERSET)
}

/// `properties/clusterset-immutable`
///
/// The ClusterSet in a profile's properties is removed before another one is set.
pub(in crate::rules) fn clusterset_replaced(change: &Change<'_, '_, ClusterProfile>, _: &Hub) -> Answer {
    let Some((before, after)) = change.both() else {
        return Answer::NotApplicable;
    };
    match (clusterset(before), clusterset(after)) {
        (None, None) => Answer::NotApplicable,
        (Some(old), Some(new)) if old != new => {
            let message = "the ClusterSet of a profile was replaced by another one";
            let finding = Finding::at_path(value_path(PROPERTY_CLUSTERSET), message);
            Answer::broken(finding.expected(redacted(old)).observed(redacted(new)))
        }
        (_, _) => Answer::Kept,
    }
}

/// `properties/observed-time-sane`
///
/// The observation time of a property is not in the future. Clocks may differ by 5 min.
pub(in crate::rules) fn observed_time_not_ahead(profile: &ClusterProfile, seen: Seen, _: &Hub) -> Answer {
    Answer::each(observed_times(profile), |(property, text, time)| {
        match seen.is_ahead(time, CLOCKS_APART) {
            Ahead::No => Answer::Kept,
            Ahead::NoArrival => Answer::NotApplicable,
            Ahead::NoClock => Answer::Unknown(HUB_CLOCK_UNKNOWN.into()),
            Ahead::Yes => {
                let now = timestamp(seen.hub_time().unwrap_or_default());
                Answer::broken(
                    Finding::at_path(
                        time_path(property),
                        "lastObservedTime of a property is in the future",
                    )
                    .expected(format!("not after {now}, give or take 5 min"))
                    .observed(redacted(text)),
                )
            }
        }
    })
}

/// `properties/observed-time-sane`
///
/// The observation time of a property never moves backwards. It may lose its fraction of a second.
pub(in crate::rules) fn observed_time_not_back(change: &Change<'_, '_, ClusterProfile>, _: &Hub) -> Answer {
    let Some((before, after)) = change.both() else {
        return Answer::NotApplicable;
    };
    Answer::each(observed_times(after), |(property, text, time)| {
        let mut known = observed_times(before);
        let Some((_, old_text, old)) = known.find(|(old, _, _)| old.name == property.name) else {
            return Answer::NotApplicable;
        };
        let moved_back = old.as_microsecond() - time.as_microsecond() >= SECOND;
        Answer::broken_if(moved_back, || {
            Finding::at_path(
                time_path(property),
                "lastObservedTime of a property moved backwards",
            )
            .expected(format!("not before {}", redacted(old_text)))
            .observed(redacted(text))
        })
    })
}

const HUB_CLOCK_UNKNOWN: &str =
    "the hub's clock is unknown, so a time after the runner's present may not be in the future";

/// The properties with a valid observation time, as written and as a time. The CRD refuses other times.
fn observed_times(profile: &ClusterProfile) -> impl Iterator<Item = (&Property, &str, Timestamp)> {
    profile.status.properties.iter().filter_map(|property| {
        let text = property.last_observed_time.as_deref()?;
        Some((property, text, parse_time(text)?))
    })
}

/// The value of a property, unless it is a placeholder such as `unknown`.
fn known_value<'a>(profile: &'a ClusterProfile, name: &str) -> Option<&'a str> {
    let value = profile.property(name)?.value.trim();
    (!is_placeholder(value)).then_some(value)
}

fn value_of(name: &str, value: &str) -> Value {
    Value {
        path: value_path(name),
        value: value.to_owned(),
    }
}

fn value_path(name: &str) -> String {
    format!("status.properties[{name}].value")
}

fn time_path(property: &Property) -> String {
    format!("status.properties[{}].lastObservedTime", redacted(&property.name))
}
