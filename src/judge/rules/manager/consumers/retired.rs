//! Secrets for a member that leaves (KEP-4322 › Push Model via Credentials in Secret).

use evidence::{DriverAction, Evidence, ObjectRef, Scenario, Secret, api::names};
use jiff::Timestamp;

use crate::{
    shared::answer::{Span, did, executed, has_left},
    subjects::{Finding, Findings},
    text::redacted,
    time::Known,
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
        let profile = left.profile;
        let has_left = has_left(evidence, &profile.namespace, &profile.name, Timestamp::MAX);
        if has_left == Known::No {
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
        let failed_join = || {
            (has_left != Known::Yes).then(|| {
                format!(
                    "a consumer Secret of {} is there after a `join` that failed, which may have had its effect",
                    profile.path()
                )
            })
        };
        if let Some(reason) = span
            .cut_short()
            .or_else(failed_join)
            .filter(|_| !lingering.is_empty())
        {
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
