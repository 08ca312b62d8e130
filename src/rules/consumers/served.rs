//! Whether the declared consumers get what they need (KEP-4322 › Push Model via Credentials in Secret).

use std::collections::{HashMap, HashSet};

use crate::{
    api::{ClusterProfile, names},
    evidence::{Evidence, GRACE_SECONDS, Kind},
    rules::{
        Finding, Findings,
        moment::{SECOND, end, on_our_clock},
        text::ABSENT,
    },
};

use super::subject::{consumer, namespaces};

/// `consumers/declared-consumer-served`
pub(in crate::rules) fn declared_consumer_served(evidence: &Evidence, findings: &mut Findings) {
    let consumers = &evidence.header.claim.consumers;
    if consumers.is_empty() {
        findings.not_applicable("no consumer was declared with `--consumer`");
        return;
    }
    findings.not_applicable("no profile has been joined for longer than the grace of 2 min");
    // What could not be read may be just what seems to be missing.
    let whole = evidence.gaps(Kind::Secrets).next().is_none()
        && evidence.gaps(Kind::Namespaces).next().is_none()
        && !evidence
            .unreadable
            .iter()
            .any(|object| object.object.kind == "Secret");
    let namespaces = namespaces(evidence);
    // For each consumer the profiles that it has a Secret for: by name, and by namespace where a label tells it.
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
    for profile in evidence.settled().filter(|profile| is_due(evidence, profile)) {
        findings.examine();
        let (name, namespace) = (&*profile.metadata.name, &*profile.metadata.namespace);
        for consumer in consumers {
            let has = served.get(consumer.as_str()).is_some_and(|profiles| {
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

/// A member that is not joined, or only just, cannot be asked for credentials.
fn is_due(evidence: &Evidence, profile: &ClusterProfile) -> bool {
    let Some(joined) = profile.condition(names::CONDITION_JOINED) else {
        return true;
    };
    let since = joined.last_transition_time.as_deref();
    let since = since.and_then(|text| on_our_clock(evidence, text));
    let lately = match (since, end(evidence)) {
        (Some(since), Some(end)) => end - since < GRACE_SECONDS * SECOND,
        _ => false,
    };
    &*joined.status == "True" && !lately
}
