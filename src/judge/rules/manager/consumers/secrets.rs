//! The namespace and the labels of a consumer's Secret (KEP-4322 › Secret format).

use evidence::{
    ObjectRef, UnlabelledSecret,
    api::{Edition, Role, names},
};

use super::kubeconfig::{is_at, servers};
use crate::{
    engine::{Answer, ConsumerSecret, Hub},
    subjects::Finding,
    text::{ABSENT, redacted},
};

/// `consumers/secret-namespace-labelled`
///
/// The namespace of a consumer's Secret has a non-empty label with the consumer's name.
pub(in crate::rules) fn secret_namespace_labelled(secret: &ConsumerSecret, hub: &Hub) -> Answer {
    let name = &secret.secret.namespace;
    let Some(namespace) = hub.namespace(name) else {
        return Answer::Unknown(format!("namespace {name} was not seen").into());
    };
    let observed = match namespace.labels.get(names::LABEL_CONSUMER) {
        Some(_) => "an empty value",
        None => ABSENT,
    };
    Answer::broken_if(namespace.consumer().is_none(), || {
        Finding::on(
            secret.secret,
            "the Secret's namespace is not labelled with a consumer's name",
        )
        .at(format!(
            "Namespace {name} metadata.labels[{}]",
            names::LABEL_CONSUMER
        ))
        .expected("the name of a consumer")
        .observed(observed)
    })
}

/// `consumers/secret-names-profile`
///
/// The Secret's label names a profile that exists, in the namespace of its second label or, without one, in any.
pub(in crate::rules) fn secret_names_profile(secret: &ConsumerSecret, hub: &Hub) -> Answer {
    if secret.has_profile() {
        return names_namespace(secret, hub);
    }
    if secret.changed_lately(hub) || hub.may_have_unread_profile(secret.name()) {
        return Answer::NotApplicable;
    }
    let name = match (secret.namespace(), secret.name()) {
        (_, "") => "an empty value".to_owned(),
        (Some(namespace), name) => redacted(&format!("{namespace}/{name}")),
        (None, name) => redacted(name),
    };
    let message = if secret.profiles.is_empty() {
        "the Secret is for a ClusterProfile that does not exist"
    } else {
        "the Secret is for a ClusterProfile that was deleted"
    };
    let finding = Finding::on(secret.secret, message)
        .at(format!("metadata.labels[{}]", names::LABEL_SECRET_PROFILE))
        .expected("the name of an existing ClusterProfile")
        .observed(name);
    let was_never_there = secret.profiles.is_empty() && secret.is_newer_than_watch(hub);
    if secret.name().is_empty() || was_never_there {
        Answer::broken(finding)
    } else {
        Answer::warning(finding)
    }
}

/// Consumers look in the namespace `default` if the Secret names none.
fn names_namespace(secret: &ConsumerSecret, hub: &Hub) -> Answer {
    let in_default = |namespace: &str| namespace == DEFAULT_NAMESPACE;
    let mut namespaces = secret
        .profiles
        .iter()
        .map(|history| &*history.last().metadata.namespace);
    let is_found = secret.namespace().is_some() || namespaces.any(in_default);
    let is_asked = hub.edition(Role::Manager) > Edition::Standard && hub.holds_namespace(DEFAULT_NAMESPACE);
    if is_found || !is_asked || hub.may_have_unread_profile(secret.name()) {
        return Answer::Kept;
    }
    Answer::warning(
        Finding::on(
            secret.secret,
            "the Secret does not name the namespace of its ClusterProfile",
        )
        .at(format!(
            "metadata.labels[{}]",
            names::LABEL_SECRET_PROFILE_NAMESPACE
        ))
        .expected("the namespace, as the profile is not in the namespace default")
        .observed(ABSENT),
    )
}

/// The namespace of a profile for a Secret that names none.
const DEFAULT_NAMESPACE: &str = "default";

/// `consumers/secret-labelled`
///
/// In a consumer's namespace, a Secret with a member's kubeconfig has the label, unless a labelled Secret of that member is
/// there, too.
pub(in crate::rules) fn secret_labelled(secret: &UnlabelledSecret, hub: &Hub) -> Answer {
    let profiles = hub
        .profiles()
        .iter()
        .filter_map(|object| object.lives.iter().find(|life| life.deleted.is_none()));
    let members = profiles.filter(|life| leads_to(secret, &servers(hub, life)));
    let members: Vec<ObjectRef> = members.map(|life| ObjectRef::from(life.last())).collect();
    let labelled = hub
        .consumer_secrets()
        .iter()
        .filter(|other| other.secret.namespace == secret.namespace);
    let mut served = labelled
        .flat_map(|other| &other.profiles)
        .map(|history| &*history.last().metadata.uid);
    let is_copy = served.any(|uid| members.iter().any(|member| *member.uid == *uid));
    let Some(member) = members.first().filter(|_| !is_copy) else {
        return Answer::Kept;
    };
    Answer::broken(
        Finding::on(
            secret,
            "a Secret with a member's kubeconfig does not name the profile",
        )
        .at(format!("metadata.labels[{}]", names::LABEL_SECRET_PROFILE))
        .expected(redacted(&member.name))
        .observed(redacted(&format!(
            "{ABSENT}, though data.{} leads to {member}",
            secret.key
        ))),
    )
}

/// Whether a kubeconfig leads to one of these servers.
fn leads_to(secret: &UnlabelledSecret, servers: &[String]) -> bool {
    let mut written = secret.servers.iter();
    written.any(|written| servers.iter().any(|known| is_at(written, known)))
}
