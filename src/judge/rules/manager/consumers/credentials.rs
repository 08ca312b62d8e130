//! The owners of the credentials in a Secret (KEP-4322 › Secret format).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use evidence::{Credential, Evidence, Kubeconfig, KubeconfigUser, Secret};

use super::subject::{NO_SECRET, consumer, namespaces, nothing_found, subjects};
use crate::{
    subjects::{Finding, Findings},
    text::redacted,
};

/// `consumers/secret-single-consumer`
///
/// Each consumer Secret contains the credentials of its consumer alone.
///
/// Two users of one server are one consumer's or two, and a credential of two consumers is only one in each Secret: both
/// are warnings. It is a violation if the second user is the one by which another consumer's Secret gives access.
pub(in crate::rules) fn secret_single_consumer(evidence: &Evidence, findings: &mut Findings) {
    let subjects = subjects(evidence);
    if subjects.is_empty() {
        nothing_found(evidence, findings, NO_SECRET)
    } else {
        findings.not_applicable("no Secret contains a kubeconfig")
    }
    let namespaces = namespaces(evidence);
    let secrets = subjects.iter().filter_map(|subject| {
        let secret = subject.secret;
        // Another rule reports a namespace without a consumer's name.
        let namespace = namespaces.get(secret.namespace.as_str());
        let consumer = namespace.and_then(|namespace| consumer(namespace));
        Some((secret, secret.kubeconfig.as_ref()?, consumer))
    });
    let secrets: Vec<(&Secret, &Kubeconfig, Option<&str>)> = secrets.collect();
    let owners = Owners::of(&secrets);
    // Whose credential was found beside another user's is known; that both have it is no second fault.
    let mut misplaced: BTreeSet<&Credential> = BTreeSet::new();
    let mut mixed: BTreeSet<(&str, &str)> = BTreeSet::new();
    for (secret, kubeconfig, consumer) in &secrets {
        if let Some(two) = consumer.and_then(|consumer| owners.two_consumers(kubeconfig, consumer)) {
            misplaced.extend(credentials(two.foreign));
            mixed.insert((&secret.namespace, &secret.name));
            findings.report(
                Finding::on(*secret, "the Secret contains the credentials of two consumers")
                    .at(USERS)
                    .expected("one consumer's credentials")
                    .observed(redacted(&format!(
                        "those of {}, and of {}, by which {}/{} gives access to consumer {}",
                        two.own.name, two.foreign.name, two.owner.1.namespace, two.owner.1.name, two.owner.0
                    ))),
            );
        }
    }
    // Each credential, with the consumer and the Secret that first had it.
    let mut first: BTreeMap<&Credential, Owner> = BTreeMap::new();
    for (secret, kubeconfig, consumer) in secrets {
        findings.examine();
        let is_mixed = mixed.contains(&(&*secret.namespace, &*secret.name));
        if let Some((one, other)) = two_users(kubeconfig).filter(|_| !is_mixed) {
            findings.report(
                Finding::on(
                    secret,
                    "the Secret contains the credentials of more than one user",
                )
                .at(USERS)
                .expected("one user's credentials")
                .observed(redacted(&format!("those of {} and of {}", one.name, other.name)))
                .advisory(),
            );
        }
        let Some(consumer) = consumer else {
            continue;
        };
        let credentials = kubeconfig.users.iter().flat_map(credentials);
        let shared: Vec<Owner> = credentials
            .filter(|credential| !misplaced.contains(credential))
            .map(|credential| *first.entry(credential).or_insert((consumer, secret)))
            .filter(|(owner, _)| *owner != consumer)
            .collect();
        if let Some((owner, other)) = shared.first() {
            findings.report(
                Finding::on(secret, "two consumers share a credential")
                    .at(USERS)
                    .expected(format!("a credential of consumer {consumer} alone"))
                    .observed(format!(
                        "that of consumer {owner} in {}/{}",
                        other.namespace, other.name
                    ))
                    .advisory(),
            );
        }
    }
}

const USERS: &str = "data.Config.users";

/// A consumer, and one of its Secrets.
type Owner<'a> = (&'a str, &'a Secret);

/// Which consumers have each credential. Two of them are enough to find one that is another's.
#[derive(Default)]
struct Owners<'a> {
    any: BTreeMap<&'a Credential, Vec<Owner<'a>>>,
    /// By Secrets that hold one user only: this user is the consumer's access.
    alone: BTreeMap<&'a Credential, Vec<Owner<'a>>>,
}

/// Two users of one server in one Secret, of two consumers.
struct TwoConsumers<'a> {
    own: &'a KubeconfigUser,
    foreign: &'a KubeconfigUser,
    /// The other consumer, with its own Secret.
    owner: Owner<'a>,
}

impl<'a> Owners<'a> {
    fn of(secrets: &[(&'a Secret, &'a Kubeconfig, Option<&'a str>)]) -> Self {
        let mut owners = Self::default();
        for &(secret, kubeconfig, consumer) in secrets {
            let Some(consumer) = consumer else {
                continue;
            };
            let users = by_user(kubeconfig);
            let is_alone = users.iter().all(|(_, user)| *user == 0);
            for credential in users.iter().flat_map(|(entry, _)| credentials(entry)) {
                add(&mut owners.any, credential, (consumer, secret));
                if is_alone {
                    add(&mut owners.alone, credential, (consumer, secret));
                }
            }
        }
        owners
    }

    /// Finds two users of one server: one that no other consumer has, and one that is the only user of another consumer's
    /// Secret.
    fn two_consumers(&self, kubeconfig: &'a Kubeconfig, consumer: &str) -> Option<TwoConsumers<'a>> {
        let entries = by_user(kubeconfig);
        let mut of_users: HashMap<usize, (bool, Option<Owner<'a>>)> = HashMap::new();
        for (entry, user) in &entries {
            let (is_own, owner) = of_users.entry(*user).or_insert((true, None));
            for credential in credentials(entry) {
                *is_own &= other_than(&self.any, credential, consumer).is_none();
                *owner = owner.or_else(|| other_than(&self.alone, credential, consumer));
            }
        }
        let servers = servers(kubeconfig);
        // The first of both kinds for each server, and the first that may be for any server.
        let mut own: BTreeMap<Option<&str>, &'a KubeconfigUser> = BTreeMap::new();
        let mut foreign: BTreeMap<Option<&str>, (&'a KubeconfigUser, Owner<'a>)> = BTreeMap::new();
        for (entry, user) in entries {
            let places: Vec<Option<&str>> = match servers.get(entry.name.as_str()) {
                None => vec![None],
                Some(servers) => servers.iter().copied().map(Some).collect(),
            };
            for place in places {
                match of_users[&user] {
                    (true, _) => _ = own.entry(place).or_insert(entry),
                    (false, Some(owner)) => _ = foreign.entry(place).or_insert((entry, owner)),
                    (false, None) => {}
                }
            }
        }
        let mut pairs = own.iter().filter_map(|(place, own)| {
            let rival = match place {
                Some(_) => foreign.get(place).or_else(|| foreign.get(&None)),
                None => foreign.values().next(),
            };
            Some((*own, *rival?))
        });
        let (own, (foreign, owner)) = pairs.next()?;
        Some(TwoConsumers { own, foreign, owner })
    }
}

fn add<'a>(
    owners: &mut BTreeMap<&'a Credential, Vec<Owner<'a>>>,
    credential: &'a Credential,
    owner: Owner<'a>,
) {
    let owners = owners.entry(credential).or_default();
    if owners.len() < 2 && owners.iter().all(|(consumer, _)| *consumer != owner.0) {
        owners.push(owner);
    }
}

fn other_than<'a>(
    owners: &BTreeMap<&'a Credential, Vec<Owner<'a>>>,
    credential: &Credential,
    consumer: &str,
) -> Option<Owner<'a>> {
    let mut owners = owners.get(credential).into_iter().flatten();
    owners.find(|(other, _)| *other != consumer).copied()
}

/// The credentials that can be compared.
fn credentials(user: &KubeconfigUser) -> impl Iterator<Item = &Credential> {
    user.credentials
        .iter()
        .filter(|credential| !credential.digest.is_empty())
}

/// Finds two entries that cannot belong to one user. Entries that share a credential, directly or through others,
/// belong to one. So do entries for different servers: one consumer may have several names on several clusters.
fn two_users(kubeconfig: &Kubeconfig) -> Option<(&KubeconfigUser, &KubeconfigUser)> {
    let servers = servers(kubeconfig);
    // The first entry for each server, the first that may be for any server, and the first of each of two users.
    let mut at_server: HashMap<&str, Entry> = HashMap::new();
    let mut anywhere: Option<Entry> = None;
    let mut of_users: Vec<Entry> = Vec::new();
    for entry in by_user(kubeconfig) {
        let own = servers.get(entry.0.name.as_str());
        let rivals: Vec<Entry> = match own {
            None => of_users.clone(),
            Some(own) => {
                let there = own.iter().filter_map(|server| at_server.get(server));
                there.copied().chain(anywhere).collect()
            }
        };
        if let Some((rival, _)) = rivals.iter().find(|(_, user)| *user != entry.1) {
            return Some((*rival, entry.0));
        }
        if of_users.len() < 2 && of_users.iter().all(|(_, user)| *user != entry.1) {
            of_users.push(entry);
        }
        match own {
            None => _ = anywhere.get_or_insert(entry),
            Some(own) => own
                .iter()
                .for_each(|server| _ = at_server.entry(server).or_insert(entry)),
        }
    }
    None
}

/// An entry with a credential, and the number of its user.
type Entry<'a> = (&'a KubeconfigUser, usize);

/// The entries with a credential. Those that share one are of one user.
fn by_user(kubeconfig: &Kubeconfig) -> Vec<Entry<'_>> {
    let entries: Vec<&KubeconfigUser> = kubeconfig
        .users
        .iter()
        .filter(|user| credentials(user).next().is_some())
        .collect();
    let mut of_credential: BTreeMap<&Credential, Vec<usize>> = BTreeMap::new();
    for (place, entry) in entries.iter().enumerate() {
        for credential in credentials(entry) {
            of_credential.entry(credential).or_default().push(place);
        }
    }
    let mut users: Vec<Option<usize>> = vec![None; entries.len()];
    for user in 0..entries.len() {
        let mut waiting = vec![user];
        while let Some(place) = waiting.pop() {
            if users[place].is_some() {
                continue;
            }
            users[place] = Some(user);
            for credential in credentials(entries[place]) {
                waiting.extend(of_credential.remove(credential).unwrap_or_default());
            }
        }
    }
    let users = users.into_iter().flatten();
    entries.into_iter().zip(users).collect()
}

/// The servers for which the contexts use each entry, by its name.
fn servers(kubeconfig: &Kubeconfig) -> HashMap<&str, Vec<&str>> {
    let clusters: HashMap<&str, &str> = kubeconfig
        .clusters
        .iter()
        .rev()
        .map(|cluster| (cluster.name.as_str(), cluster.server.as_str()))
        .collect();
    let mut servers: HashMap<&str, Vec<&str>> = HashMap::new();
    for context in &kubeconfig.contexts {
        if let Some(server) = clusters.get(context.cluster.as_str()) {
            servers.entry(context.user.as_str()).or_default().push(server);
        }
    }
    servers
}
