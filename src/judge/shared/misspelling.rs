//! Likely misspellings of names that the documents define.

/// Maximum edit distance of a misspelling.
const SLIP: usize = 2;

/// Whether a name may be a misspelling of another, by its length alone.
fn is_candidate(name: &str, defined: &str) -> bool {
    // A character has up to four bytes.
    defined.len().abs_diff(name.len()) <= 4 * SLIP
}

/// Returns the defined name that a name almost equals.
pub(crate) fn meant(name: &str, defined: &[&'static str]) -> Option<&'static str> {
    let alike = defined.iter().filter(|defined| is_candidate(name, defined));
    alike
        .map(|defined| (strsim::levenshtein(defined, name), *defined))
        .filter(|(distance, _)| *distance <= SLIP)
        .min()
        .map(|(_, defined)| defined)
}

#[cfg(test)]
mod tests {
    use evidence::api::names;

    use super::*;

    #[test]
    fn two_edits_are_a_misspelling() {
        for (name, standard) in [
            ("cluster-endpoint.k8s.io", names::PROPERTY_ENDPOINTS),
            ("cluster-endpoints.k8s.oi", names::PROPERTY_ENDPOINTS),
            ("group.çüstomResource.k8s.io", names::PROPERTY_RESOURCE_GROUPS),
            ("count.nodes.k8s.io", names::PROPERTY_NODE_COUNT),
            ("location.toplogy.k8s.io", names::PROPERTY_LOCATION),
            ("metrics_endpoints.k8s.io", names::PROPERTY_METRICS_ENDPOINTS),
        ] {
            assert_eq!(meant(name, &names::STANDARD_PROPERTIES), Some(standard), "{name}");
        }
        let about = names::PROPERTIES_CLUSTER_ID
            .into_iter()
            .chain([names::PROPERTY_CLUSTERSET]);
        for other in about.chain([
            "",
            "location",
            "region.topology.k8s.io",
            "node.k8s.io",
            "clusterset.kubernetes.io",
        ]) {
            assert_eq!(meant(other, &names::STANDARD_PROPERTIES), None, "{other}");
        }
    }
}
