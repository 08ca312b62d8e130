//! Properties that summarize the member's content.

use std::collections::BTreeSet;

use evidence::{
    Evidence, MemberPart,
    api::names::{PROPERTY_NODE_COUNT, PROPERTY_RESOURCE_GROUPS},
};

use crate::{
    shared::member::{Comparison, Difference, vouches},
    subjects::{Finding, Findings},
    text::redacted,
};

/// How long a count may lag behind, in seconds: dynamic data take a while to be observed and written.
const GRACE_SECONDS: i64 = 300;

/// `properties/node-count-matches-member`
///
/// The node count is within the declared tolerance of the member's nodes.
pub(in crate::rules) fn node_count_matches_member(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no profile of a member that was asked has a node count");
    let tolerance = evidence.header.claim.node_tolerance;
    let comparison = Comparison {
        part: MemberPart::Nodes,
        grace: GRACE_SECONDS,
        vouches,
        said: &|profile| {
            profile
                .property(PROPERTY_NODE_COUNT)?
                .value
                .trim()
                .parse::<u64>()
                .ok()
        },
        seen: &|look| look.nodes,
        // Between two counts a member had every count between them.
        agrees: &|said, seen, before| {
            let before = before.unwrap_or(seen);
            let least = *seen.min(before);
            let most = *seen.max(before);
            (least.saturating_sub(tolerance)..=most.saturating_add(tolerance)).contains(said)
        },
        suits_silence: |_| false,
    };
    comparison.each(evidence, findings, |difference| {
        let Difference {
            profile, said, seen, ..
        } = difference;
        let expected = match tolerance {
            0 => seen.to_string(),
            tolerance => format!("{seen}, give or take {tolerance}"),
        };
        Finding::on(*profile, "the node count differs from the member's")
            .at(format!("status.properties[{PROPERTY_NODE_COUNT}].value"))
            .expected(expected)
            .observed(format!("{said}, {}", difference.lasting()))
    });
}

/// `properties/custom-resource-groups-match-member`
///
/// The custom resource groups are those of the member's CRDs.
pub(in crate::rules) fn custom_resource_groups_match_member(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no profile of a member that was asked has custom resource groups");
    let comparison = Comparison {
        part: MemberPart::CustomResourceGroups,
        grace: GRACE_SECONDS,
        vouches,
        said: &|profile| {
            let property = profile.property(PROPERTY_RESOURCE_GROUPS)?;
            serde_json::from_str::<BTreeSet<String>>(&property.value).ok()
        },
        seen: &|look| look.custom_resource_groups.as_deref(),
        agrees: &|said, seen, before| {
            let before = before.unwrap_or(seen);
            let always = seen.intersection(before);
            let ever = |group: &String| seen.contains(group) || before.contains(group);
            always.into_iter().all(|group| said.contains(group)) && said.iter().all(ever)
        },
        suits_silence: |_| false,
    };
    comparison.each(evidence, findings, |difference| {
        let Difference {
            profile, said, seen, ..
        } = difference;
        let listed = |groups: Vec<&String>| {
            let names: Vec<&str> = groups.into_iter().map(String::as_str).collect();
            redacted(&names.join(", "))
        };
        let lacking = listed(seen.difference(said).collect());
        let foreign = listed(said.difference(seen).collect());
        let observed = match (lacking.as_str(), foreign.as_str()) {
            (lacking, "") => format!("without {lacking}"),
            ("", foreign) => format!("with {foreign}, which the member lacks"),
            (lacking, foreign) => format!("without {lacking}; with {foreign}, which the member lacks"),
        };
        Finding::on(*profile, "the custom resource groups differ from the member's")
            .at(format!("status.properties[{PROPERTY_RESOURCE_GROUPS}].value"))
            .expected("the API groups of the member's custom resource definitions")
            .observed(format!("{observed}, {}", difference.lasting()))
    });
}
