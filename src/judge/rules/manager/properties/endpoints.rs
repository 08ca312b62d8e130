//! The property `cluster-endpoints.k8s.io`.

use evidence::api::{
    endpoints::{Endpoints, fault},
    names,
};

use super::values::each_value;
use crate::{
    shared::presence::each_has,
    subjects::{Finding, Findings, Profiles},
    text::ABSENT,
};

const PATH: &str = "status.properties[cluster-endpoints.k8s.io]";

/// `properties/cluster-endpoints-present`
///
/// Every profile has the endpoints property once the grace period is over.
pub(in crate::rules) fn cluster_endpoints_present(profiles: &Profiles, findings: &mut Findings) {
    each_has(
        profiles,
        findings,
        |profile| profile.property(names::PROPERTY_ENDPOINTS).is_some(),
        |profile| {
            Finding::on(profile, "profile has no endpoints of its member")
                .at(PATH)
                .expected("a list of URLs of the member's API server")
                .observed(ABSENT)
        },
    );
}

/// `properties/cluster-endpoints-well-formed`
///
/// The endpoints property contains at least one endpoint, and every entry is one.
pub(in crate::rules) fn cluster_endpoints_well_formed(profiles: &Profiles, findings: &mut Findings) {
    let expected = "URLs with a host, `host:port`, IP addresses or `IP:port`";
    each_value(
        profiles,
        findings,
        names::PROPERTY_ENDPOINTS,
        expected,
        |value, faults| {
            let endpoints = Endpoints::read(value);
            if endpoints.entries().is_empty() {
                faults.add("the property contains no endpoint", value);
            }
            for entry in endpoints.entries() {
                if let Some(fault) = fault(entry) {
                    faults.add_endpoint(&format!("endpoint {fault}"), entry);
                }
            }
        },
    );
}

/// `properties/cluster-endpoints-are-a-list`
///
/// The endpoints property is a JSON list of strings.
pub(in crate::rules) fn cluster_endpoints_are_a_list(profiles: &Profiles, findings: &mut Findings) {
    let expected = r#"a JSON list of strings, such as ["a.example:6443"]"#;
    each_value(
        profiles,
        findings,
        names::PROPERTY_ENDPOINTS,
        expected,
        |value, faults| {
            if !matches!(Endpoints::read(value), Endpoints::List(_)) {
                faults.add("endpoints are not a JSON list of strings", value);
            }
        },
    );
}
