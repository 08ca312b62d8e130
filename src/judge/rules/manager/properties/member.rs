//! Properties that summarize the member's content.

use std::collections::BTreeSet;

use evidence::{
    MemberPart,
    api::{
        ClusterProfile,
        names::{PROPERTY_NODE_COUNT, PROPERTY_RESOURCE_GROUPS},
    },
};

use crate::{
    engine::{Answer, Hub, Sample},
    subjects::Finding,
    text::redacted,
};

/// `properties/node-count-matches-member`
///
/// The node count is within the declared tolerance of the member's nodes.
pub(in crate::rules) fn node_count_matches_member(
    profile: &ClusterProfile,
    sample: &Sample,
    hub: &Hub,
) -> Answer {
    let property = profile.property(PROPERTY_NODE_COUNT);
    let Some(reported) = property.and_then(|property| property.value.trim().parse::<u64>().ok()) else {
        return Answer::NotApplicable;
    };
    let Some(actual) = sample.answers.nodes else {
        return sample.lacks(MemberPart::Nodes);
    };
    let tolerance = hub.claim().node_tolerance;
    Answer::broken_if(reported.abs_diff(actual) > tolerance, || {
        let expected = match tolerance {
            0 => actual.to_string(),
            _ => format!("{actual}, give or take {tolerance}"),
        };
        let path = format!("status.properties[{PROPERTY_NODE_COUNT}].value");
        Finding::at_path(path, "the node count differs from the member's")
            .expected(expected)
            .observed(reported.to_string())
    })
}

/// `properties/custom-resource-groups-match-member`
///
/// The custom resource groups are those of the member's CRDs.
pub(in crate::rules) fn custom_resource_groups_match_member(
    profile: &ClusterProfile,
    sample: &Sample,
    _: &Hub,
) -> Answer {
    let property = profile.property(PROPERTY_RESOURCE_GROUPS);
    let reported =
        property.and_then(|property| serde_json::from_str::<BTreeSet<String>>(&property.value).ok());
    let Some(reported) = reported else {
        return Answer::NotApplicable;
    };
    let Some(actual) = sample.answers.custom_resource_groups.as_deref() else {
        return sample.lacks(MemberPart::CustomResourceGroups);
    };
    Answer::broken_if(reported != *actual, || {
        let path = format!("status.properties[{PROPERTY_RESOURCE_GROUPS}].value");
        Finding::at_path(path, "the custom resource groups differ from the member's")
            .expected("the API groups of the member's custom resource definitions")
            .observed(differences(&reported, actual))
    })
}

/// Which groups a profile lacks, and which ones its member lacks.
fn differences(reported: &BTreeSet<String>, actual: &BTreeSet<String>) -> String {
    let missing = join(actual.difference(reported));
    let surplus = join(reported.difference(actual));
    match (missing.as_str(), surplus.as_str()) {
        (missing, "") => format!("without {missing}"),
        ("", surplus) => format!("with {surplus}, which the member lacks"),
        (missing, surplus) => format!("without {missing}; with {surplus}, which the member lacks"),
    }
}

fn join<'a>(groups: impl Iterator<Item = &'a String>) -> String {
    let groups: Vec<&str> = groups.map(String::as_str).collect();
    redacted(&groups.join(", "))
}
