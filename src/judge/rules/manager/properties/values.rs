//! Formats of standard properties.

use std::{cell::OnceCell, collections::BTreeMap};

use evidence::api::{
    ClusterProfile,
    address::{Schemes, endpoint_fault, without_path},
    endpoints::{Endpoints, fault},
    names::{
        PROPERTY_CLUSTER_ID, PROPERTY_ENDPOINTS, PROPERTY_METRICS_ENDPOINTS, PROPERTY_NODE_COUNT,
        PROPERTY_NODE_TYPES, PROPERTY_RESOURCE_GROUPS, STANDARD_PROPERTIES,
    },
    strings,
    syntax::is_dns_subdomain,
};

use crate::{
    engine::{Answer, Hub},
    shared::misspelling::meant,
    subjects::Finding,
    text::{ABSENT, holds_credential, redacted, redacted_address},
};

/// A cluster id has fewer characters.
const LONG_ID: usize = 128;

/// The value of a property.
struct PropertyValue<'p> {
    name: &'static str,
    text: &'p str,
    /// The format, for messages.
    expected: &'static str,
    /// The redacted text if it holds a credential. A value may have thousands of entries, so it is computed once.
    with_credential: OnceCell<Option<String>>,
}

impl<'p> PropertyValue<'p> {
    /// The value of that property; none without the property.
    fn of(profile: &'p ClusterProfile, name: &'static str, expected: &'static str) -> Option<Self> {
        let text = &profile.property(name)?.value;
        Some(Self {
            name,
            text,
            expected,
            with_credential: OnceCell::new(),
        })
    }

    /// A violation by the whole value.
    fn wrong(&self, message: &str) -> Answer {
        self.wrong_entry(message, self.text)
    }

    /// A violation by one entry of a list.
    fn wrong_entry(&self, message: &str, entry: &str) -> Answer {
        let path = format!("status.properties[{}].value", self.name);
        Answer::broken(
            Finding::at_path(path, message)
                .expected(self.expected)
                .observed(self.redacted_entry(entry)),
        )
    }

    /// Quotes an entry. If the value holds a credential, the entry may be an unrecognizable piece of it, so the redacted
    /// value is returned instead.
    fn redacted_entry(&self, entry: &str) -> String {
        let compute = || holds_credential(self.text).then(|| redacted(self.text));
        let with_credential = self.with_credential.get_or_init(compute);
        with_credential.clone().unwrap_or_else(|| redacted(entry))
    }
}

/// `properties/cluster-endpoints-present`
///
/// Every profile has the endpoints property.
pub(in crate::rules) fn cluster_endpoints_present(profile: &ClusterProfile, _: &Hub) -> Answer {
    Answer::broken_if(profile.property(PROPERTY_ENDPOINTS).is_none(), || {
        let path = "status.properties[cluster-endpoints.k8s.io]";
        Finding::at_path(path, "profile has no endpoints of its member")
            .expected("a list of URLs of the member's API server")
            .observed(ABSENT)
    })
}

/// `properties/cluster-endpoints-well-formed`
///
/// The endpoints property contains at least one endpoint, and every entry is one.
pub(in crate::rules) fn cluster_endpoints_well_formed(profile: &ClusterProfile, _: &Hub) -> Answer {
    let expected = "URLs with a host, `host:port`, IP addresses or `IP:port`";
    let Some(value) = PropertyValue::of(profile, PROPERTY_ENDPOINTS, expected) else {
        return Answer::NotApplicable;
    };
    let endpoints = Endpoints::read(value.text);
    if endpoints.entries().is_empty() {
        return value.wrong("the property contains no endpoint");
    }
    Answer::each(endpoints.entries(), |endpoint| match fault(endpoint) {
        None => Answer::Kept,
        Some(fault) => value.wrong_entry(&format!("endpoint {fault}"), &redacted_address(endpoint)),
    })
}

/// `properties/cluster-endpoints-are-a-list`
///
/// The endpoints property is a JSON list of strings.
pub(in crate::rules) fn cluster_endpoints_are_a_list(profile: &ClusterProfile, _: &Hub) -> Answer {
    let expected = r#"a JSON list of strings, such as ["a.example:6443"]"#;
    let Some(value) = PropertyValue::of(profile, PROPERTY_ENDPOINTS, expected) else {
        return Answer::NotApplicable;
    };
    match Endpoints::read(value.text) {
        Endpoints::List(_) => Answer::Kept,
        _ => value.wrong("endpoints are not a JSON list of strings"),
    }
}

/// `properties/node-count-well-formed`
///
/// The node count is a non-negative integer. White space around it does not matter.
pub(in crate::rules) fn node_count_well_formed(profile: &ClusterProfile, _: &Hub) -> Answer {
    let expected = "a non-negative integer, such as 120";
    let Some(value) = PropertyValue::of(profile, PROPERTY_NODE_COUNT, expected) else {
        return Answer::NotApplicable;
    };
    let digits = value.text.trim();
    if digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<u64>().is_ok() {
        Answer::Kept
    } else {
        value.wrong("node count is not a non-negative integer")
    }
}

/// `properties/node-types-well-formed`
///
/// The node types are a JSON list of non-empty strings.
pub(in crate::rules) fn node_types_well_formed(profile: &ClusterProfile, _: &Hub) -> Answer {
    let expected = r#"a JSON list of non-empty strings, such as ["standard-8","highmem-16"]"#;
    let Some(value) = PropertyValue::of(profile, PROPERTY_NODE_TYPES, expected) else {
        return Answer::NotApplicable;
    };
    match strings(value.text) {
        None => value.wrong("node types are not a JSON list of strings"),
        Some(types) if types.iter().any(|name| name.trim().is_empty()) => value.wrong("node type is empty"),
        Some(_) => Answer::Kept,
    }
}

/// `properties/metrics-endpoints-well-formed`
///
/// The metrics endpoints are a JSON list of pairs, each a type and a URL of any scheme: the types are an open list.
pub(in crate::rules) fn metrics_endpoints_well_formed(profile: &ClusterProfile, _: &Hub) -> Answer {
    let expected =
        r#"a JSON list of objects with one key each, such as [{"Prometheus":"https://a.example:9090"}]"#;
    let Some(value) = PropertyValue::of(profile, PROPERTY_METRICS_ENDPOINTS, expected) else {
        return Answer::NotApplicable;
    };
    let Ok(entries) = serde_json::from_str::<Vec<BTreeMap<String, String>>>(value.text) else {
        return value.wrong("metrics endpoints are not a JSON list of objects with strings");
    };
    Answer::each(&entries, |entry| judge_metrics_endpoint(&value, entry)).or_kept()
}

fn judge_metrics_endpoint(value: &PropertyValue, entry: &BTreeMap<String, String>) -> Answer {
    let mut pairs = entry.iter();
    let (Some((kind, url)), None) = (pairs.next(), pairs.next()) else {
        let keys = entry.keys().cloned().collect::<Vec<_>>().join(", ");
        let message = "entry of the metrics endpoints does not have exactly one key";
        return value.wrong_entry(message, &format!("{{{keys}}}"));
    };
    if kind.trim().is_empty() {
        return value.wrong_entry(
            "entry of the metrics endpoints names no type",
            &redacted_address(url),
        );
    }
    match endpoint_fault(without_path(url), Schemes::Any) {
        None => Answer::Kept,
        Some(fault) => value.wrong_entry(&format!("endpoint {fault}"), &redacted_address(url)),
    }
}

/// `properties/custom-resource-groups-well-formed`
///
/// The custom resource groups are a JSON list of API groups.
pub(in crate::rules) fn custom_resource_groups_well_formed(profile: &ClusterProfile, _: &Hub) -> Answer {
    let expected = r#"a JSON list of API groups, such as ["argoproj.io","kueue.x-k8s.io"]"#;
    let Some(value) = PropertyValue::of(profile, PROPERTY_RESOURCE_GROUPS, expected) else {
        return Answer::NotApplicable;
    };
    let Some(groups) = strings(value.text) else {
        return value.wrong("custom resource groups are not a JSON list of strings");
    };
    let wrong = groups.iter().filter(|group| !is_dns_subdomain(group));
    Answer::each(wrong, |group| {
        value.wrong_entry("custom resource group is not a DNS subdomain", group)
    })
    .or_kept()
}

/// `properties/cluster-id-well-formed`
///
/// The cluster id is a DNS subdomain of fewer than 128 characters.
pub(in crate::rules) fn cluster_id_well_formed(profile: &ClusterProfile, _: &Hub) -> Answer {
    let expected = "a DNS subdomain of fewer than 128 characters, such as cluster-1";
    let Some(id) = PropertyValue::of(profile, PROPERTY_CLUSTER_ID, expected) else {
        return Answer::NotApplicable;
    };
    if !is_dns_subdomain(id.text) {
        id.wrong("cluster id is not a DNS subdomain")
    } else if id.text.len() >= LONG_ID {
        id.wrong("cluster id has 128 or more characters")
    } else {
        Answer::Kept
    }
}

/// `properties/well-known-spelling`
///
/// No property's name is a likely misspelling of a standard one.
pub(in crate::rules) fn well_known_spelling(profile: &ClusterProfile, _: &Hub) -> Answer {
    Answer::each(profile.status.properties.iter(), |property| {
        let name = &*property.name;
        match meant(name, &STANDARD_PROPERTIES).filter(|standard| *standard != name) {
            None => Answer::Kept,
            Some(standard) => Answer::broken(
                Finding::at_path(
                    format!("status.properties[{}].name", redacted(name)),
                    "name of a property is a likely misspelling of a standard one",
                )
                .expected(standard)
                .observed(redacted(name)),
            ),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_of_a_credential_is_not_shown() {
        let value = |text| PropertyValue {
            name: PROPERTY_ENDPOINTS,
            text,
            expected: "",
            with_credential: OnceCell::new(),
        };
        let with_token = value("a.example, Bearer 0123456789abcdef0123");
        assert_eq!(with_token.redacted_entry("0123456789abcdef0123"), "a.example, …");
        assert_eq!(value("a, b").redacted_entry("b"), "b");
    }
}
