//! Property names.

use evidence::api::names;

use crate::{
    hash::HashMap,
    shared::{
        misspelling,
        misspelling::meant,
        state::{State, each_state, same_properties},
    },
    subjects::{Finding, Findings, Profiles},
    text::redacted,
};

/// `properties/well-known-spelling`
///
/// No property's name is a likely misspelling of a standard one.
pub(in crate::rules) fn well_known_spelling(profiles: &Profiles, findings: &mut Findings) {
    findings.not_applicable("no profile has properties");
    // All profiles have the same few names.
    let mut nearest: HashMap<&str, Option<&'static str>> = HashMap::default();
    let state = State {
        same: Some(same_properties),
        ..State::default()
    };
    each_state(profiles, findings, state, |profile| {
        let properties = &profile.status.properties;
        let names = properties.iter().map(|property| &*property.name);
        let mut faults = Vec::new();
        for name in names.filter(|name| is_candidate(name)) {
            if let Some(meant) = nearest
                .entry(name)
                .or_insert_with(|| meant(name, &names::STANDARD_PROPERTIES))
            {
                let message = "name of a property is a likely misspelling of a standard one";
                let finding = Finding::on(profile, message)
                    .at(format!("status.properties[{}].name", redacted(name)))
                    .expected(*meant)
                    .observed(redacted(name));
                faults.push(finding.into());
            }
        }
        (!properties.is_empty()).then_some(faults)
    });
}

/// Whether a name may be a misspelling, judging by its length alone: cheap, and seldom true.
fn is_candidate(name: &str) -> bool {
    let known = names::STANDARD_PROPERTIES
        .iter()
        .chain(&names::PROPERTIES_CLUSTER_ID)
        .chain([&names::PROPERTY_CLUSTERSET]);
    let alike = |standard: &&str| misspelling::is_candidate(name, standard);
    names::STANDARD_PROPERTIES.iter().any(alike) && !known.into_iter().any(|known| *known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_told_from_other_names() {
        for (slip, standard) in [
            ("cluster-endpoint.k8s.io", names::PROPERTY_ENDPOINTS),
            ("cluster-endpoints.k8s.oi", names::PROPERTY_ENDPOINTS),
            ("group.customresource.k8s.io", names::PROPERTY_RESOURCE_GROUPS),
            ("group.customResources.k8s.io", names::PROPERTY_RESOURCE_GROUPS),
            ("types.node.k8s.io", names::PROPERTY_NODE_TYPES),
            ("count.nodes.k8s.io", names::PROPERTY_NODE_COUNT),
            ("location.toplogy.k8s.io", names::PROPERTY_LOCATION),
            ("metrics_endpoints.k8s.io", names::PROPERTY_METRICS_ENDPOINTS),
            ("group.çüstomResource.k8s.io", names::PROPERTY_RESOURCE_GROUPS),
        ] {
            assert!(is_candidate(slip), "{slip}");
            assert_eq!(meant(slip, &names::STANDARD_PROPERTIES), Some(standard), "{slip}");
        }
        let well_known = names::PROPERTIES_CLUSTER_ID
            .into_iter()
            .chain([names::PROPERTY_CLUSTERSET]);
        let others = [
            "",
            "location",
            "region.topology.k8s.io",
            "zone.topology.k8s.io",
            "node.k8s.io",
            "platform.open-cluster-management.io",
            "kubernetes-fleet.io/node-count",
            "clusterset.kubernetes.io",
        ];
        for other in names::STANDARD_PROPERTIES
            .into_iter()
            .chain(well_known)
            .chain(others)
        {
            assert!(
                !is_candidate(other) || meant(other, &names::STANDARD_PROPERTIES).is_none(),
                "{other}"
            );
        }
    }
}
