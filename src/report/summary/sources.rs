//! Links a rule's source to the documents that it cites, each at the commit whose text the edition judges by.

use evidence::api::{Edition, Role};

/// A part of a source, for example `KEP-4322 › Spec › Cluster Manager`, with its address if it cites a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cited<'a> {
    pub(crate) text: &'a str,
    pub(crate) address: Option<String>,
}

/// The texts as `fixtures/documents` maps them, oldest first: how rules cite the document; the first edition that judges by
/// the text, until the next text of the document; and the place on GitHub. A commit does not move, so readers see the
/// words that the rule was made from. `standard` of KEP-4322 is the proposal with the list of standard properties
/// (kubernetes/enhancements#5185). The overview is the text of 2026-02; that of 2026-09 is at no known commit, nor are the
/// newest types of PlacementDecision at one of the API's own repository.
const TEXTS: &str = "\
KEP-4322 | standard | kubernetes/enhancements/blob/5390b8a1fedf82848d9855a8674328bd0d90b5ea/keps/sig-multicluster/4322-cluster-inventory/README.md
KEP-4322 | 2026-07 | kubernetes/enhancements/blob/e49686b23533dfdb665732b1531de87e14d7439b/keps/sig-multicluster/4322-cluster-inventory/README.md
KEP-4322 | 2026-09 | kubernetes/enhancements/blob/3a8eb26221673ab93d3b55c1a91f55799c24eb56/keps/sig-multicluster/4322-cluster-inventory/README.md
KEP-5339 | standard | kubernetes/enhancements/blob/cecc1c2b400d6f38de7637fbe8fbce99417386c6/keps/sig-multicluster/5339-clusterprofile-plugin-credentials/README.md
KEP-2149 | standard | kubernetes/enhancements/blob/a6dd9a27028946cc2d32c22b4e53d5887f18bc71/keps/sig-multicluster/2149-clusterid/README.md
Overview | standard | kubernetes-sigs/sig-multicluster-site/blob/d50f0c5ba9764e9c71672a759755f8562b5ce8e5/site-src/concepts/cluster-profile-api.md
ClusterProfile API Overview | standard | kubernetes-sigs/sig-multicluster-site/blob/d50f0c5ba9764e9c71672a759755f8562b5ce8e5/site-src/concepts/cluster-profile-api.md
Guide | 2026-07 | kubernetes-sigs/cluster-inventory-api/blob/1c6c922589205ac6c076ebc8c4e2c2418fdca5a2/docs/cluster-inventory-api/guide-cluster-manager-implementers.md
API versions | 2026-09 | kubernetes-sigs/cluster-inventory-api/blob/5d1c871ffebd1a75236917738025b8562161260c/docs/api-versions.md
API versions | placement-2026-09 | kubernetes-sigs/cluster-inventory-api/blob/5d1c871ffebd1a75236917738025b8562161260c/docs/api-versions.md
the API's Go package | standard | kubernetes-sigs/cluster-inventory-api/blob/cc4723f2f3cbd63e068544313c97785d57fe9684/apis/v1alpha1/clusterprofile_types.go
the API's Go package | 2026-09 | kubernetes-sigs/cluster-inventory-api/blob/2c9add11d437cd535d559a6d636800f4aa69a1cc/apis/v1alpha2/clusterprofile_types.go
KEP-5313 | placement-2025-09 | kubernetes/enhancements/blob/a6d15526d6383230e2d17cd4af9f7e783b581cbb/keps/sig-multicluster/5313-placement-decision-api/README.md
PlacementDecision types | placement-2025-09 | kubernetes-sigs/cluster-inventory-api/blob/98b5221e5c50872f52baca4666420418ddcfebbd/apis/v1alpha1/placementdecision_types.go
PlacementDecision types | placement-2026-09 | kahirokunn/ocm/blob/fff35d2811ceab6645907893579afe3b2736c108/vendor/sigs.k8s.io/cluster-inventory-api/apis/v1alpha2/placementdecision_types.go
PlacementDecision adoption guide | placement-2025-09 | kubernetes-sigs/cluster-inventory-api/blob/24a30485562ff3a332bd89212d4d60d2371a868c/docs/placementdecision-adoption-guide.md
";

/// How rules cite the Go types: behind the name of a type, as in `Property of the API's Go package`.
const GO_PACKAGE: &str = "the API's Go package";

/// Sections that rules cite by a shorter name than their heading, and the edition until which that is so, if any.
const HEADINGS: &str = "\
Organizing ClusterProfile objects on a hub | How should we organize ClusterProfile objects on a hub cluster?
Push Model via Credentials in Secret | Push Model via Credentials in Secret (Not Recommended) | standard
Examples 1 and 2 | Example 1
Relationship to other SIG-Multicluster APIs | Relationship to other SIG-Multicluster (SIG-MC) APIs
accessProviders | Access to member clusters (status.accessProviders)
Plugin configuration | Plugin configuration (cluster.extensions)
";

/// Splits a source into the sections that it cites. A section without a document is of the one before it.
pub(crate) fn cited(source: &str, edition: Edition) -> Vec<Cited<'_>> {
    let documents = edition.documents();
    let mut document = None;
    source
        .split("; ")
        .map(|text| {
            let (path, _) = text.split_once(" (").unwrap_or((text, ""));
            if path.ends_with(GO_PACKAGE) {
                let address = address_of(GO_PACKAGE, edition);
                return Cited { text, address };
            }
            let steps: Vec<&str> = path.split(" › ").collect();
            let section_document = address_of(steps[0], edition);
            // Without a path, it is another text, not a section.
            let is_section = steps.len() > 1 || section_document.is_some() || steps[0] == "Goals";
            document = section_document.or(document.take());
            let address = document.as_ref().filter(|_| is_section).map(|document| {
                // Source files have no sections to lead to.
                let anchor = if document.ends_with(".md") {
                    anchor(&steps, documents)
                } else {
                    String::new()
                };
                format!("{document}{anchor}")
            });
            Cited { text, address }
        })
        .collect()
}

/// The text of a document that an edition judges by: the newest one until then.
fn address_of(document: &str, edition: Edition) -> Option<String> {
    let of = |edition: Edition| {
        let of_edition = |line: &'static str| {
            let (since, place) = line
                .strip_prefix(document)?
                .strip_prefix(" | ")?
                .split_once(" | ")?;
            let since: Edition = since.parse().ok()?;
            (since <= edition && since.role() == edition.role()).then_some(place)
        };
        let place = TEXTS.lines().rev().find_map(of_edition)?;
        Some(format!("https://github.com/{place}"))
    };
    // Consumers may read decisions, too.
    let of_decisions = || of(Role::Scheduler.default_edition()).filter(|_| edition.role() == Role::Consumer);
    of(edition.documents()).or_else(of_decisions)
}

/// The anchor of a section, as GitHub makes it from the heading.
fn anchor(steps: &[&str], edition: Edition) -> String {
    let last = match steps {
        // Its terms have no headings.
        [.., "Terminology", _] => "Terminology",
        [.., last] if steps.len() > 1 || *last == "Goals" => last,
        _ => return String::new(),
    };
    let heading = HEADINGS.lines().find_map(|line| {
        let (short, heading) = line.split_once(" | ")?;
        let (heading, until) = heading.split_once(" | ").unwrap_or((heading, ""));
        let is_own = until.parse().is_ok_and(|until: Edition| edition <= until) || until.is_empty();
        (short == last && is_own).then_some(heading)
    });
    let heading = heading.unwrap_or(last);
    let slug: String = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() })
        .collect();
    format!("#{slug}")
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use judge::rules;
    use serde::Deserialize;

    use super::*;

    fn addresses(source: &str, edition: Edition) -> Vec<String> {
        let cited = cited(source, edition).into_iter();
        cited.map(|cited| cited.address.unwrap_or_default()).collect()
    }

    #[test]
    fn section_has_an_address() {
        let text = |document, edition| address_of(document, edition).expect("a text");
        let push = "KEP-4322 › Cluster Access › Push Model via Credentials in Secret";
        let properties = "KEP-4322 › Status › Properties › cluster-endpoints.k8s.io";
        let three = "KEP-4322 › Terminology › Cluster Manager; Status › Conditions; Goals";
        let contract = "KEP-4322 › Status › Conditions (and the contract of metav1.Condition)";
        let types = "PlacementDecision types";
        let decisions = "PlacementDecision types › ClusterDecision › Reason";
        let notes = "KEP-4322 › Notes › Uniqueness of the ClusterProfile object; LabelClusterSetKey of the API's Go package";
        let not_recommended = "#push-model-via-credentials-in-secret-not-recommended";
        let [standard, july] = [Edition::Standard, Edition::Y2026M07];
        for (source, edition, document, anchors) in [
            (properties, standard, "KEP-4322", &["#cluster-endpointsk8sio"][..]),
            (
                three,
                standard,
                "KEP-4322",
                &["#terminology", "#conditions", "#goals"],
            ),
            (contract, standard, "KEP-4322", &["#conditions"]),
            // An edition has its own headings.
            (push, standard, "KEP-4322", &[not_recommended]),
            (push, july, "KEP-4322", &["#push-model-via-credentials-in-secret"]),
            // A source file has no sections.
            (decisions, Edition::Placement2025M09, types, &[""]),
        ] {
            let text = text(document, edition);
            let expected: Vec<String> = anchors.iter().map(|anchor| format!("{text}{anchor}")).collect();
            assert_eq!(addresses(source, edition), expected, "{source}");
        }
        let go_package = addresses(notes, Edition::Standard).pop();
        assert_eq!(go_package, Some(text(GO_PACKAGE, Edition::Standard)));
        let kep = [Edition::Standard, Edition::Y2026M07, Edition::Y2026M09].map(|one| text("KEP-4322", one));
        assert!(kep[0] != kep[1] && kep[1] != kep[2], "{kep:?}");
    }

    #[test]
    fn every_rule_cites_a_document_at_a_commit() {
        for rule in rules::all() {
            for applies in &rule.facts.editions {
                let cited = cited(&applies.source, applies.edition);
                assert!(cited[0].address.is_some(), "{}: {}", rule.id, applies.source);
                for address in cited.iter().filter_map(|cited| cited.address.as_ref()) {
                    let commit = commit(address);
                    let is_hash = commit.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
                    assert!(commit.len() == 40 && is_hash, "{}: {address}", rule.id);
                }
            }
        }
    }

    /// The commit in an address.
    fn commit(address: &str) -> &str {
        let (_, rest) = address.split_once("/blob/").expect("an address on GitHub");
        rest.split_once('/').map_or(rest, |(commit, _)| commit)
    }

    /// A file of `fixtures/documents`, its names and its texts.
    #[derive(Deserialize)]
    struct Map {
        cited: Vec<String>,
        texts: Vec<Mapped>,
    }

    #[derive(Deserialize)]
    struct Mapped {
        from: String,
        editions: Vec<Edition>,
    }

    #[test]
    fn addresses_are_of_the_mapped_texts() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/documents");
        for file in fs::read_dir(folder).expect("the maps") {
            let text = fs::read_to_string(file.expect("a file").path()).expect("a map");
            let map: Map = serde_saphyr::from_str(&text).expect("a map");
            for document in &map.cited {
                let editions: Vec<Edition> =
                    map.texts.iter().flat_map(|text| text.editions.clone()).collect();
                for edition in editions {
                    let address =
                        address_of(document, edition).unwrap_or_else(|| panic!("{document}, {edition}"));
                    let texts = map.texts.iter();
                    let commits: Vec<&str> = texts
                        .filter(|text| text.editions.contains(&edition))
                        .filter_map(|text| text.from.split_once("commit ")?.1.split([' ', ',', ':']).next())
                        .filter(|commit| commit.chars().all(|c| c.is_ascii_hexdigit()))
                        .collect();
                    assert!(
                        commits.is_empty() || commits.iter().any(|known| commit(&address).starts_with(known)),
                        "{document}, {edition}: {address} is none of {commits:?}"
                    );
                }
            }
        }
    }
}
