//! The namespace of a Secret and the profile that it names (KEP-4322 › Secret format).

use std::collections::{BTreeSet, HashMap};

use evidence::{
    Asked, Evidence, Kind,
    api::{Edition, names},
};

use super::subject::{
    NO_SECRET, Subject, consumer, is_everything_judged, namespaces, nothing_found, subjects,
};
use crate::{
    subjects::{Finding, Findings},
    text::{ABSENT, redacted},
    time::{Edge, GRACE_SECONDS, Known, SECOND, end, stamped},
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
///
/// A Secret whose profile was deleted is a warning: `consumers/secrets-retired` asks managers to delete it. One that names an
/// unknown profile may be such a Secret, too, unless it is younger than the watch. A warning is also, from
/// edition 2026-07 on, a Secret that names no namespace where `default` has no such profile: consumers look there.
pub(in crate::rules) fn secret_names_profile(evidence: &Evidence, findings: &mut Findings) {
    nothing_found_unless_any(evidence, findings);
    let whole = evidence.is_whole(Kind::Inventory);
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
            let message = if subject.profiles.is_empty() {
                "the Secret is for a ClusterProfile that does not exist"
            } else {
                "the Secret is for a ClusterProfile that was deleted"
            };
            let finding = Finding::on(subject.secret, message)
                .at(format!("metadata.labels[{}]", names::LABEL_SECRET_PROFILE))
                .expected("the name of an existing ClusterProfile")
                .observed(observed);
            findings.report(if may_be_left_over(evidence, &subject) {
                finding.advisory()
            } else {
                finding
            });
        } else if whole && needs_namespace(evidence, &subject) {
            findings.report(
                Finding::on(
                    subject.secret,
                    "the Secret does not name the namespace of its ClusterProfile",
                )
                .at(format!(
                    "metadata.labels[{}]",
                    names::LABEL_SECRET_PROFILE_NAMESPACE
                ))
                .expected("the namespace, as the profile is not in the namespace default")
                .observed(ABSENT)
                .advisory(),
            );
        }
    }
}

/// Whether a Secret whose profile does not exist may be left over from a profile that was deleted. It is not if its label is
/// empty, nor if a watch without a gap had begun when it was created, and showed no such profile.
fn may_be_left_over(evidence: &Evidence, subject: &Subject) -> bool {
    let created = subject.secret.creation_timestamp.as_deref();
    let created = created.and_then(|text| stamped(evidence, text));
    let began = evidence.header.window.map(|window| window.from.as_microsecond());
    let is_new = created
        .zip(began)
        .is_some_and(|(created, began)| created.is_before(began) == Known::No);
    let was_watched = *evidence.asked(Kind::Timeline) == Asked::Yes && evidence.is_whole(Kind::Timeline);
    let was_never_there = is_new && was_watched && subject.profiles.is_empty();
    !subject.name().is_empty() && !was_never_there
}

/// Whether consumers miss the profile of a Secret without a namespace: they assume the namespace `default`.
fn needs_namespace(evidence: &Evidence, subject: &Subject) -> bool {
    let scope = &evidence.header.scope;
    let in_default = |namespace: &str| namespace == DEFAULT_NAMESPACE;
    evidence.header.claim.edition > Edition::Standard
        && subject.namespace().is_none()
        && (scope.namespaces.is_empty() || scope.namespaces.iter().any(|name| in_default(name)))
        && !subject
            .profiles
            .iter()
            .any(|history| in_default(&history.last().metadata.namespace))
}

/// The namespace of a profile whose Secret names none.
const DEFAULT_NAMESPACE: &str = "default";

/// Whether the profile was deleted within the grace period before the end.
fn went_lately(evidence: &Evidence, subject: &Subject) -> bool {
    let mut went = subject.profiles.iter().filter_map(|history| history.deleted);
    went.any(|deleted| may_be_late(evidence, Edge::at(deleted.as_microsecond())))
}

/// Whether the Secret was created within the grace period before the end: its profile may be newer than the list.
fn is_young(evidence: &Evidence, subject: &Subject) -> bool {
    let created = subject.secret.creation_timestamp.as_deref();
    let created = created.and_then(|text| stamped(evidence, text));
    created.is_some_and(|created| may_be_late(evidence, created))
}

fn may_be_late(evidence: &Evidence, at: Edge) -> bool {
    end(evidence).is_some_and(|end| at.is_before(end - GRACE_SECONDS * SECOND + 1) != Known::Yes)
}

fn nothing_found_unless_any(evidence: &Evidence, findings: &mut Findings) {
    if subjects(evidence).is_empty() {
        nothing_found(evidence, findings, NO_SECRET);
    } else {
        findings
            .nothing_happened("the profiles of all Secrets were created or deleted within the last 2 min");
    }
}

/// `consumers/consumer-name-unique`
///
/// No two namespaces have the same consumer's name within one inventory.
///
/// Up to edition 2026-07 the hub is one inventory. Later editions have one in each namespace with profiles: there two
/// namespaces may share a name, unless their Secrets are for profiles of the same inventory.
pub(in crate::rules) fn consumer_name_unique(evidence: &Evidence, findings: &mut Findings) {
    let everything = is_everything_judged(evidence);
    let inventories = inventories(evidence);
    let mut first: HashMap<(&str, &str), &str> = HashMap::new();
    let mut unknown = 0;
    for namespace in &evidence.namespaces {
        let Some(consumer) = consumer(namespace) else {
            continue;
        };
        let holds_secrets = inventories.of_consumers.contains_key(namespace.name.as_str());
        // Another manager, which is not judged, may serve the consumer too.
        if !everything && !holds_secrets {
            continue;
        }
        findings.examine();
        let served = inventories.of(&namespace.name);
        unknown += usize::from(served.is_empty());
        let clash = served.iter().find_map(|inventory| {
            let other = *first.entry((consumer, inventory)).or_insert(&namespace.name);
            (other != namespace.name).then_some((other, *inventory))
        });
        if let Some((other, inventory)) = clash {
            let inventory = match inventory {
                WHOLE_HUB => String::new(),
                inventory => format!(" for the profiles in {inventory}"),
            };
            findings.report(
                Finding::on(namespace, "two namespaces have the same consumer's name")
                    .at(format!("metadata.labels[{}]", names::LABEL_CONSUMER))
                    .expected("a name of its own")
                    .observed(format!("{consumer}, as namespace {other}{inventory}")),
            );
        }
    }
    if unknown > 0 {
        findings.note(format!(
            "{unknown} namespaces of consumers were not compared: no Secret shows which inventory they are for"
        ));
    }
    if findings.examined == 0 {
        let what = "no namespace with label x-k8s.io/cluster-inventory-consumer was found";
        nothing_found(evidence, findings, what);
    }
}

/// Stands for the only inventory of a hub.
const WHOLE_HUB: &str = "";

/// The inventories of consumers.
struct Inventories<'a> {
    /// By the consumer's namespace, the inventories that its Secrets certainly are for.
    of_consumers: HashMap<&'a str, BTreeSet<&'a str>>,
    /// The only inventory on the hub, if there are not several.
    only: Option<&'static str>,
}

impl<'a> Inventories<'a> {
    fn of(&self, consumer: &str) -> Vec<&'a str> {
        match self.only {
            Some(only) => vec![only],
            None => self
                .of_consumers
                .get(consumer)
                .into_iter()
                .flatten()
                .copied()
                .collect(),
        }
    }
}

fn inventories(evidence: &Evidence) -> Inventories<'_> {
    let mut of_consumers: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    for subject in subjects(evidence) {
        let inventories = of_consumers.entry(&subject.secret.namespace).or_default();
        let mut namespaces = subject
            .profiles
            .iter()
            .map(|history| &*history.last().metadata.namespace);
        // Without a namespace in its labels, a Secret may be for any profile of that name.
        if let Some(namespace) = subject.namespace().or_else(|| {
            let first = namespaces.next()?;
            namespaces.all(|other| other == first).then_some(first)
        }) {
            inventories.insert(namespace);
        }
    }
    let hub = evidence.everyone().map(|profile| &*profile.metadata.namespace);
    // With some namespaces only, the others may hold further inventories.
    let is_whole_hub = evidence.header.scope.namespaces.is_empty() && evidence.is_whole(Kind::Inventory);
    let is_one = evidence.header.claim.edition < Edition::Y2026M09
        || is_whole_hub && hub.collect::<BTreeSet<_>>().len() < 2;
    Inventories {
        of_consumers,
        only: is_one.then_some(WHOLE_HUB),
    }
}
