//! ClusterProperties of the member (About API, KEP-2149) in its profile.

use std::collections::BTreeSet;

use evidence::{
    ClusterProperty, Evidence, GRACE_SECONDS, MemberPart,
    api::{
        ClusterProfile, Edition,
        names::{LABEL_HONOURED_PROPERTY, PROPERTIES_CLUSTER_ID, PROPERTY_CLUSTERSET, STANDARD_PROPERTIES},
    },
};

use crate::{
    shared::member::{Comparison, Difference, Doubts, Outcome, Pair, pairs, vouches},
    subjects::{Finding, Findings},
    text::{ABSENT, redacted, redacted_under},
};

/// Maximum length of a value in a profile, in characters; the CRD refuses longer ones.
const LONGEST_VALUE: usize = 1024;

/// `properties/honours-only-labelled`
///
/// The profile contains only those of the member's ClusterProperties that have the label.
pub(in crate::rules) fn honours_only_labelled(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no member that was asked has a ClusterProperty that only the member can know");
    // A manager may know the standard properties from elsewhere, and may define its own.
    let about = |property: &ClusterProperty, _| !is_common_knowledge(&property.name);
    let agrees =
        |said: Option<&str>, property: &ClusterProperty| property.labelled || said != Some(&*property.value);
    compare(evidence, findings, about, agrees, |profile, property, _| {
        Finding::on(profile, "a ClusterProperty without the label is in the profile")
            .at(path(&property.name))
            .expected(format!(
                "none of that name, as the member's has no label {LABEL_HONOURED_PROPERTY}=true"
            ))
            .observed(redacted_under(&property.name, &property.value))
    });
}

fn is_common_knowledge(name: &str) -> bool {
    let ours = STANDARD_PROPERTIES.iter().chain(&PROPERTIES_CLUSTER_ID);
    name == PROPERTY_CLUSTERSET || ours.into_iter().any(|known| *known == name)
}

/// `properties/cluster-properties-propagated`
///
/// The member's ClusterProperties appear in its profile.
pub(in crate::rules) fn cluster_properties_propagated(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable(NOTHING_DUE);
    let agrees = |said: Option<&str>, _: &ClusterProperty| said.is_some();
    compare(evidence, findings, is_due, agrees, |profile, property, _| {
        Finding::on(profile, "a ClusterProperty of the member is not in its profile")
            .at(path(&property.name))
            .expected(redacted_under(&property.name, &property.value))
            .observed(ABSENT)
    });
}

/// `properties/cluster-properties-verbatim`
///
/// A ClusterProperty has the same value in the profile as on the member.
pub(in crate::rules) fn cluster_properties_verbatim(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable(NOTHING_DUE);
    let agrees =
        |said: Option<&str>, property: &ClusterProperty| said.is_none_or(|said| said == property.value);
    compare(evidence, findings, is_due, agrees, |profile, property, said| {
        Finding::on(
            profile,
            "a property's value differs from the member's ClusterProperty",
        )
        .at(format!("{}.value", path(&property.name)))
        .expected(redacted_under(&property.name, &property.value))
        .observed(redacted_under(&property.name, said.unwrap_or(ABSENT)))
    });
}

const NOTHING_DUE: &str = "no member that was asked has a ClusterProperty that is for its profile";

/// Whether a ClusterProperty belongs in the profile: in edition `standard`, only with the label. Values that are too
/// long are exempt.
fn is_due(property: &ClusterProperty, edition: Edition) -> bool {
    let wanted = property.labelled || edition != Edition::Standard;
    wanted && !property.value.is_empty() && property.value.chars().count() <= LONGEST_VALUE
}

fn path(name: &str) -> String {
    redacted(&format!("status.properties[{name}]"))
}

/// Compares each ClusterProperty in `about` with the profile's property of that name.
fn compare(
    evidence: &Evidence,
    findings: &mut Findings,
    about: fn(&ClusterProperty, Edition) -> bool,
    agrees: fn(Option<&str>, &ClusterProperty) -> bool,
    finding: fn(&ClusterProfile, &ClusterProperty, Option<&str>) -> Finding,
) {
    let edition = evidence.header.claim.edition;
    let about = |property: &ClusterProperty| about(property, edition);
    let mut doubts = Doubts::default();
    for pair in pairs(evidence, findings, &mut doubts) {
        if pair.never_told(MemberPart::ClusterProperties) {
            let stands = pair.current().is_some_and(vouches);
            stands.then(|| doubts.add_missing(evidence, &pair, MemberPart::ClusterProperties));
        }
        let mut examined = false;
        for name in names(&pair, about) {
            let comparison = Comparison {
                part: MemberPart::ClusterProperties,
                grace: GRACE_SECONDS,
                vouches,
                said: &|profile| Some(profile.property(name).map(|it| &*it.value)),
                seen: &|look| {
                    let mut properties = look.cluster_properties.as_deref()?.iter();
                    Some(properties.find(|property| property.name == name))
                },
                agrees: &|said, seen, _| match seen {
                    Some(property) if about(property) => agrees(*said, property),
                    _ => true,
                },
                suits_silence: |_| false,
            };
            let outcome = comparison.of(&pair);
            comparison.doubt(evidence, &pair, &outcome, &mut doubts);
            examined |= matches!(outcome, Outcome::Agrees | Outcome::Differs(_));
            if let Outcome::Differs(Difference {
                profile,
                said,
                seen: Some(property),
                ..
            }) = outcome
            {
                findings.report(finding(profile, property, said));
            }
        }
        if examined {
            findings.examine();
        }
    }
    doubts.tell(findings);
}

/// The names of the ClusterProperties in `about`, at any time.
fn names<'a>(pair: &Pair<'a>, about: impl Fn(&ClusterProperty) -> bool) -> BTreeSet<&'a str> {
    let looks = pair.member.looks.iter();
    let properties = looks
        .filter_map(|look| look.cluster_properties.as_deref())
        .flatten();
    properties
        .filter(|property| about(property))
        .map(|property| property.name.as_str())
        .collect()
}
