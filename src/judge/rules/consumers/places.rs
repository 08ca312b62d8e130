//! The namespace of a Secret and the profile that it names (KEP-4322 › Secret format).

use std::collections::{HashMap, HashSet};

use evidence::{Evidence, GRACE_SECONDS, Kind, api::names};

use super::subject::{
    NO_SECRET, Subject, consumer, is_everything_judged, namespaces, nothing_found, subjects,
};
use crate::rules::{
    finding::{Finding, Findings},
    text::{ABSENT, redacted},
    write_time::{Micros, SECOND, end, on_our_clock},
};

/// `consumers/secret-namespace-labelled`
///
/// Each consumer Secret is in a namespace that is labelled with a consumer's name.
pub(in crate::rules) fn secret_namespace_labelled(evidence: &Evidence, findings: &mut Findings) {
    nothing_found_unless_any(evidence, findings);
    let namespaces = namespaces(evidence);
    for subject in subjects(evidence) {
        let secret = subject.secret;
        let Some(namespace) = namespaces.get(secret.namespace.as_str()) else {
            // The namespace is newer than the list of namespaces, or that list is incomplete.
            findings.cannot_tell(format!("namespace {} was not seen", secret.namespace));
            continue;
        };
        findings.examine();
        if consumer(namespace).is_none() {
            let observed = match namespace.labels.get(names::LABEL_CONSUMER) {
                Some(_) => "an empty value",
                None => ABSENT,
            };
            findings.report(
                Finding::on(
                    secret,
                    "the Secret's namespace is not labelled with a consumer's name",
                )
                .at(format!(
                    "Namespace {} metadata.labels[{}]",
                    namespace.name,
                    names::LABEL_CONSUMER
                ))
                .expected("the name of a consumer")
                .observed(observed),
            );
        }
    }
}

/// `consumers/secret-names-profile`
///
/// Each consumer Secret names an existing profile.
pub(in crate::rules) fn secret_names_profile(evidence: &Evidence, findings: &mut Findings) {
    nothing_found_unless_any(evidence, findings);
    let whole = evidence.gaps(Kind::Inventory).next().is_none();
    for subject in subjects(evidence) {
        let exists = subject.profiles.iter().any(|history| history.deleted.is_none());
        // Profiles and Secrets are not listed in a single snapshot, and a manager deletes them one after the other.
        if !exists && (went_lately(evidence, &subject) || is_young(evidence, &subject)) {
            continue;
        }
        if !exists && (!whole || evidence.may_be_unread(names::KIND, subject.name())) {
            continue;
        }
        findings.examine();
        if !exists {
            let observed = match (subject.namespace(), subject.name()) {
                (_, "") => "an empty value".to_owned(),
                (Some(namespace), name) => redacted(&format!("{namespace}/{name}")),
                (None, name) => redacted(name),
            };
            findings.report(
                Finding::on(
                    subject.secret,
                    "the Secret is for a ClusterProfile that does not exist",
                )
                .at(format!("metadata.labels[{}]", names::LABEL_SECRET_PROFILE))
                .expected("the name of an existing ClusterProfile")
                .observed(observed),
            );
        }
    }
}

/// Whether the profile was deleted within the grace period before the end.
fn went_lately(evidence: &Evidence, subject: &Subject) -> bool {
    let went = subject.profiles.iter().filter_map(|history| history.deleted);
    went.map(|deleted| deleted.as_microsecond())
        .any(|deleted| is_late(evidence, deleted))
}

/// Whether the Secret was created within the grace period before the end: its profile may be newer than the list.
fn is_young(evidence: &Evidence, subject: &Subject) -> bool {
    let created = subject.secret.creation_timestamp.as_deref();
    created
        .and_then(|text| on_our_clock(evidence, text))
        .is_some_and(|created| is_late(evidence, created))
}

fn is_late(evidence: &Evidence, at: Micros) -> bool {
    end(evidence).is_some_and(|end| end - at < GRACE_SECONDS * SECOND)
}

fn nothing_found_unless_any(evidence: &Evidence, findings: &mut Findings) {
    if subjects(evidence).is_empty() {
        nothing_found(evidence, findings, NO_SECRET);
    } else {
        findings.not_applicable("the profiles of all Secrets were created or deleted within the last 2 min");
    }
}

/// `consumers/consumer-name-unique`
///
/// No two namespaces have the same consumer's name.
pub(in crate::rules) fn consumer_name_unique(evidence: &Evidence, findings: &mut Findings) {
    let everything = is_everything_judged(evidence);
    let holding: HashSet<&str> = subjects(evidence)
        .iter()
        .map(|subject| subject.secret.namespace.as_str())
        .collect();
    let mut first: HashMap<&str, &str> = HashMap::new();
    for namespace in &evidence.namespaces {
        let Some(consumer) = consumer(namespace) else {
            continue;
        };
        // Another manager, which is not judged, may serve the consumer too.
        if !everything && !holding.contains(namespace.name.as_str()) {
            continue;
        }
        findings.examine();
        let other = *first.entry(consumer).or_insert(&namespace.name);
        if other != namespace.name {
            findings.report(
                Finding::on(namespace, "two namespaces have the same consumer's name")
                    .at(format!("metadata.labels[{}]", names::LABEL_CONSUMER))
                    .expected("a name of its own")
                    .observed(format!("{consumer}, as namespace {other}")),
            );
        }
    }
    if findings.examined == 0 {
        let what = "no namespace with label x-k8s.io/cluster-inventory-consumer was found";
        nothing_found(evidence, findings, what);
    }
}
