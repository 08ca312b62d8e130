//! Secrets for declared consumers (KEP-4322 › Push Model via Credentials in Secret).

use std::collections::{HashMap, HashSet};

use evidence::{
    Evidence, Kind,
    api::{ClusterProfile, names},
};

use super::subject::{consumer, namespaces};
use crate::{
    reasons::NO_CONSUMER,
    shared::presence::lasts,
    subjects::{Finding, Findings, has_status},
    text::ABSENT,
};

/// `consumers/declared-consumer-served`
///
/// Each declared consumer has a Secret for every profile.
pub(in crate::rules) fn declared_consumer_served(evidence: &Evidence, findings: &mut Findings) {
    let consumers = &evidence.header.claim.consumers;
    if consumers.is_empty() {
        findings.not_applicable(NO_CONSUMER);
        return;
    }
    findings.not_applicable("no profile has been joined for longer than the grace of 2 min");
    // An unreadable Secret may be the one that seems to be missing.
    let mut unread = evidence
        .unreadable
        .iter()
        .map(|unreadable| &*unreadable.object.kind);
    let whole = evidence.is_whole(Kind::Secrets)
        && evidence.is_whole(Kind::Namespaces)
        && !unread.any(|kind| matches!(kind, "" | "Secret" | "Namespace"));
    let namespaces = namespaces(evidence);
    // For each consumer, the profiles that it has a Secret for: by name, and by namespace if a label names it.
    let mut served: HashMap<&str, HashSet<(&str, Option<&str>)>> = HashMap::new();
    for secret in &evidence.secrets {
        let namespace = namespaces.get(secret.namespace.as_str());
        let Some(consumer) = namespace.and_then(|namespace| consumer(namespace)) else {
            continue;
        };
        let label = |key: &str| secret.labels.get(key).map(String::as_str);
        let Some(name) = label(names::LABEL_SECRET_PROFILE) else {
            continue;
        };
        let profile = (name, label(names::LABEL_SECRET_PROFILE_NAMESPACE));
        served.entry(consumer).or_default().insert(profile);
    }
    let consumers: Vec<&str> = consumers
        .iter()
        .map(String::as_str)
        .filter(|name| {
            let unread = evidence
                .namespaces
                .iter()
                .filter(|namespace| consumer(namespace) == Some(name))
                .find(|namespace| !is_read(evidence, &namespace.name));
            // The Secrets may be in a namespace that the run did not look for.
            let may_be_elsewhere = may_list(evidence, "namespaces", "") == Some(false);
            if let Some(namespace) = unread {
                findings.cannot_tell(format!(
                    "the runner lacks the permission to list Secrets in namespace {}, {name}'s: grant list on secrets",
                    namespace.name
                ));
            } else if may_be_elsewhere {
                findings.cannot_tell(format!(
                    "the runner lacks the permission to list Namespaces, so those of {name} are unknown: grant list on namespaces"
                ));
            }
            unread.is_none() && !may_be_elsewhere
        })
        .collect();
    for history in evidence.histories() {
        let is_due = |profile: &&ClusterProfile| {
            is_served(profile) && lasts(evidence, history, &[names::CONDITION_JOINED], is_served)
        };
        let Some(profile) = history.current().filter(is_due) else {
            continue;
        };
        findings.examine();
        let (name, namespace) = (&*profile.metadata.name, &*profile.metadata.namespace);
        for consumer in &consumers {
            let has = served.get(consumer).is_some_and(|profiles| {
                profiles.contains(&(name, Some(namespace))) || profiles.contains(&(name, None))
            });
            if !has && whole {
                findings.report(
                    Finding::on(profile, "a declared consumer has no credentials for the member")
                        .at("metadata.name")
                        .expected(format!(
                            "a Secret for it in the namespace labelled {}={consumer}",
                            names::LABEL_CONSUMER
                        ))
                        .observed(ABSENT),
                );
            }
        }
    }
}

/// Whether the Secrets of a namespace were listed. Without permission to list all, the run lists some namespaces
/// only.
fn is_read(evidence: &Evidence, namespace: &str) -> bool {
    may_list(evidence, "secrets", "") != Some(false) || may_list(evidence, "secrets", namespace) == Some(true)
}

/// Whether the runner may list a core resource there; an empty place is the whole hub.
fn may_list(evidence: &Evidence, resource: &str, place: &str) -> Option<bool> {
    let mut permissions = evidence.header.permissions.iter();
    let permission = permissions.find(|permission| {
        permission.verb == "list"
            && permission.group.is_empty()
            && permission.resource == resource
            && permission.namespace == place
    });
    permission.map(|permission| permission.allowed)
}

/// A member that is not joined, or goes, need not have credentials.
fn is_served(profile: &ClusterProfile) -> bool {
    let is_joined = || has_status(profile, names::CONDITION_JOINED, "True");
    profile.metadata.deletion_timestamp.is_none()
        && (profile.condition(names::CONDITION_JOINED).is_none() || is_joined())
}

#[cfg(test)]
mod tests {
    use evidence::{Permission, api::Edition};
    use serde_json::json;

    use super::*;
    use crate::rules::example::Example;

    #[test]
    fn secrets_that_could_not_be_listed_are_not_missing() {
        let world = json!({
            "consumers": ["batch"],
            "namespaces": [{"name": "b", "labels": {names::LABEL_CONSUMER: "batch"}}],
        });
        let example = json!({"name": "tried", "passes": world});
        let example = Example::parse(&example, Edition::Standard).expect("a world");
        let found = |permissions: &[(&str, &str, bool)]| {
            let mut evidence = example.evidence().clone();
            evidence.header.permissions = permissions
                .iter()
                .map(|(resource, namespace, allowed)| Permission {
                    verb: "list".to_owned(),
                    resource: (*resource).to_owned(),
                    namespace: (*namespace).to_owned(),
                    allowed: *allowed,
                    ..Permission::default()
                })
                .collect();
            let mut findings = Findings::default();
            declared_consumer_served(&evidence, &mut findings);
            let found = findings.conclude();
            (found.list.len(), found.doubts.len())
        };
        assert_eq!(found(&[]), (1, 0));
        assert_eq!(found(&[("secrets", "", true)]), (1, 0));
        assert_eq!(
            found(&[("secrets", "", false), ("secrets", "default", true)]),
            (0, 1)
        );
        assert_eq!(found(&[("secrets", "", false), ("secrets", "b", true)]), (1, 0));
        // The consumer may have another namespace, which nobody looked for.
        assert_eq!(found(&[("namespaces", "", false)]), (0, 1));
    }
}
