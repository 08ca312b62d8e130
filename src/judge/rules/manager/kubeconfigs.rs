//! The kubeconfigs in the Secrets of consumers (KEP-4322 › Secret format).

use evidence::{
    Credential, CredentialKind, Kubeconfig, KubeconfigCluster, KubeconfigUser,
    api::endpoints::{self, Endpoints},
};

use crate::{engine::ConsumerSecret, rules::prelude::*, text::holds_credential};

const PATH: &str = "data.Config";
pub(super) const USERS_PATH: &str = "data.Config.users";

/// `consumers/secret-has-kubeconfig`: `data.Config` is a kubeconfig with a current, or only, context that names a
/// cluster with a server, and a user.
pub(crate) fn secret_has_kubeconfig(secret: &ConsumerSecret, _: &Hub) -> Answer {
    let secret = secret.secret;
    let problem = match (&secret.kubeconfig_error, &secret.kubeconfig) {
        (Some(error), _) => error.to_string(),
        (None, Some(kubeconfig)) => {
            let answer = |finding: Box<Finding>| Answer::broken(*finding);
            return resolve(kubeconfig).map_or_else(answer, |_| Answer::Kept);
        }
        (None, None) if secret.keys.is_empty() => ABSENT.to_owned(),
        (None, None) => format!("{ABSENT}; there are {}", secret.keys.join(", ")),
    };
    Answer::broken(Finding::at_field(PATH, redacted(&problem)))
}

/// Resolves the current context, or the only context if none is current, to its cluster and user.
///
/// # Errors
/// The finding on the field that leads to nothing.
fn resolve(kubeconfig: &Kubeconfig) -> Result<&KubeconfigCluster, Box<Finding>> {
    let unresolved = |field: &str, expected: &str, name: &str| {
        let name = redacted_or_absent(Some(name).filter(|name| !name.is_empty()));
        Box::new(Finding::at_field(format!("{PATH}.{field}"), name).expected(expected))
    };
    let current = kubeconfig.current_context.as_str();
    let context = match (current, kubeconfig.contexts.as_slice()) {
        ("", [only]) => Some(only),
        (current, contexts) => contexts.iter().find(|context| context.name == current),
    };
    let context = context.ok_or_else(|| unresolved("current-context", "the name of a context", current))?;
    let mut clusters = kubeconfig.clusters.iter();
    let cluster = clusters.find(|cluster| cluster.name == context.cluster);
    let no_cluster = || unresolved("contexts.cluster", "the name of a cluster", &context.cluster);
    let cluster = cluster.ok_or_else(no_cluster)?;
    if !kubeconfig.users.iter().any(|user| user.name == context.user) {
        return Err(unresolved("contexts.user", "the name of a user", &context.user));
    }
    if cluster.server.is_empty() {
        return Err(unresolved("clusters.server", "the URL of an API server", ""));
    }
    Ok(cluster)
}

/// `consumers/kubeconfig-self-contained`: the kubeconfig names no file and runs no plugin.
pub(crate) fn kubeconfig_self_contained(secret: &ConsumerSecret, _: &Hub) -> Answer {
    let Some(Kubeconfig { clusters, users, .. }) = &secret.secret.kubeconfig else {
        return Answer::NotApplicable;
    };
    let clusters = clusters.iter();
    let of_clusters = clusters.map(|cluster| ("clusters", &cluster.name, &cluster.files));
    let of_users = users.iter().map(|user| ("users", &user.name, &user.files));
    let files = of_clusters.chain(of_users).flat_map(|(list, name, files)| {
        let message = "the kubeconfig refers to a file that the consumer does not have";
        files.iter().map(move |field| {
            let path = redacted(&format!("{PATH}.{list}[{name}].{field}"));
            Finding::at_path(path, message)
                .expected("the data itself")
                .observed("a path")
        })
    });
    let runs_plugin = |user: &&KubeconfigUser| {
        let mut credentials = user.credentials.iter();
        credentials.any(|credential| credential.kind == CredentialKind::Exec)
    };
    let plugins = users.iter().filter(runs_plugin).map(|user| {
        let message = "the kubeconfig runs a plugin that the consumer may not have";
        let path = redacted(&format!("{USERS_PATH}[{}].exec", user.name));
        Finding::at_path(path, message)
            .expected("a credential")
            .observed("an exec plugin")
    });
    Answer::all(files.chain(plugins))
}

/// `consumers/kubeconfig-points-at-member`: the kubeconfig's server is, or is below, an endpoint or an access
/// provider's server that the profile had in the last 2 min.
pub(crate) fn kubeconfig_points_at_member(secret: &ConsumerSecret, hub: &Hub) -> Answer {
    let Some(Ok(cluster)) = secret.secret.kubeconfig.as_ref().map(resolve) else {
        return Answer::NotApplicable;
    };
    let living = || secret.profiles.iter().filter(|history| history.deleted.is_none());
    let mut urls: Vec<String> = living().flat_map(|history| servers(hub, history)).collect();
    if urls.is_empty() {
        return Answer::NotApplicable;
    }
    urls.sort_unstable();
    urls.dedup();
    let is_known = urls.iter().any(|url| is_at(&cluster.server, url));
    Answer::broken_if(!is_known, || {
        let profiles = living().flat_map(|history| hub.recent(history));
        let mut endpoints = profiles.filter_map(|profile| profile.property(PROPERTY_ENDPOINTS));
        // A normalized endpoint may be an unrecognizable piece of a credential.
        let expected = if endpoints.any(|property| holds_credential(&property.value)) {
            "one of the profile's endpoints".to_owned()
        } else {
            format!("one of {}", urls.join(", "))
        };
        let path = redacted(&format!("{PATH}.clusters[{}].server", cluster.name));
        Finding::at_field(path, redacted(&cluster.server)).expected(redacted(&expected))
    })
}

/// Whether a written server is at a normalized endpoint. A proxy may add a path, and an endpoint may omit the port.
pub(super) fn is_at(url: &str, endpoint: &str) -> bool {
    let server = endpoints::normal(url);
    let rest = server.as_ref().and_then(|server| server.strip_prefix(endpoint));
    url == endpoint || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', ':']))
}

/// The API servers that a profile had in the last 2 min, normalized where possible.
pub(super) fn servers(hub: &Hub, history: &ProfileHistory) -> Vec<String> {
    let normal = |server: &str| endpoints::normal(server).unwrap_or_else(|| server.to_owned());
    let mut servers = Vec::new();
    for profile in hub.recent(history) {
        if let Some(property) = profile.property(PROPERTY_ENDPOINTS) {
            let endpoints = Endpoints::read(&property.value);
            servers.extend(endpoints.entries().iter().map(|endpoint| normal(endpoint)));
        }
        let providers = profile.access();
        let of_providers = providers.filter_map(|access| access.cluster.server.as_deref());
        servers.extend(of_providers.map(normal));
    }
    servers
}

type Owner<'h, 'e> = (&'e str, &'h ConsumerSecret<'e>);

/// `consumers/secret-single-consumer`: no Secret has, for one server, next to its own user another one that is the only
/// user of another consumer's Secret.
///
/// Two users without a common credential at one server are a warning, and so is a credential of two consumers.
pub(crate) fn secret_single_consumer(secret: &ConsumerSecret, hub: &Hub) -> Answer {
    let Some(kubeconfig) = &secret.secret.kubeconfig else {
        return Answer::NotApplicable;
    };
    let consumer = hub.consumer_of(&secret.secret.namespace);
    let pairs = users_of_one_server(kubeconfig);
    let finding = |message: &str, expected: &str, observed: String| {
        let finding = Finding::at_path(USERS_PATH, message).expected(expected);
        finding.observed(redacted(&observed))
    };
    let path = |other: &ConsumerSecret| format!("{}/{}", other.secret.namespace, other.secret.name);
    let guest = consumer.and_then(|consumer| {
        let mut pairs = pairs.iter();
        pairs.find_map(|(user, guest)| Some((user, guest, owner_of_guest(hub, consumer, user, guest)?)))
    });
    if let Some((user, guest, (owner, other))) = guest {
        let (user, guest, path) = (&user.name, &guest.name, path(other));
        let observed =
            format!("credentials of {user} and {guest}; {path} has those of {guest} for consumer {owner}");
        let message = "the Secret contains the credentials of two consumers";
        return Answer::broken(finding(message, "one consumer's credentials", observed));
    }
    let two = pairs.first().map(|(one, other)| {
        let message = "the Secret contains the credentials of more than one user";
        let observed = format!("credentials of {} and {}", one.name, other.name);
        finding(message, "one user's credentials", observed)
    });
    let shared = consumer.and_then(|consumer| {
        let (owner, other) = shared_with(hub, secret, kubeconfig, consumer)?;
        let observed = format!("the credential of consumer {owner} in {}", path(other));
        let expected = format!("a credential only for consumer {consumer}");
        Some(finding("two consumers share a credential", &expected, observed))
    });
    Answer::all(two.into_iter().chain(shared).map(Finding::advisory))
}

/// The other consumer that `guest` gives access to, if `user` is the Secret's own user.
fn owner_of_guest<'h, 'e>(
    hub: &'h Hub<'e>,
    consumer: &str,
    user: &KubeconfigUser,
    guest: &KubeconfigUser,
) -> Option<Owner<'h, 'e>> {
    let is_own = credentials(user).all(|credential| others_with(hub, credential, consumer).is_empty());
    let owners = credentials(guest).flat_map(|credential| others_with(hub, credential, consumer));
    let mut alone = owners.filter(|(_, other)| other.secret.kubeconfig.as_ref().is_some_and(has_one_user));
    alone.next().filter(|_| is_own)
}

/// Another consumer whose earlier Secret has a credential of this one, unless it is a guest there.
fn shared_with<'h, 'e>(
    hub: &'h Hub<'e>,
    secret: &ConsumerSecret,
    kubeconfig: &Kubeconfig,
    consumer: &str,
) -> Option<Owner<'h, 'e>> {
    let name = (&secret.secret.namespace, &secret.secret.name);
    let credentials_of_secret = kubeconfig.users.iter().flat_map(credentials);
    let mut owners = credentials_of_secret.flat_map(|credential| others_with(hub, credential, consumer));
    owners.find(|(_, other)| {
        let is_mixed = |kubeconfig| !users_of_one_server(kubeconfig).is_empty();
        let is_guest = has_one_user(kubeconfig) && other.secret.kubeconfig.as_ref().is_some_and(is_mixed);
        (&other.secret.namespace, &other.secret.name) < name && !is_guest
    })
}

/// The Secrets of other consumers that have a credential.
fn others_with<'h, 'e>(hub: &'h Hub<'e>, credential: &Credential, consumer: &str) -> Vec<Owner<'h, 'e>> {
    let secrets = hub.secrets_with(credential);
    let owners = secrets.filter_map(|secret| Some((hub.consumer_of(&secret.secret.namespace)?, secret)));
    owners.filter(|(owner, _)| *owner != consumer).collect()
}

fn users_with_credential(kubeconfig: &Kubeconfig) -> Vec<&KubeconfigUser> {
    let users = kubeconfig.users.iter();
    users.filter(|user| credentials(user).next().is_some()).collect()
}

fn has_one_user(kubeconfig: &Kubeconfig) -> bool {
    users_with_credential(kubeconfig).len() == 1
}

/// Pairs of users that share no credential and are for one server, in both orders. A user in no context may be for any.
fn users_of_one_server(kubeconfig: &Kubeconfig) -> Vec<(&KubeconfigUser, &KubeconfigUser)> {
    let users = users_with_credential(kubeconfig);
    let are_at_one = |one: &[&str], other: &[&str]| {
        one.is_empty() || other.is_empty() || one.iter().any(|server| other.contains(server))
    };
    let shares = |one: &KubeconfigUser, other: &KubeconfigUser| {
        credentials(one).any(|credential| other.credentials.contains(credential))
    };
    let users = users.into_iter();
    let users = users.map(|user| (user, user_servers(kubeconfig, &user.name)));
    let users: Vec<(&KubeconfigUser, Vec<&str>)> = users.collect();
    let mut pairs = Vec::new();
    for (place, (one, one_servers)) in users.iter().enumerate() {
        for (other_place, (other, other_servers)) in users.iter().enumerate() {
            if place != other_place && are_at_one(one_servers, other_servers) && !shares(one, other) {
                pairs.push((*one, *other));
            }
        }
    }
    pairs
}

/// The servers for which the contexts use a user.
fn user_servers<'k>(kubeconfig: &'k Kubeconfig, user: &str) -> Vec<&'k str> {
    let contexts = kubeconfig.contexts.iter().filter(|context| context.user == user);
    let clusters = contexts.filter_map(|context| {
        let mut clusters = kubeconfig.clusters.iter();
        clusters.find(|cluster| cluster.name == context.cluster)
    });
    clusters.map(|cluster| cluster.server.as_str()).collect()
}

/// The credentials that can be compared.
fn credentials(user: &KubeconfigUser) -> impl Iterator<Item = &Credential> {
    let credentials = user.credentials.iter();
    credentials.filter(|credential| !credential.digest.is_empty())
}
