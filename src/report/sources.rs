//! Links a rule's source to the documents that it cites.

/// A part of a source, such as `KEP-4322 › Spec › Cluster Manager`, with its address if it cites a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cited<'a> {
    pub(crate) text: &'a str,
    pub(crate) address: Option<String>,
}

/// The documents by the names that rules cite them by. Their newest text: older editions have the same sections.
const DOCUMENTS: [(&str, &str); 7] = [
    (
        "KEP-4322",
        "https://github.com/kubernetes/enhancements/blob/master/keps/sig-multicluster/4322-cluster-inventory/README.md",
    ),
    (
        "KEP-5339",
        "https://github.com/kubernetes/enhancements/blob/master/keps/sig-multicluster/5339-clusterprofile-plugin-credentials/README.md",
    ),
    (
        "KEP-5313",
        "https://github.com/kubernetes/enhancements/blob/master/keps/sig-multicluster/5313-placement-decision-api/README.md",
    ),
    (
        "PlacementDecision types",
        "https://github.com/kubernetes-sigs/cluster-inventory-api/blob/main/apis/v1alpha1/placementdecision_types.go",
    ),
    (
        "PlacementDecision adoption guide",
        "https://github.com/kubernetes-sigs/cluster-inventory-api/pull/66",
    ),
    (
        "Overview",
        "https://multicluster.sigs.k8s.io/concepts/cluster-profile-api/",
    ),
    (
        "ClusterProfile API Overview",
        "https://multicluster.sigs.k8s.io/concepts/cluster-profile-api/",
    ),
];

/// Sections that rules cite by a shorter name than their heading.
const HEADINGS: [(&str, &str); 6] = [
    (
        "Organizing ClusterProfile objects on a hub",
        "How should we organize ClusterProfile objects on a hub cluster?",
    ),
    (
        "Push Model via Credentials in Secret",
        "Push Model via Credentials in Secret (Not Recommended)",
    ),
    ("Examples 1 and 2", "Example 1"),
    (
        "Relationship to other SIG-Multicluster APIs",
        "Relationship to other SIG-Multicluster (SIG-MC) APIs",
    ),
    (
        "accessProviders",
        "Access to member clusters (status.accessProviders)",
    ),
    (
        "Plugin configuration",
        "Plugin configuration (cluster.extensions)",
    ),
];

/// Splits a source into the sections that it cites. A section without a document is of the one before it.
pub(crate) fn cited(source: &str) -> Vec<Cited<'_>> {
    let mut document = None;
    source
        .split("; ")
        .map(|text| {
            let (path, _) = text.split_once(" (").unwrap_or((text, ""));
            let steps: Vec<&str> = path.split(" › ").collect();
            let named = DOCUMENTS.iter().find(|(name, _)| *name == steps[0]);
            document = named.map(|(_, address)| *address).or(document);
            // What has no path is no section, but the API's Go package or another text.
            let is_section = steps.len() > 1 || named.is_some();
            Cited {
                text,
                address: document.filter(|_| is_section).map(|document| {
                    let anchor = if has_sections(document) {
                        anchor(&steps)
                    } else {
                        String::new()
                    };
                    format!("{document}{anchor}")
                }),
            }
        })
        .collect()
}

/// Whether a document's sections have anchors: those of source files and pull requests have none.
fn has_sections(document: &str) -> bool {
    document.ends_with(".md") || document.ends_with('/')
}

/// The anchor of a section, as GitHub makes it from the heading.
fn anchor(steps: &[&str]) -> String {
    let last = match steps {
        // Its terms have no headings.
        [.., "Terminology", _] => "Terminology",
        [.., last] if steps.len() > 1 || *last == "Goals" => last,
        _ => return String::new(),
    };
    let heading = HEADINGS.iter().find(|(short, _)| *short == last);
    let heading = heading.map_or(last, |(_, heading)| heading);
    let slug: String = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() })
        .collect();
    format!("#{slug}")
}

#[cfg(test)]
mod tests {
    use judge::rules;

    use super::*;

    #[test]
    fn a_section_has_an_address() {
        let addresses = |source| {
            let cited = cited(source).into_iter();
            cited
                .map(|cited| cited.address.unwrap_or_default())
                .collect::<Vec<_>>()
        };
        let kep = DOCUMENTS[0].1;
        assert_eq!(
            addresses("KEP-4322 › Status › Properties › cluster-endpoints.k8s.io"),
            [format!("{kep}#cluster-endpointsk8sio")]
        );
        assert_eq!(
            addresses("KEP-4322 › Terminology › Cluster Manager; Status › Conditions"),
            [format!("{kep}#terminology"), format!("{kep}#conditions")]
        );
        assert_eq!(
            addresses(
                "KEP-4322 › Notes › Uniqueness of the ClusterProfile object; LabelClusterSetKey of the API's Go package"
            ),
            [
                format!("{kep}#uniqueness-of-the-clusterprofile-object"),
                String::new()
            ]
        );
        assert_eq!(
            addresses("KEP-4322 › Status › Conditions (and the contract of metav1.Condition)"),
            [format!("{kep}#conditions")]
        );
    }

    #[test]
    fn a_source_file_has_no_sections() {
        let cited = cited("PlacementDecision types › ClusterDecision › Reason");
        assert_eq!(cited[0].address.as_deref(), Some(DOCUMENTS[3].1));
    }

    #[test]
    fn every_rule_cites_a_document() {
        for rule in rules::all() {
            for applies in &rule.facts.editions {
                let cited = cited(&applies.source);
                assert!(cited[0].address.is_some(), "{}: {}", rule.id, applies.source);
            }
        }
    }
}
