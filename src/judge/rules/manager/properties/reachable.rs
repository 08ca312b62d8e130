//! Calls of the endpoints in profiles.

use evidence::{
    EndpointCall,
    api::{
        ClusterProfile,
        endpoints::{Endpoints, fault},
        names::PROPERTY_ENDPOINTS,
    },
};

use crate::{engine::Answer, subjects::Finding, text::redacted};

/// Maximum number of endpoints that a finding lists.
const LISTED: usize = 3;

/// `properties/cluster-endpoints-reachable`
///
/// At least one endpoint of each profile answers requests.
pub(in crate::rules) fn cluster_endpoints_reachable(
    profile: &ClusterProfile,
    calls: &[&EndpointCall],
) -> Answer {
    if calls.iter().any(|call| call.code.is_some()) {
        return Answer::Kept;
    }
    let property = profile.property(PROPERTY_ENDPOINTS);
    let endpoints = Endpoints::read(property.map_or("", |property| &property.value));
    let mut callable = endpoints
        .entries()
        .iter()
        .filter(|endpoint| fault(endpoint).is_none());
    let is_any_uncalled = callable.any(|endpoint| calls.iter().all(|call| call.endpoint != **endpoint));
    match (is_any_uncalled, calls) {
        (false, []) => Answer::NotApplicable,
        (true, []) => Answer::Unknown("no endpoint of a profile was called".into()),
        (true, _) => {
            Answer::Unknown("none of the endpoints that were called answered, but not all were called".into())
        }
        (false, _) => Answer::broken(no_answer(calls)),
    }
}

fn no_answer(calls: &[&EndpointCall]) -> Finding {
    let listed = calls.iter().take(LISTED);
    let listed: Vec<String> = listed
        .map(|call| redacted(&format!("{}: {}", call.endpoint, call.reason)))
        .collect();
    let path = format!("status.properties[{PROPERTY_ENDPOINTS}].value");
    Finding::at_path(path, "no endpoint of the profile answers")
        .expected("an endpoint that answers HTTPS requests of the runner")
        .observed(listed.join("; "))
}
