//! The Secrets of declared consumers.

use evidence::{
    Evidence, Kind, Reason,
    api::{ClusterProfile, names},
};

use crate::{
    engine::{Answer, Hub},
    subjects::{Finding, has_status},
    text::ABSENT,
};

/// Whether a profile is to be served: it is joined, or does not report Joined.
pub(in crate::rules) fn is_to_be_served(profile: &ClusterProfile) -> bool {
    let is_joined = || has_status(profile, names::CONDITION_JOINED, "True");
    profile.metadata.deletion_timestamp.is_none()
        && (profile.condition(names::CONDITION_JOINED).is_none() || is_joined())
}

/// `consumers/declared-consumer-served`
///
/// A profile that was to be served throughout the last 2 min has a Secret for each declared consumer.
pub(in crate::rules) fn declared_consumer_served(profile: &ClusterProfile, hub: &Hub) -> Answer {
    let consumers = hub.claim().consumers.iter();
    Answer::each(consumers, |consumer| {
        if let Some(reason) = why_unread(hub, consumer) {
            return Answer::Unknown(reason);
        }
        Answer::broken_if(!is_served(profile, consumer, hub), || {
            let label = names::LABEL_CONSUMER;
            Finding::on(profile, "a declared consumer has no credentials for the member")
                .at("metadata.name")
                .expected(format!(
                    "a Secret for it in the namespace labelled {label}={consumer}"
                ))
                .observed(ABSENT)
        })
    })
}

fn is_served(profile: &ClusterProfile, consumer: &str, hub: &Hub) -> bool {
    let secrets = hub.evidence.secrets.iter();
    let mut own = secrets.filter(|secret| hub.consumer_of(&secret.namespace) == Some(consumer));
    own.any(|secret| {
        let label = |key: &str| secret.labels.get(key).map(String::as_str);
        let namespace = label(names::LABEL_SECRET_PROFILE_NAMESPACE);
        label(names::LABEL_SECRET_PROFILE) == Some(&*profile.metadata.name)
            && namespace.is_none_or(|namespace| namespace == &*profile.metadata.namespace)
    })
}

/// Why the run may not have read a Secret of the consumer, if so.
fn why_unread(hub: &Hub, consumer: &str) -> Option<Reason> {
    let evidence = hub.evidence;
    let of_consumer = evidence
        .namespaces
        .iter()
        .filter(|namespace| namespace.consumer() == Some(consumer));
    let mut unread = of_consumer.filter(|namespace| !is_read(evidence, &namespace.name));
    if let Some(namespace) = unread.next() {
        return Some(
            format!(
                "the runner lacks the permission to list Secrets in namespace {}, {consumer}'s: grant list on secrets",
                namespace.name
            )
            .into(),
        );
    }
    if may_list(evidence, "namespaces", "") == Some(false) {
        let reason = format!(
            "the runner lacks the permission to list Namespaces, so those of {consumer} are unknown: grant list on namespaces"
        );
        return Some(reason.into());
    }
    let mut kinds = evidence
        .unreadable
        .iter()
        .map(|unreadable| &*unreadable.object.kind);
    let is_whole = evidence.is_whole(Kind::Secrets)
        && evidence.is_whole(Kind::Namespaces)
        && !kinds.any(|kind| matches!(kind, "" | "Secret" | "Namespace"));
    (!is_whole).then(|| "a Secret or a Namespace could not be read, and may be the missing one".into())
}

/// Whether the Secrets of a namespace were listed. Without permission to list all, the run lists some namespaces only.
fn is_read(evidence: &Evidence, namespace: &str) -> bool {
    may_list(evidence, "secrets", "") != Some(false) || may_list(evidence, "secrets", namespace) == Some(true)
}

/// Whether the runner may list a core resource in a namespace; an empty one is the whole hub.
fn may_list(evidence: &Evidence, resource: &str, namespace: &str) -> Option<bool> {
    let mut permissions = evidence.header.permissions.iter();
    let permission = permissions.find(|permission| {
        permission.verb == "list"
            && permission.group.is_empty()
            && permission.resource == resource
            && permission.namespace == namespace
    });
    permission.map(|permission| permission.allowed)
}
