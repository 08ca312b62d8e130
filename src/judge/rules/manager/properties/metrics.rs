//! The property `metrics-endpoints.k8s.io`.

use std::{borrow::Cow, fmt};

use evidence::api::{
    address::{Schemes, endpoint_fault, without_path},
    list::Text,
    names,
};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};

use super::values::each_value;
use crate::subjects::{Findings, Profiles};

/// `properties/metrics-endpoints-well-formed`
///
/// The metrics endpoints are a JSON list of pairs, each a type and a URL of any scheme: the types are an open list.
pub(in crate::rules) fn metrics_endpoints_well_formed(profiles: &Profiles, findings: &mut Findings) {
    let expected =
        r#"a JSON list of objects with one key each, such as [{"Prometheus":"https://a.example:9090"}]"#;
    each_value(
        profiles,
        findings,
        names::PROPERTY_METRICS_ENDPOINTS,
        expected,
        |value, faults| {
            let Ok(entries) = serde_json::from_str::<Vec<Entry>>(value) else {
                faults.add(
                    "metrics endpoints are not a JSON list of objects with strings",
                    value,
                );
                return;
            };
            for Entry(pairs) in &entries {
                let [(kind, url)] = pairs.as_slice() else {
                    let keys = pairs.iter().map(|(kind, _)| &**kind);
                    let keys = keys.collect::<Vec<_>>().join(", ");
                    faults.add(
                        "entry of the metrics endpoints does not have exactly one key",
                        &format!("{{{keys}}}"),
                    );
                    continue;
                };
                if kind.trim().is_empty() {
                    faults.add_endpoint("entry of the metrics endpoints names no type", url);
                }
                if let Some(fault) = endpoint_fault(without_path(url), Schemes::Any) {
                    faults.add_endpoint(&format!("endpoint {fault}"), url);
                }
            }
        },
    );
}

/// One entry: its keys, each with the string that it has. A map would hide that a key is there twice.
struct Entry<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'de> Deserialize<'de> for Entry<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;

        impl<'de> Visitor<'de> for Pairs {
            type Value = Entry<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entry<'de>, A::Error> {
                let mut pairs = Vec::new();
                while let Some((Text(key), Text(value))) = map.next_entry()? {
                    pairs.push((key, value));
                }
                Ok(Entry(pairs))
            }
        }

        deserializer.deserialize_map(Pairs)
    }
}
