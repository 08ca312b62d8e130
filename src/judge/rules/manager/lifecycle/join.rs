//! Profiles of members that join.

use evidence::{
    DriverAction, DriverStep, Evidence, ObjectRef, Scenario,
    api::{ClusterProfile, Edition, names},
};

use crate::{
    shared::{
        answer::{Shortfall, Span, alive, executed, joined_profile, steps},
        same_cluster::{Relation, by_everything},
    },
    subjects::{Finding, Findings, has_status, sets::ClusterSets},
    text::{ABSENT, redacted},
};

/// `lifecycle/join-creates-profile`
///
/// A member that joins gets a profile in time. A second one is a warning: the documents recommend one.
pub(in crate::rules) fn join_creates_profile(evidence: &Evidence, findings: &mut Findings) {
    for step in steps(evidence, findings, Scenario::JoinAndLeave, DriverAction::Join) {
        if let Some(profile) = joined_profile(evidence, findings, step) {
            judge_twins(evidence, findings, step, profile);
        }
    }
}

/// Judges whether a member got only one profile in its namespace, by the identities that profiles show. A manager may
/// publish one member in several namespaces.
fn judge_twins(evidence: &Evidence, findings: &mut Findings, step: &DriverStep, profile: &ObjectRef) {
    let span = Span::of(evidence, step);
    let mut histories = evidence.histories_named(&profile.namespace, &profile.name);
    let Some(own) = histories.find_map(|history| alive(history, span.looked)) else {
        return;
    };
    let sets = ClusterSets::of(evidence);
    let twins = span
        .newborns()
        .filter_map(|history| alive(history, span.looked))
        .filter(|other| other.metadata.name != own.metadata.name && is_twin(&sets, own, other));
    // In what was missed, a second one may have come, or one of two may have gone.
    if let Some(doubt) = span.missed(None) {
        return findings.cannot_tell(doubt);
    }
    for twin in twins {
        findings.report(
            Finding::on(twin, "a member that joined has two profiles in one namespace")
                .at("metadata.name")
                .expected(format!("one profile of {}", redacted(&step.member)))
                .observed(format!(
                    "{}, beside {}",
                    redacted(&twin.metadata.name),
                    profile.path()
                ))
                .advisory(),
        );
    }
}

fn is_twin<'a>(sets: &ClusterSets<'a>, own: &'a ClusterProfile, other: &'a ClusterProfile) -> bool {
    let name = |profile: &'a ClusterProfile| {
        let name = profile.spec.display_name.as_deref();
        name.filter(|name| !name.is_empty())
    };
    own.metadata.namespace == other.metadata.namespace
        && own.manager() == other.manager()
        && match by_everything(sets, own, other) {
            Relation::Same => true,
            Relation::Different => false,
            Relation::Unknown => name(own).is_some() && name(own) == name(other),
        }
}

/// `lifecycle/join-fills-status`
///
/// The profile of a member that joins gets its status filled in time.
pub(in crate::rules) fn join_fills_status(evidence: &Evidence, findings: &mut Findings) {
    let edition = evidence.header.claim.edition;
    for joined in executed(evidence, findings, Scenario::JoinAndLeave, DriverAction::Join) {
        joined.judge(
            evidence,
            findings,
            |profile| profile.is_some_and(|profile| lacking(profile, edition).is_empty()),
            |profile| {
                let lacks = profile.map_or_else(Vec::new, |profile| lacking(profile, edition));
                let told: Vec<String> = lacks
                    .iter()
                    .map(|(path, seen)| format!("{path} {seen}"))
                    .collect();
                Shortfall {
                    message: "the status of a member that joined is incomplete",
                    path: lacks
                        .into_iter()
                        .next()
                        .map_or("status".to_owned(), |(path, _)| path),
                    expected: expected(edition).to_owned(),
                    observed: if told.is_empty() {
                        "no profile".to_owned()
                    } else {
                        told.join(", ")
                    },
                }
            },
        );
    }
}

fn expected(edition: Edition) -> &'static str {
    match edition {
        Edition::Standard => "version, ControlPlaneHealthy, endpoints, and Joined True",
        _ => "version, ControlPlaneHealthy, and Joined True",
    }
}

/// The fields that a joined member's profile lacks, with the observed values.
fn lacking(profile: &ClusterProfile, edition: Edition) -> Vec<(String, String)> {
    let mut lacking = Vec::new();
    let mut lack = |path: String, seen: &str| lacking.push((path, redacted(seen)));
    let version = profile.status.version.kubernetes.as_deref();
    if version.unwrap_or_default().is_empty() {
        lack("status.version.kubernetes".to_owned(), ABSENT);
    }
    if !has_status(profile, names::CONDITION_JOINED, "True") {
        let status = profile
            .condition(names::CONDITION_JOINED)
            .map(|condition| &*condition.status);
        lack(
            format!("status.conditions[{}].status", names::CONDITION_JOINED),
            status.unwrap_or(ABSENT),
        );
    }
    if profile.condition(names::CONDITION_HEALTHY).is_none() {
        lack(format!("status.conditions[{}]", names::CONDITION_HEALTHY), ABSENT);
    }
    let endpoints = profile.property(names::PROPERTY_ENDPOINTS);
    if edition == Edition::Standard && endpoints.is_none_or(|property| property.value.is_empty()) {
        lack(
            format!("status.properties[{}]", names::PROPERTY_ENDPOINTS),
            ABSENT,
        );
    }
    lacking
}
