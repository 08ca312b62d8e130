//! Calls of the endpoints in profiles.

use std::collections::HashMap;

use evidence::{
    EndpointCall, Evidence, ObjectRef,
    api::{
        ClusterProfile,
        endpoints::{Endpoints, fault},
        names::PROPERTY_ENDPOINTS,
    },
};

use crate::{
    shared::member::{Doubts, MISSED, stood, versions_at, vouches},
    subjects::{Finding, Findings},
    text::redacted,
};

/// Maximum number of endpoints that a finding lists.
const TOLD: usize = 3;

/// `properties/cluster-endpoints-reachable`
///
/// At least one endpoint of each profile answers requests.
pub(in crate::rules) fn cluster_endpoints_reachable(evidence: &Evidence, findings: &mut Findings) {
    if evidence.endpoint_calls.is_empty() {
        if evidence.inventory().any(has_endpoint) {
            findings.cannot_tell("no endpoint of a profile was called")
        } else {
            findings.not_applicable("no profile has an endpoint that can be called")
        }
        return;
    }
    findings.not_applicable("no profile of a healthy member has an endpoint that was called");
    let mut calls: HashMap<(&str, &str), Vec<&EndpointCall>> = HashMap::new();
    for call in &evidence.endpoint_calls {
        let profile = (call.profile.namespace.as_str(), call.profile.name.as_str());
        calls.entry(profile).or_default().push(call);
    }
    let mut doubts = Doubts::default();
    for history in evidence.histories() {
        let metadata = &history.last().metadata;
        let Some(calls) = calls.get(&(&*metadata.namespace, &*metadata.name)) else {
            continue;
        };
        // A member that is down need not answer.
        let stood = |call: &&&EndpointCall| stood(evidence, [history], call.at, vouches);
        let is_missed = calls
            .iter()
            .any(|call| versions_at(evidence, history, call.at).is_none());
        let calls: Vec<&EndpointCall> = calls.iter().filter(stood).copied().collect();
        let Some(last) = calls.last() else {
            if is_missed {
                doubts.add(ObjectRef::from(history.last()), MISSED);
            }
            continue;
        };
        if calls.iter().any(|call| call.code.is_some()) {
            findings.examine();
            continue;
        }
        let versions = versions_at(evidence, history, last.at);
        let profile = versions.and_then(|mut versions| versions.pop());
        let profile = profile.unwrap_or(history.last());
        if tells(profile, |endpoint| {
            calls.iter().all(|call| call.endpoint != endpoint)
        }) {
            doubts.add(
                &last.profile,
                "none of the endpoints that were called answered, but not all were called",
            );
            continue;
        }
        findings.examine();
        let told = calls.iter().take(TOLD);
        let told: Vec<String> = told
            .map(|call| redacted(&format!("{}: {}", call.endpoint, call.reason)))
            .collect();
        findings.report(
            Finding::on(profile, "no endpoint of the profile answers")
                .at(format!("status.properties[{PROPERTY_ENDPOINTS}].value"))
                .expected("an endpoint that answers HTTPS requests of the runner")
                .observed(told.join("; ")),
        );
    }
    doubts.tell(findings);
}

/// Whether a profile has an endpoint that can be called.
fn has_endpoint(profile: &ClusterProfile) -> bool {
    tells(profile, |_| true)
}

/// Whether a profile has such an endpoint among those that can be called.
fn tells(profile: &ClusterProfile, is_such: impl Fn(&str) -> bool) -> bool {
    let property = profile.property(PROPERTY_ENDPOINTS);
    let endpoints = Endpoints::read(property.map_or("", |property| &property.value));
    let mut entries = endpoints.entries().iter();
    entries.any(|endpoint| fault(endpoint).is_none() && is_such(endpoint))
}
