//! The owners of the credentials in a Secret (KEP-4322 › Secret format).

use evidence::{Credential, Kubeconfig, KubeconfigUser};

use crate::{
    engine::{Answer, ConsumerSecret, Hub},
    subjects::Finding,
    text::redacted,
};

/// `consumers/secret-single-consumer`
///
/// No Secret has, for one server, beside its own user another one that is the only user of another consumer's Secret.
///
/// Two users without a common credential at one server are a warning, and so is a credential of two consumers.
pub(in crate::rules) fn secret_single_consumer(secret: &ConsumerSecret, hub: &Hub) -> Answer {
    let Some(kubeconfig) = &secret.secret.kubeconfig else {
        return Answer::NotApplicable;
    };
    let consumer = hub.consumer_of(&secret.secret.namespace);
    let pairs = users_of_one_server(kubeconfig);
    let guest = consumer.and_then(|consumer| {
        pairs
            .iter()
            .find_map(|(own, guest)| Some((own, guest, owner_of_guest(hub, consumer, own, guest)?)))
    });
    let finding = |message: &str, expected: &str, observed: String| {
        let finding = Finding::on(secret.secret, message).at(USERS).expected(expected);
        finding.observed(redacted(&observed))
    };
    if let Some((own, guest, (owner, other))) = guest {
        let place = format!("{}/{}", other.secret.namespace, other.secret.name);
        return Answer::broken(finding(
            "the Secret contains the credentials of two consumers",
            "one consumer's credentials",
            format!(
                "those of {}, and of {}, by which {place} gives access to consumer {owner}",
                own.name, guest.name
            ),
        ));
    }
    let two = pairs.first().map(|(one, other)| {
        let message = "the Secret contains the credentials of more than one user";
        finding(
            message,
            "one user's credentials",
            format!("those of {} and of {}", one.name, other.name),
        )
    });
    let shared = consumer.and_then(|consumer| {
        let (owner, other) = shared_with(hub, secret, kubeconfig, consumer)?;
        let place = format!(
            "that of consumer {owner} in {}/{}",
            other.secret.namespace, other.secret.name
        );
        let expected = format!("a credential of consumer {consumer} alone");
        Some(finding("two consumers share a credential", &expected, place))
    });
    Answer::all(two.into_iter().chain(shared).map(Finding::advisory))
}

const USERS: &str = "data.Config.users";

/// A consumer, with one of its Secrets.
type Owner<'h, 'e> = (&'e str, &'h ConsumerSecret<'e>);

/// The other consumer that `guest` gives access to, if `own` is the Secret's own user.
fn owner_of_guest<'h, 'e>(
    hub: &'h Hub<'e>,
    consumer: &str,
    own: &KubeconfigUser,
    guest: &KubeconfigUser,
) -> Option<Owner<'h, 'e>> {
    let is_own = credentials(own).all(|credential| others_with(hub, credential, consumer).is_empty());
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
    let own = kubeconfig.users.iter().flat_map(credentials);
    let mut others = own.flat_map(|credential| others_with(hub, credential, consumer));
    others.find(|(_, other)| {
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

fn has_one_user(kubeconfig: &Kubeconfig) -> bool {
    kubeconfig
        .users
        .iter()
        .filter(|user| credentials(user).next().is_some())
        .count()
        == 1
}

/// Pairs of users that share no credential and are for one server, in both orders. A user in no context may be for any.
fn users_of_one_server(kubeconfig: &Kubeconfig) -> Vec<(&KubeconfigUser, &KubeconfigUser)> {
    let users: Vec<&KubeconfigUser> = kubeconfig
        .users
        .iter()
        .filter(|user| credentials(user).next().is_some())
        .collect();
    let servers: Vec<Vec<&str>> = users.iter().map(|user| servers(kubeconfig, &user.name)).collect();
    let is_at_one = |one: usize, other: usize| {
        let (one, other) = (&servers[one], &servers[other]);
        one.is_empty() || other.is_empty() || one.iter().any(|server| other.contains(server))
    };
    let shares = |one: &KubeconfigUser, other: &KubeconfigUser| {
        credentials(one).any(|credential| other.credentials.contains(credential))
    };
    let places = (0..users.len()).flat_map(|one| (0..users.len()).map(move |other| (one, other)));
    let pairs = places.filter(|(one, other)| {
        one != other && is_at_one(*one, *other) && !shares(users[*one], users[*other])
    });
    pairs.map(|(one, other)| (users[one], users[other])).collect()
}

/// The servers for which the contexts use a user.
fn servers<'k>(kubeconfig: &'k Kubeconfig, user: &str) -> Vec<&'k str> {
    let contexts = kubeconfig.contexts.iter().filter(|context| context.user == user);
    let clusters = contexts.filter_map(|context| {
        kubeconfig
            .clusters
            .iter()
            .find(|cluster| cluster.name == context.cluster)
    });
    clusters.map(|cluster| cluster.server.as_str()).collect()
}

/// The credentials that can be compared.
fn credentials(user: &KubeconfigUser) -> impl Iterator<Item = &Credential> {
    user.credentials
        .iter()
        .filter(|credential| !credential.digest.is_empty())
}
