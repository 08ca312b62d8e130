//! The Secrets of a member that left.

use evidence::{ObjectRef, Secret, StepOutcome, api::names};

use crate::{
    engine::{Answer, Hub, Step, cut_short, describe, within},
    subjects::Finding,
    text::redacted,
};

/// `consumers/secrets-retired`
///
/// After a member left and did not join again, no Secret names its profile. Secrets are read once, at the end of the run.
pub(in crate::rules) fn secrets_retired(step: &Step) -> Answer {
    match step.taken.secrets_before {
        Some(0) => return Answer::NotApplicable,
        Some(_) => {}
        None => {
            let reason = format!(
                "the number of Secrets before {} could not be read",
                describe(step.taken)
            );
            return Answer::Unknown(reason.into());
        }
    }
    let secrets = step.hub.evidence.secrets.iter();
    let left: Vec<&Secret> = secrets
        .filter(|secret| is_for(step.hub, secret, step.profile))
        .collect();
    if left.is_empty() {
        return Answer::Kept;
    }
    if let Some(reason) = cut_short(step.hub.evidence, step.taken) {
        return Answer::Unknown(reason);
    }
    match step.joins_again().map(|join| &join.outcome) {
        None => {}
        Some(StepOutcome::Done) => return Answer::NotApplicable,
        Some(StepOutcome::Failed { .. }) => {
            let profile = step.profile.path();
            let reason = format!("a consumer Secret of {profile} is there after a `join` that failed");
            return Answer::Unknown(reason.into());
        }
    }
    Answer::all(left.into_iter().map(|secret| {
        Finding::on(secret, "a consumer Secret of a member that left still exists")
            .at(format!("metadata.labels[{}]", names::LABEL_SECRET_PROFILE))
            .expected(within(step.taken, "no such Secret"))
            .observed(redacted(&step.profile.name))
    }))
}

/// Whether a Secret is for a profile. Without a namespace in its labels, it may be for another profile of that name.
fn is_for(hub: &Hub, secret: &Secret, profile: &ObjectRef) -> bool {
    let label = |key: &str| secret.labels.get(key).map(String::as_str);
    let is_another = |namespace: &str, name: &str| name == profile.name && namespace != profile.namespace;
    label(names::LABEL_SECRET_PROFILE) == Some(&profile.name)
        && match label(names::LABEL_SECRET_PROFILE_NAMESPACE) {
            Some(namespace) => namespace == profile.namespace,
            None => !hub
                .evidence
                .everyone()
                .any(|other| is_another(&other.metadata.namespace, &other.metadata.name)),
        }
}
