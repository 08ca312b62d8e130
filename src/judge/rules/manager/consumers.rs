//! The suite `consumers`: the Secrets that give consumers access to members (KEP-4322 › Secret format).

use evidence::{LoginOutcome, Namespace, Secret, StepOutcome, UnlabelledSecret};

use super::kubeconfigs::{USERS_PATH, is_at, servers};
use crate::{
    engine::{ConsumerSecret, NO_CONSUMER, cut_short, secret_label, within},
    rules::prelude::*,
};

/// The namespace of a profile for a Secret that names none.
const DEFAULT_NAMESPACE: &str = "default";

/// `consumers/secret-namespace-labelled`: the namespace of a consumer's Secret has a non-empty label with the
/// consumer's name.
pub(crate) fn secret_namespace_labelled(secret: &ConsumerSecret, hub: &Hub) -> Answer {
    let name = &secret.secret.namespace;
    let Some(namespace) = hub.namespace(name) else {
        return Answer::unknown(format!("namespace {name} was not observed"));
    };
    Answer::broken_if(namespace.consumer().is_none(), || {
        let label = namespace.labels.get(LABEL_CONSUMER);
        let path = format!("Namespace {name} {}", label_path(LABEL_CONSUMER));
        Finding::at_field(path, label.map_or(ABSENT, |_| "an empty value"))
    })
}

/// `consumers/secret-names-profile`: the Secret's label names a profile that exists, in the namespace of its second
/// label or, without one, in any.
pub(crate) fn secret_names_profile(secret: &ConsumerSecret, hub: &Hub) -> Answer {
    if secret.has_profile() {
        return names_namespace(secret, hub);
    }
    if secret.changed_lately(hub) || hub.may_have_unread_profile(secret.name()) {
        return Answer::NotApplicable;
    }
    let was_never_there = secret.profiles.is_empty();
    let message = if was_never_there {
        "the Secret is for a ClusterProfile that does not exist"
    } else {
        "the Secret is for a ClusterProfile that was deleted"
    };
    let observed = match (secret.namespace(), secret.name()) {
        (_, "") => "an empty value".to_owned(),
        (Some(namespace), name) => redacted(&format!("{namespace}/{name}")),
        (None, name) => redacted(name),
    };
    let finding = Finding::at_path(label_path(LABEL_SECRET_PROFILE), message).observed(observed);
    let is_certain = secret.name().is_empty() || (was_never_there && secret.is_newer_than_watch(hub));
    Answer::all([finding.advisory_unless(is_certain)])
}

/// Consumers look in the namespace `default` if the Secret names none.
fn names_namespace(secret: &ConsumerSecret, hub: &Hub) -> Answer {
    let mut profiles = secret.profiles.iter();
    let is_found = secret.namespace().is_some()
        || profiles.any(|history| &*history.last().metadata.namespace == DEFAULT_NAMESPACE);
    let is_asked = hub.edition(Role::Manager) > Edition::Standard && hub.holds_namespace(DEFAULT_NAMESPACE);
    if is_found || !is_asked || hub.may_have_unread_profile(secret.name()) {
        return Answer::Kept;
    }
    let message = "the Secret does not name the namespace of its ClusterProfile";
    let finding = Finding::at_path(label_path(LABEL_SECRET_PROFILE_NAMESPACE), message).observed(ABSENT);
    Answer::warning(finding.expected("the namespace, as the profile is not in the namespace default"))
}

/// `consumers/secret-labelled`: in a consumer's namespace, a Secret with a member's kubeconfig has the label, unless a
/// labelled Secret of that member is there, too.
pub(crate) fn secret_labelled(secret: &UnlabelledSecret, hub: &Hub) -> Answer {
    let leads_to = |servers: &[String]| {
        let mut urls = secret.servers.iter();
        urls.any(|server| servers.iter().any(|endpoint| is_at(server, endpoint)))
    };
    let objects = hub.profiles().iter();
    let profiles =
        objects.filter_map(|object| object.histories.iter().find(|history| history.deleted.is_none()));
    let members = profiles.filter(|history| leads_to(&servers(hub, history)));
    let members: Vec<ObjectRef> = members.map(|history| ObjectRef::from(history.last())).collect();
    let all = hub.consumer_secrets().iter();
    let labelled = all.filter(|candidate| candidate.secret.namespace == secret.namespace);
    let mut served = labelled.flat_map(|candidate| &candidate.profiles);
    let is_member = |uid: &str| members.iter().any(|member| member.uid == uid);
    let is_copy = served.any(|history| is_member(&history.last().metadata.uid));
    let Some(member) = members.first().filter(|_| !is_copy) else {
        return Answer::Kept;
    };
    let observed = redacted(&format!("{ABSENT}, though data.{} leads to {member}", secret.key));
    let finding = Finding::at_field(label_path(LABEL_SECRET_PROFILE), observed);
    Answer::broken(finding.expected(redacted(&member.name)))
}

/// `consumers/kubeconfig-works`: a member that is joined accepts the credential.
pub(crate) fn kubeconfig_works(_: &ConsumerSecret, outcome: &LoginOutcome) -> Answer {
    match outcome {
        LoginOutcome::Accepted { .. } => Answer::Kept,
        LoginOutcome::Refused { code, message } => {
            let observed = redacted(&format!("it answers {code} {message}"));
            Answer::broken(Finding::at_field(USERS_PATH, observed))
        }
        _ => Answer::NotApplicable,
    }
}

/// `consumers/least-privilege`: the credential may not do everything on a member that is joined.
pub(crate) fn least_privilege(secret: &ConsumerSecret, outcome: &LoginOutcome) -> Answer {
    let LoginOutcome::Accepted { user, everything } = outcome else {
        return Answer::NotApplicable;
    };
    let Some(everything) = everything else {
        let reason = "the member does not report the permissions of the credential";
        return Answer::Unknown(secret.in_words(reason));
    };
    Answer::broken_if(*everything, || {
        Finding::at_field(
            USERS_PATH,
            redacted(&format!("{user}, with every verb on every resource")),
        )
    })
}

/// The only inventory of a hub before edition 2026-09.
const WHOLE_HUB: &str = "";

/// `consumers/consumer-name-unique`: no two namespaces have the same consumer name; from edition 2026-09 on, for
/// profiles of the same namespace.
///
/// It is evaluated once: namespaces are read once and have no versions.
pub(crate) fn consumer_name_unique(hub: &Hub) -> Vec<Answer> {
    let mut first: BTreeMap<(&str, &str), &Namespace> = BTreeMap::new();
    let mut answers = Vec::new();
    for namespace in &hub.evidence.namespaces {
        let Some(consumer) = namespace.consumer() else {
            continue;
        };
        let secrets = hub.consumer_secrets().iter();
        let secrets = secrets.filter(|secret| secret.secret.namespace == namespace.name);
        // Another manager, which is not judged, may serve the consumer too.
        if !hub.judges_everything() && secrets.clone().next().is_none() {
            continue;
        }
        // The inventories that the namespace certainly is for, by the labels of its Secrets.
        let inventories: Vec<&str> = if hub.edition(Role::Manager) < Edition::Y2026M09 {
            vec![WHOLE_HUB]
        } else {
            secrets.filter_map(|secret| secret.namespace()).collect()
        };
        let rival = inventories.into_iter().find_map(|inventory| {
            let other = *first.entry((consumer, inventory)).or_insert(namespace);
            (other.name != namespace.name).then_some((other, inventory))
        });
        answers.push(rival.map_or(Answer::Kept, |(other, inventory)| {
            Answer::broken(clash(namespace, consumer, other, inventory))
        }));
    }
    if answers.is_empty() {
        answers.extend(hub.why_consumers_expected(NO_CONSUMER).map(Answer::Unknown));
    }
    answers
}

fn clash(namespace: &Namespace, consumer: &str, other: &Namespace, inventory: &str) -> Finding {
    let inventory = match inventory {
        WHOLE_HUB => String::new(),
        inventory => format!(" for the profiles in {inventory}"),
    };
    let observed = format!("{consumer}, as namespace {}{inventory}", other.name);
    Finding::at_field_of(namespace, label_path(LABEL_CONSUMER), observed)
}

/// `consumers/declared-consumer-served`: a profile that was to be served throughout the last 2 min has a Secret for
/// each declared consumer.
pub(crate) fn declared_consumer_served(profile: &ClusterProfile, hub: &Hub) -> Answer {
    let metadata = &profile.metadata;
    let is_for_profile = |secret: &&Secret| {
        secret_label(secret, LABEL_SECRET_PROFILE) == Some(&*metadata.name)
            && secret_label(secret, LABEL_SECRET_PROFILE_NAMESPACE)
                .is_none_or(|namespace| namespace == &*metadata.namespace)
    };
    Answer::each(&hub.claim().consumers, |consumer| {
        if let Some(reason) = why_unread(hub.evidence, consumer) {
            return Answer::Unknown(reason);
        }
        let mut secrets = hub.evidence.secrets.iter().filter(is_for_profile);
        let is_served = secrets.any(|secret| hub.consumer_of(&secret.namespace) == Some(consumer));
        Answer::broken_if(!is_served, || {
            let expected = format!("a Secret for it in the namespace labelled {LABEL_CONSUMER}={consumer}");
            Finding::at_field("metadata.name", ABSENT).expected(expected)
        })
    })
}

/// Why the run may not have read a Secret of the consumer, if so.
fn why_unread(evidence: &Evidence, consumer: &str) -> Option<Reason> {
    let namespaces = evidence.namespaces.iter();
    let mut of_consumer = namespaces.filter(|namespace| namespace.consumer() == Some(consumer));
    // Without permission to list all Secrets, the run lists those of some namespaces only.
    let unread = of_consumer.find(|namespace| {
        may_list(evidence, "secrets", "") == Some(false)
            && may_list(evidence, "secrets", &namespace.name) != Some(true)
    });
    if let Some(Namespace { name, .. }) = unread {
        let lacks = "the runner lacks the permission to list Secrets in namespace";
        return Some(format!("{lacks} {name}, {consumer}'s: grant list on secrets").into());
    }
    if may_list(evidence, "namespaces", "") == Some(false) {
        let lacks = "the runner lacks the permission to list Namespaces, so those of";
        return Some(format!("{lacks} {consumer} are unknown: grant list on namespaces").into());
    }
    let mut unreadable = evidence.unreadable.iter();
    let is_whole = evidence.is_whole(Kind::Secrets)
        && evidence.is_whole(Kind::Namespaces)
        && !unreadable.any(|unread| matches!(&*unread.object.kind, "" | "Secret" | "Namespace"));
    (!is_whole).then(|| "a Secret or a Namespace could not be read, and may be the missing one".into())
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

/// `consumers/secrets-retired`: after a member left and did not join again, no Secret names its profile. Secrets are
/// read once, at the end of the run.
pub(crate) fn secrets_retired(step: &ProfileStep) -> Answer {
    match step.driver_step.secrets_before {
        Some(0) => return Answer::NotApplicable,
        Some(_) => {}
        None => {
            let action = describe(step.driver_step);
            return Answer::unknown(format!("the number of Secrets before {action} could not be read"));
        }
    }
    let secrets = step.hub.evidence.secrets.iter();
    let remaining: Vec<&Secret> = secrets.filter(|secret| is_for(secret, step)).collect();
    if remaining.is_empty() {
        return Answer::Kept;
    }
    if let Some(reason) = cut_short(step.hub.evidence, step.driver_step) {
        return Answer::Unknown(reason);
    }
    match step.joins_again().map(|join| &join.outcome) {
        None => {}
        Some(StepOutcome::Done) => return Answer::NotApplicable,
        Some(StepOutcome::Failed { .. }) => {
            let profile = step.profile.path();
            return Answer::unknown(format!(
                "a consumer Secret of {profile} exists after a failed `join`"
            ));
        }
    }
    Answer::all(remaining.into_iter().map(|secret| {
        let finding = Finding::at_field_of(
            secret,
            label_path(LABEL_SECRET_PROFILE),
            redacted(&step.profile.name),
        );
        finding.expected(within(step.driver_step, "no such Secret"))
    }))
}

/// Whether a Secret is for the step's profile. Without a namespace in its labels, it may be for another profile of that name.
fn is_for(secret: &Secret, step: &ProfileStep) -> bool {
    let profile = step.profile;
    let is_another = |other: &ClusterProfile| {
        *other.metadata.name == *profile.name && *other.metadata.namespace != *profile.namespace
    };
    secret_label(secret, LABEL_SECRET_PROFILE) == Some(&profile.name)
        && match secret_label(secret, LABEL_SECRET_PROFILE_NAMESPACE) {
            Some(namespace) => namespace == profile.namespace,
            None => !step.hub.evidence.everyone().any(is_another),
        }
}
