//! The property `cluster-endpoints.k8s.io`.

use crate::{
    api::names,
    evidence::Evidence,
    rules::{
        Finding, Findings,
        endpoints::{Endpoints, fault},
        presence::each_has,
        text::{ABSENT, shown, shown_part},
    },
};

const PATH: &str = "status.properties[cluster-endpoints.k8s.io]";
const VALUE_PATH: &str = "status.properties[cluster-endpoints.k8s.io].value";
const NONE_HAS_IT: &str = "no profile has the property cluster-endpoints.k8s.io";

/// Every profile has the property, once it had the time to be filled.
pub(in crate::rules) fn cluster_endpoints_present(evidence: &Evidence, findings: &mut Findings) {
    each_has(
        evidence,
        findings,
        |profile| profile.property(names::PROPERTY_ENDPOINTS).is_some(),
        |profile| {
            Finding::on(profile, "profile does not tell the endpoints of its member")
                .at(PATH)
                .expected("a list of URLs of the member's API server")
                .observed(ABSENT)
        },
    );
}

/// At most so many entries of one profile are told one by one: a value may hold a hundred thousand.
const MOST: usize = 20;

/// At least one endpoint can be read from the property, and all of them are endpoints.
pub(in crate::rules) fn cluster_endpoints_well_formed(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable(NONE_HAS_IT);
    for profile in evidence.inventory() {
        let Some(property) = profile.property(names::PROPERTY_ENDPOINTS) else {
            continue;
        };
        findings.examine();
        let mut report = |message: &str, observed: &str| {
            findings.report(
                Finding::on(profile, message)
                    .at(VALUE_PATH)
                    .expected("URLs with a host, `host:port`, IP addresses or `IP:port`")
                    .observed(shown_part(observed, &property.value)),
            );
        };
        let endpoints = Endpoints::read(&property.value);
        if endpoints.entries().is_empty() {
            report("no endpoint can be read from the property", &property.value);
        }
        let faulty = endpoints
            .entries()
            .iter()
            .filter_map(|entry| Some((entry, fault(entry)?)));
        for (number, (entry, fault)) in faulty.enumerate() {
            if number == MOST {
                report("there are more entries that are no endpoints", "…");
                break;
            }
            report(fault, entry);
        }
    }
}

/// The property is a JSON list of strings.
pub(in crate::rules) fn cluster_endpoints_are_a_list(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable(NONE_HAS_IT);
    for profile in evidence.inventory() {
        let Some(property) = profile.property(names::PROPERTY_ENDPOINTS) else {
            continue;
        };
        findings.examine();
        if !matches!(Endpoints::read(&property.value), Endpoints::List(_)) {
            findings.report(
                Finding::on(profile, "endpoints are no JSON list of strings")
                    .at(VALUE_PATH)
                    .expected(r#"a JSON list of strings, such as ["a.example:6443"]"#)
                    .observed(shown(&property.value)),
            );
        }
    }
}
