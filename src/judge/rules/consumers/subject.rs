//! Which Secrets are judged, and whose they are.

use std::collections::HashMap;

use evidence::{
    Evidence, Namespace, ProfileHistory, Secret,
    api::{Feature, names},
};

use crate::rules::finding::Findings;

/// A Secret that is judged, and the profiles that it may be for.
pub(super) struct Subject<'a> {
    /// The Secret.
    pub(super) secret: &'a Secret,
    /// The profiles that its labels name, gone ones included. Where no label tells the namespace, there may be
    /// several.
    pub(super) profiles: Vec<&'a ProfileHistory>,
}

impl<'a> Subject<'a> {
    /// The name in the Secret's label.
    pub(super) fn name(&self) -> &'a str {
        label(self.secret, names::LABEL_SECRET_PROFILE).unwrap_or_default()
    }

    /// The namespace in the Secret's label, where it has one.
    pub(super) fn namespace(&self) -> Option<&'a str> {
        label(self.secret, names::LABEL_SECRET_PROFILE_NAMESPACE)
    }
}

fn label<'a>(secret: &'a Secret, key: &str) -> Option<&'a str> {
    secret.labels.get(key).map(String::as_str)
}

/// The Secrets that are judged. Those of profiles outside the scope, or that the run touched itself, are not; nor are
/// those that may be.
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
            versions.any(|version| scope.holds(&version.profile))
                && !evidence.is_touched(&metadata.namespace, &metadata.name)
        });
    }
    // Nobody knows whose profile it would be: it is judged where every profile is.
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

/// Says what it means that there is nothing to examine: the feature is not there, unless somebody says it is.
pub(super) fn nothing_found(evidence: &Evidence, findings: &mut Findings, what: &str) {
    let claim = &evidence.header.claim;
    if claim.features.contains(&Feature::ConsumerSecrets) {
        findings.cannot_tell(format!("{what}, though consumer-secrets is claimed"));
    } else if !claim.consumers.is_empty() {
        findings.cannot_tell(format!("{what}, though consumers are declared"));
    } else {
        findings.not_applicable(what);
    }
}

/// What it means that there is no Secret to examine.
pub(super) const NO_SECRET: &str = "no Secret with label x-k8s.io/cluster-profile was found";

/// The namespaces by name.
pub(super) fn namespaces(evidence: &Evidence) -> HashMap<&str, &Namespace> {
    let namespaces = evidence.namespaces.iter();
    namespaces
        .map(|namespace| (namespace.name.as_str(), namespace))
        .collect()
}

/// The consumer whose Secrets a namespace holds.
pub(super) fn consumer(namespace: &Namespace) -> Option<&str> {
    namespace.consumer()
}
