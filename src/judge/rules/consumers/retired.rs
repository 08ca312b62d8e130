//! Secrets for a member that leaves (KEP-4322 › Push Model via Credentials in Secret).

use evidence::{DriverAction, Evidence, ObjectRef, Scenario, Secret, api::names};

use crate::rules::{
    answer::{ExecutedStep, Span, did, executed},
    finding::{Finding, Findings},
    text::redacted,
};

/// `consumers/secrets-retired`
///
/// After a member left, its consumer Secrets are deleted.
pub(in crate::rules) fn secrets_retired(evidence: &Evidence, findings: &mut Findings) {
    for left in executed(evidence, findings, Scenario::JoinAndLeave, DriverAction::Leave) {
        match left.step.secrets_before {
            None => {
                findings.cannot_tell(format!(
                    "the number of Secrets before {} could not be read",
                    did(left.step)
                ));
                continue;
            }
            Some(0) => {
                findings.not_applicable("there were no Secrets for a member that left");
                continue;
            }
            Some(_) => {}
        }
        if is_taken_again(evidence, &left) {
            findings.not_applicable("the members that left have joined again");
            continue;
        }
        let span = Span::of(evidence, left.step);
        let lingering: Vec<&Secret> = evidence
            .secrets
            .iter()
            .filter(|secret| is_for(evidence, secret, left.profile))
            .collect();
        // Secrets are listed once, at the end.
        if let Some(reason) = span.cut_short().filter(|_| !lingering.is_empty()) {
            findings.cannot_tell(reason);
            continue;
        }
        findings.examine();
        for secret in lingering {
            findings.report(
                Finding::on(secret, "a consumer Secret of a member that left still exists")
                    .at(format!("metadata.labels[{}]", names::LABEL_SECRET_PROFILE))
                    .expected(span.within("no such Secret"))
                    .observed(redacted(&left.profile.name)),
            );
        }
    }
}

/// Whether a member that joined later took over the profile of one that left.
fn is_taken_again(evidence: &Evidence, left: &ExecutedStep) -> bool {
    let drivers = evidence.driver.iter();
    let mut joins = drivers.flat_map(|driver| driver.steps_of(DriverAction::Join));
    joins.any(|join| {
        let profile = join.profile.as_ref();
        join.until > left.step.from && profile.is_some_and(|profile| profile.path() == left.profile.path())
    })
}

/// Whether a Secret is for a profile. Without a namespace in its labels, it may mean another profile of that name.
fn is_for(evidence: &Evidence, secret: &Secret, profile: &ObjectRef) -> bool {
    let label = |key: &str| secret.labels.get(key).map(String::as_str);
    let named = label(names::LABEL_SECRET_PROFILE) == Some(&profile.name);
    named
        && match label(names::LABEL_SECRET_PROFILE_NAMESPACE) {
            Some(namespace) => namespace == profile.namespace,
            None => !evidence.everyone().any(|other| {
                *other.metadata.name == *profile.name && *other.metadata.namespace != *profile.namespace
            }),
        }
}
