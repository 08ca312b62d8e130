//! The judged Secrets and their profiles.

use std::collections::HashMap;

use evidence::{
    Evidence, Namespace, ProfileHistory, Secret,
    api::{Feature, names},
};

use crate::subjects::Findings;

/// A judged Secret, and the profiles that it may be for.
pub(super) struct Subject<'a> {
    /// The Secret.
    pub(super) secret: &'a Secret,
    /// The profiles that its labels name, deleted ones included. Without a namespace in the labels there may be
    /// several.
    pub(super) profiles: Vec<&'a ProfileHistory>,
}

impl<'a> Subject<'a> {
    /// The name in the Secret's label.
    pub(super) fn name(&self) -> &'a str {
        label(self.secret, names::LABEL_SECRET_PROFILE).unwrap_or_default()
    }

    /// The namespace in the Secret's label, if any.
    pub(super) fn namespace(&self) -> Option<&'a str> {
        label(self.secret, names::LABEL_SECRET_PROFILE_NAMESPACE)
    }
}

fn label<'a>(secret: &'a Secret, key: &str) -> Option<&'a str> {
    secret.labels.get(key).map(String::as_str)
}

/// The judged Secrets. Leaves out those that are, or may be, for profiles outside the scope or touched by the run
/// itself.
pub(super) fn subjects(evidence: &Evidence) -> Vec<Subject<'_>> {
    if evidence.secrets.is_empty() {
        return Vec::new();
    }
    let mut by_name: HashMap<&str, Vec<&ProfileHistory>> = HashMap::new();
    for history in &evidence.profiles {
        by_name
            .entry(&history.last().metadata.name)
            .or_default()
            .push(history);
    }
    let mut subjects = Vec::new();
    for secret in &evidence.secrets {
        let mut subject = Subject {
            secret,
            profiles: Vec::new(),
        };
        subject.profiles = by_name.get(subject.name()).cloned().unwrap_or_default();
        if let Some(namespace) = subject.namespace() {
            subject
                .profiles
                .retain(|history| &*history.last().metadata.namespace == namespace);
        }
        if is_judged(evidence, &subject) {
            subjects.push(subject);
        }
    }
    subjects
}

fn is_judged(evidence: &Evidence, subject: &Subject) -> bool {
    let scope = &evidence.header.scope;
    if !subject.profiles.is_empty() {
        return subject.profiles.iter().all(|history| {
            let metadata = &history.last().metadata;
            let mut versions = history.versions.iter();
            versions.any(|version| scope.holds(&version.object))
                && !evidence.is_touched(&metadata.namespace, &metadata.name)
        });
    }
    // The profile is unknown, so the Secret is judged only if every profile is.
    let namespace = subject.namespace();
    scope.cluster_manager.is_none()
        && (scope.namespaces.is_empty()
            || namespace.is_some_and(|namespace| scope.namespaces.iter().any(|name| name == namespace)))
}

/// Whether all profiles of the hub are judged.
pub(super) fn is_everything_judged(evidence: &Evidence) -> bool {
    let scope = &evidence.header.scope;
    scope.cluster_manager.is_none() && scope.namespaces.is_empty()
}

/// Records what an empty result means: the feature is absent, unless the user claims it.
pub(super) fn nothing_found(evidence: &Evidence, findings: &mut Findings, what: &'static str) {
    let claim = &evidence.header.claim;
    if claim.features.contains(&Feature::ConsumerSecrets) {
        findings.cannot_tell(format!("{what}, though consumer-secrets is claimed"));
    } else if !claim.consumers.is_empty() {
        findings.cannot_tell(format!("{what}, though consumers are declared"));
    } else {
        findings.not_applicable(what);
    }
}

/// The reason for no verdict without a Secret.
pub(super) const NO_SECRET: &str = "no Secret with label x-k8s.io/cluster-profile was found";

/// The namespaces by name.
pub(super) fn namespaces(evidence: &Evidence) -> HashMap<&str, &Namespace> {
    let namespaces = evidence.namespaces.iter();
    namespaces
        .map(|namespace| (namespace.name.as_str(), namespace))
        .collect()
}

/// The consumer that a namespace belongs to.
pub(super) fn consumer(namespace: &Namespace) -> Option<&str> {
    namespace.consumer()
}
