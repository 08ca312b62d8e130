//! ClusterProperties of the member (About API, KEP-2149) in its profile.

use evidence::{
    ClusterProperty,
    api::{
        ClusterProfile, Edition, Role,
        names::{
            LABEL_HONOURED_PROPERTY, PLANTED_DOMAIN, PROPERTIES_CLUSTER_ID, PROPERTY_CLUSTERSET,
            STANDARD_PROPERTIES,
        },
    },
};

use crate::{
    engine::{Answer, Hub, Sample},
    subjects::Finding,
    text::{ABSENT, redacted, redacted_under},
};

/// Maximum length of a value in a profile, in characters; the CRD refuses longer ones.
const LONGEST_VALUE: usize = 1024;

/// `properties/honours-only-labelled`
///
/// The profile contains only those of the member's ClusterProperties that have the label.
pub(in crate::rules) fn honours_only_labelled(profile: &ClusterProfile, sample: &Sample, _: &Hub) -> Answer {
    sample.each_cluster_property(|own| {
        if is_common_knowledge(&own.name) {
            return Answer::NotApplicable;
        }
        if own.labelled || value(profile, own) != Some(&own.value) {
            return Answer::Kept;
        }
        let value = redacted_under(&own.name, &own.value);
        let finding = Finding::at_path(
            path(own),
            "the profile has a ClusterProperty that lacks the label",
        )
        .expected(format!(
            "no property of that name, as the member's has no label {LABEL_HONOURED_PROPERTY}=true"
        ))
        .observed(format!("{value}, as on the member"));
        // A manager may have a property of that name and value by itself, unless the suite planted it on the member.
        if own.name.ends_with(PLANTED_DOMAIN) {
            Answer::broken(finding)
        } else {
            Answer::warning(finding)
        }
    })
}

/// Whether a manager may know a property from elsewhere.
fn is_common_knowledge(name: &str) -> bool {
    let mut standard = STANDARD_PROPERTIES.iter().chain(&PROPERTIES_CLUSTER_ID);
    name == PROPERTY_CLUSTERSET || standard.any(|known| *known == name)
}

/// `properties/cluster-properties-propagated`
///
/// The member's ClusterProperties appear in its profile.
pub(in crate::rules) fn cluster_properties_propagated(
    profile: &ClusterProfile,
    sample: &Sample,
    hub: &Hub,
) -> Answer {
    let edition = hub.edition(Role::Manager);
    sample.each_cluster_property(|own| {
        if !is_due(own, edition) {
            return Answer::NotApplicable;
        }
        Answer::broken_if(value(profile, own).is_none(), || {
            Finding::at_path(path(own), "the profile lacks a ClusterProperty of the member")
                .expected(redacted_under(&own.name, &own.value))
                .observed(ABSENT)
        })
    })
}

/// `properties/cluster-properties-verbatim`
///
/// A ClusterProperty has the same value in the profile as on the member.
pub(in crate::rules) fn cluster_properties_verbatim(
    profile: &ClusterProfile,
    sample: &Sample,
    hub: &Hub,
) -> Answer {
    let edition = hub.edition(Role::Manager);
    sample.each_cluster_property(|own| match value(profile, own) {
        _ if !is_due(own, edition) => Answer::NotApplicable,
        Some(reported) if *reported != *own.value => Answer::broken(
            Finding::at_path(
                format!("{}.value", path(own)),
                "a property's value differs from the member's ClusterProperty",
            )
            .expected(redacted_under(&own.name, &own.value))
            .observed(redacted_under(&own.name, reported)),
        ),
        _ => Answer::Kept,
    })
}

/// Whether a ClusterProperty belongs in the profile: in edition `standard`, only with the label. Values that are too
/// long are exempt.
fn is_due(own: &ClusterProperty, edition: Edition) -> bool {
    let wanted = own.labelled || edition != Edition::Standard;
    wanted && !own.value.is_empty() && own.value.chars().count() <= LONGEST_VALUE
}

/// The value of the profile's property with the name of a ClusterProperty.
fn value<'p>(profile: &'p ClusterProfile, own: &ClusterProperty) -> Option<&'p str> {
    profile.property(&own.name).map(|property| &*property.value)
}

fn path(own: &ClusterProperty) -> String {
    redacted(&format!("status.properties[{}]", own.name))
}
