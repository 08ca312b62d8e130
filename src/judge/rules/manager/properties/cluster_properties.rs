//! ClusterProperties of the member (About API, KEP-2149) in its profile.

use std::collections::BTreeSet;

use evidence::{
    ClusterProperty, Evidence, MemberPart,
    api::{
        ClusterProfile, Edition,
        names::{LABEL_HONOURED_PROPERTY, PROPERTIES_CLUSTER_ID, PROPERTY_CLUSTERSET, STANDARD_PROPERTIES},
    },
};

use crate::{
    shared::member::{Comparison, Difference, Doubts, Outcome, Pair, pairs, vouches},
    subjects::{Finding, Findings},
    text::{ABSENT, redacted, redacted_under},
    time::GRACE_SECONDS,
};

/// Maximum length of a value in a profile, in characters; the CRD refuses longer ones.
const LONGEST_VALUE: usize = 1024;

/// `properties/honours-only-labelled`
///
/// The profile contains only those of the member's ClusterProperties that have the label.
///
/// A property with the name and value of one without the label may be the manager's own information. If it follows a change
/// of the member's, the manager honours it.
pub(in crate::rules) fn honours_only_labelled(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no member that was asked has a ClusterProperty of its own");
    // A manager may know the standard properties from elsewhere, and may define its own.
    let about = |property: &ClusterProperty, _| !is_common_knowledge(&property.name);
    let agrees =
        |said: Option<&str>, property: &ClusterProperty| property.labelled || said != Some(&*property.value);
    compare(evidence, findings, about, agrees, |pair, difference| {
        let property = difference.seen;
        let message = "the profile has a ClusterProperty that lacks the label";
        let finding = on(difference, message)
            .at(path(&property.name))
            .expected(format!(
                "no property of that name, as the member's has no label {LABEL_HONOURED_PROPERTY}=true"
            ))
            .observed(format!(
                "{}, as on the member, {}",
                redacted_under(&property.name, &property.value),
                difference.lasting
            ));
        if follows_changes(pair, &property.name) {
            finding
        } else {
            finding.advisory()
        }
    });
}

/// Whether the profile followed a change of a ClusterProperty without the label: both had one value, then the member alone
/// had another, and then both had that one.
fn follows_changes(pair: &Pair, name: &str) -> bool {
    let mut shared: Option<&str> = None;
    let mut ahead: Option<&str> = None;
    for look in &pair.member.looks {
        let mut properties = look.cluster_properties.as_deref().unwrap_or_default().iter();
        let Some(seen) = properties.find(|property| property.name == name && !property.labelled) else {
            continue;
        };
        let seen = seen.value.as_str();
        let versions = pair.versions_at(look).unwrap_or_default();
        let mut said = versions
            .iter()
            .map(|profile| Some(&*profile.property(name)?.value));
        let Some(Some(value)) = said.next().filter(|value| said.all(|other| other == *value)) else {
            continue;
        };
        if value != seen {
            ahead = Some(seen).filter(|_| shared == Some(value));
        } else if ahead == Some(seen) {
            return true;
        } else {
            (shared, ahead) = (Some(seen), None);
        }
    }
    false
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
    compare(evidence, findings, is_due, agrees, |_, difference| {
        let property = difference.seen;
        on(difference, "the profile lacks a ClusterProperty of the member")
            .at(path(&property.name))
            .expected(redacted_under(&property.name, &property.value))
            .observed(format!("{ABSENT}, {}", difference.lasting))
    });
}

/// `properties/cluster-properties-verbatim`
///
/// A ClusterProperty has the same value in the profile as on the member.
pub(in crate::rules) fn cluster_properties_verbatim(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable(NOTHING_DUE);
    let agrees =
        |said: Option<&str>, property: &ClusterProperty| said.is_none_or(|said| said == property.value);
    compare(evidence, findings, is_due, agrees, |_, difference| {
        let property = difference.seen;
        let said = redacted_under(&property.name, difference.said.unwrap_or(ABSENT));
        on(
            difference,
            "a property's value differs from the member's ClusterProperty",
        )
        .at(format!("{}.value", path(&property.name)))
        .expected(redacted_under(&property.name, &property.value))
        .observed(format!("{said}, {}", difference.lasting))
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

/// A profile that differs from a ClusterProperty of its member.
struct Mismatch<'a> {
    profile: &'a ClusterProfile,
    said: Option<&'a str>,
    seen: &'a ClusterProperty,
    /// For how long, since when.
    lasting: String,
}

fn on(mismatch: &Mismatch, message: &str) -> Finding {
    Finding::on(mismatch.profile, message)
}

/// Compares each ClusterProperty in `about` with the profile's property of that name.
fn compare(
    evidence: &Evidence,
    findings: &mut Findings,
    about: fn(&ClusterProperty, Edition) -> bool,
    agrees: fn(Option<&str>, &ClusterProperty) -> bool,
    finding: fn(&Pair, &Mismatch) -> Finding,
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
            if let Outcome::Differs(difference) = outcome
                && let Some(seen) = difference.seen
            {
                let lasting = difference.lasting();
                let Difference { profile, said, .. } = difference;
                let mismatch = Mismatch {
                    profile,
                    said,
                    seen,
                    lasting,
                };
                findings.report(finding(&pair, &mismatch));
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
