//! The suite `properties`: the formats of standard properties, and how properties may change.

use std::cell::OnceCell;

use evidence::{
    EndpointCall,
    api::{
        Property,
        address::{Schemes, endpoint_fault, without_path},
        endpoints::{Endpoints, fault},
        strings,
        syntax::is_dns_subdomain,
    },
};

use crate::{
    engine::CLOCKS_APART,
    rules::prelude::*,
    text::{holds_credential, is_placeholder, misspelled, redacted_address},
};

struct PropertyValue<'p> {
    name: &'static str,
    text: &'p str,
    /// The redacted text if it holds a credential. A value may have thousands of entries, so it is computed once.
    with_credential: OnceCell<Option<String>>,
}

/// Judges the value of a property; not applicable without the property.
fn judge_value(
    profile: &ClusterProfile,
    name: &'static str,
    check: impl FnOnce(&PropertyValue) -> Answer,
) -> Answer {
    profile.property(name).map_or(Answer::NotApplicable, |property| {
        check(&PropertyValue {
            name,
            text: &property.value,
            with_credential: OnceCell::new(),
        })
    })
}

impl PropertyValue<'_> {
    /// A violation by the whole value, if so.
    fn wrong_if(&self, is_wrong: bool) -> Answer {
        if is_wrong {
            self.wrong("", self.text)
        } else {
            Answer::Kept
        }
    }

    /// A violation, for example by one entry of a list. An empty message means the words of the rule's file. If the
    /// value holds a credential, the entry may be an unrecognizable piece of it, so the redacted value is quoted instead.
    fn wrong(&self, message: &str, entry: &str) -> Answer {
        let redacted_text = || holds_credential(self.text).then(|| redacted(self.text));
        let with_credential = self.with_credential.get_or_init(redacted_text).clone();
        let finding = Finding::at_path(property_path(self.name), message);
        Answer::broken(finding.observed(with_credential.unwrap_or_else(|| redacted(entry))))
    }
}

/// `properties/cluster-endpoints-present`: every profile has the endpoints property.
pub(crate) fn cluster_endpoints_present(profile: &ClusterProfile, _: &Hub) -> Answer {
    Answer::broken_if(profile.property(PROPERTY_ENDPOINTS).is_none(), || {
        Finding::at_field(format!("status.properties[{PROPERTY_ENDPOINTS}]"), ABSENT)
    })
}

/// `properties/cluster-endpoints-well-formed`: the endpoints property contains at least one endpoint, and every entry
/// is one.
pub(crate) fn cluster_endpoints_well_formed(profile: &ClusterProfile, _: &Hub) -> Answer {
    judge_value(profile, PROPERTY_ENDPOINTS, |value| {
        let endpoints = Endpoints::read(value.text);
        let is_empty = endpoints.entries().is_empty();
        let entries = Answer::each(endpoints.entries(), |endpoint| match fault(endpoint) {
            None => Answer::Kept,
            Some(fault) => value.wrong(&format!("endpoint {fault}"), &redacted_address(endpoint)),
        });
        entries.and(value.wrong_if(is_empty))
    })
}

/// `properties/cluster-endpoints-are-a-list`: the endpoints property is a JSON list of strings.
pub(crate) fn cluster_endpoints_are_a_list(profile: &ClusterProfile, _: &Hub) -> Answer {
    judge_value(profile, PROPERTY_ENDPOINTS, |value| {
        let is_list = matches!(Endpoints::read(value.text), Endpoints::List(_));
        value.wrong_if(!is_list)
    })
}

/// `properties/cluster-endpoints-reachable`: at least one endpoint of each profile answers requests.
pub(crate) fn cluster_endpoints_reachable(profile: &ClusterProfile, calls: &[&EndpointCall]) -> Answer {
    if calls.iter().any(|call| call.code.is_some()) {
        return Answer::Kept;
    }
    let property = profile.property(PROPERTY_ENDPOINTS);
    let endpoints = Endpoints::read(property.map_or("", |property| &property.value));
    let entries = endpoints.entries().iter();
    let mut callable = entries.filter(|endpoint| fault(endpoint).is_none());
    let is_any_uncalled = callable.any(|endpoint| calls.iter().all(|call| call.endpoint != **endpoint));
    match (is_any_uncalled, calls) {
        (false, []) => Answer::NotApplicable,
        (true, []) => Answer::unknown("no endpoint of a profile was called"),
        (true, _) => {
            Answer::unknown("none of the endpoints that were called answered, but not all were called")
        }
        (false, _) => {
            let failure = |call: &&EndpointCall| redacted(&format!("{}: {}", call.endpoint, call.reason));
            let failures: Vec<String> = calls.iter().take(3).map(failure).collect();
            let path = property_path(PROPERTY_ENDPOINTS);
            Answer::broken(Finding::at_field(path, failures.join("; ")))
        }
    }
}

/// `properties/node-count-well-formed`: the node count is a non-negative integer. White space around it does not
/// matter.
pub(crate) fn node_count_well_formed(profile: &ClusterProfile, _: &Hub) -> Answer {
    judge_value(profile, PROPERTY_NODE_COUNT, |value| {
        let digits = value.text.trim();
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<u64>().is_ok();
        value.wrong_if(!is_number)
    })
}

/// `properties/node-types-well-formed`: the node types are a JSON list of non-empty strings.
pub(crate) fn node_types_well_formed(profile: &ClusterProfile, _: &Hub) -> Answer {
    judge_value(profile, PROPERTY_NODE_TYPES, |value| {
        let types = strings(value.text);
        let is_any_empty = types.iter().flatten().any(|name| name.trim().is_empty());
        if is_any_empty {
            value.wrong("node type is empty", value.text)
        } else {
            value.wrong_if(types.is_none())
        }
    })
}

/// `properties/metrics-endpoints-well-formed`: the metrics endpoints are a JSON list of pairs, each a type and a URL of
/// any scheme: the types are an open list.
pub(crate) fn metrics_endpoints_well_formed(profile: &ClusterProfile, _: &Hub) -> Answer {
    judge_value(profile, PROPERTY_METRICS_ENDPOINTS, |value| {
        let entries: Result<Vec<BTreeMap<String, String>>, _> = serde_json::from_str(value.text);
        let Ok(entries) = entries else {
            return value.wrong_if(true);
        };
        Answer::each(&entries, |entry| judge_metrics_endpoint(value, entry)).or_kept()
    })
}

fn judge_metrics_endpoint(value: &PropertyValue, entry: &BTreeMap<String, String>) -> Answer {
    let mut pairs = entry.iter();
    let (Some((kind, url)), None) = (pairs.next(), pairs.next()) else {
        let keys = entry.keys().cloned().collect::<Vec<_>>().join(", ");
        let message = "entry of the metrics endpoints does not have exactly one key";
        return value.wrong(message, &format!("{{{keys}}}"));
    };
    let message = if kind.trim().is_empty() {
        "entry of the metrics endpoints names no type".to_owned()
    } else if let Some(fault) = endpoint_fault(without_path(url), Schemes::Any) {
        format!("endpoint {fault}")
    } else {
        return Answer::Kept;
    };
    value.wrong(&message, &redacted_address(url))
}

/// `properties/custom-resource-groups-well-formed`: the custom resource groups are a JSON list of API groups.
pub(crate) fn custom_resource_groups_well_formed(profile: &ClusterProfile, _: &Hub) -> Answer {
    judge_value(profile, PROPERTY_RESOURCE_GROUPS, |value| {
        let groups = strings(value.text);
        let wrong = groups.iter().flatten().filter(|group| !is_dns_subdomain(group));
        let message = "custom resource group is not a DNS subdomain";
        let entries = Answer::each(wrong, |group| value.wrong(message, group));
        entries.and(value.wrong_if(groups.is_none()))
    })
}

/// `properties/cluster-id-well-formed`: the cluster id is a DNS subdomain of fewer than 128 characters.
pub(crate) fn cluster_id_well_formed(profile: &ClusterProfile, _: &Hub) -> Answer {
    judge_value(profile, PROPERTY_CLUSTER_ID, |id| {
        if is_dns_subdomain(id.text) && id.text.len() >= 128 {
            id.wrong("cluster id has 128 or more characters", id.text)
        } else {
            id.wrong_if(!is_dns_subdomain(id.text))
        }
    })
}

/// `properties/well-known-spelling`: no property's name is a likely misspelling of a standard one.
pub(crate) fn well_known_spelling(profile: &ClusterProfile, _: &Hub) -> Answer {
    Answer::each(profile.status.properties.iter(), |property| {
        let Some(standard) = misspelled(&property.name, &STANDARD_PROPERTIES) else {
            return Answer::Kept;
        };
        let name = redacted(&property.name);
        let finding = Finding::at_field(format!("status.properties[{name}].name"), name);
        Answer::broken(finding.expected(standard))
    })
}

/// `properties/location-immutable`: the location of a member, once set, never changes.
pub(crate) fn location(profile: &ClusterProfile) -> Option<Value> {
    let location = &*profile.property(PROPERTY_LOCATION)?.value;
    (!location.is_empty()).then(|| Value::new(property_path(PROPERTY_LOCATION), location))
}

/// `properties/cluster-id-stable`: the cluster id does not change while the profile names the same ClusterSet.
pub(crate) fn cluster_id(profile: &ClusterProfile) -> Option<Value> {
    clusterset(profile)?;
    let id = known_value(profile, PROPERTY_CLUSTER_ID)?;
    Some(Value::new(property_path(PROPERTY_CLUSTER_ID), id))
}

/// The ClusterSet in the profile's property.
pub(crate) fn clusterset(profile: &ClusterProfile) -> Option<&str> {
    known_value(profile, PROPERTY_CLUSTERSET)
}

/// The value of a property, unless it is a placeholder like `unknown`.
fn known_value<'a>(profile: &'a ClusterProfile, name: &str) -> Option<&'a str> {
    let value = profile.property(name)?.value.trim();
    (!is_placeholder(value)).then_some(value)
}

/// `properties/clusterset-immutable`: the ClusterSet in a profile's properties is removed before another one is set.
pub(crate) fn clusterset_replaced(change: &Change<'_, '_, ClusterProfile>, _: &Hub) -> Answer {
    let Some((before, after)) = change.both() else {
        return Answer::NotApplicable;
    };
    match (clusterset(before), clusterset(after)) {
        (None, None) => Answer::NotApplicable,
        (Some(old), Some(new)) if old != new => {
            let finding = Finding::at_field(property_path(PROPERTY_CLUSTERSET), redacted(new));
            Answer::broken(finding.expected(redacted(old)))
        }
        (_, _) => Answer::Kept,
    }
}

/// `properties/observed-time-sane`: the observation time of a property is not in the future. Clocks may differ by 5
/// min.
pub(crate) fn observed_time_not_ahead(profile: &ClusterProfile, arrival: ArrivalTime, _: &Hub) -> Answer {
    Answer::each(observed_times(profile), |(property, text, time)| {
        match (arrival.is_ahead(time, CLOCKS_APART), arrival.is_clock_known) {
            (false, _) => Answer::Kept,
            (true, false) => Answer::unknown(HUB_CLOCK_UNKNOWN),
            (true, true) => {
                let now = timestamp(arrival.hub_time);
                let finding = wrong_time(property, text, "lastObservedTime of a property is in the future");
                Answer::broken(finding.expected(format!("not after {now}, give or take 5 min")))
            }
        }
    })
}

/// `properties/observed-time-sane`: the observation time of a property never moves backwards. It may lose its fraction
/// of a second.
pub(crate) fn observed_time_not_back(change: &Change<'_, '_, ClusterProfile>, _: &Hub) -> Answer {
    let Some((before, after)) = change.both() else {
        return Answer::NotApplicable;
    };
    Answer::each(observed_times(after), |(property, text, time)| {
        let mut earlier = observed_times(before);
        let Some((_, old_text, old)) = earlier.find(|(old, _, _)| old.name == property.name) else {
            return Answer::NotApplicable;
        };
        let moved_back = old.as_microsecond() - time.as_microsecond() >= SECOND;
        Answer::broken_if(moved_back, || {
            wrong_time(property, text, "lastObservedTime of a property moved backwards")
                .expected(format!("not before {}", redacted(old_text)))
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

fn wrong_time(property: &Property, text: &str, message: &str) -> Finding {
    let path = format!("status.properties[{}].lastObservedTime", redacted(&property.name));
    Finding::at_path(path, message).observed(redacted(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_of_a_credential_is_not_shown() {
        let observed = |text, entry| {
            let value = PropertyValue {
                name: PROPERTY_ENDPOINTS,
                text,
                with_credential: OnceCell::new(),
            };
            value.wrong("", entry).findings()[0].observed.clone()
        };
        let with_token = "a.example, Bearer 0123456789abcdef0123";
        assert_eq!(observed(with_token, "0123456789abcdef0123"), "a.example, …");
        assert_eq!(observed("a, b", "b"), "b");
    }
}
