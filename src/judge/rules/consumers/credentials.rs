//! The owners of the credentials in a Secret (KEP-4322 › Secret format).

use std::collections::{BTreeMap, HashMap};

use evidence::{Credential, Evidence, Kubeconfig, KubeconfigUser, Secret};

use super::subject::{NO_SECRET, consumer, namespaces, nothing_found, subjects};
use crate::{
    subjects::{Finding, Findings},
    text::redacted,
};

/// `consumers/secret-single-consumer`
///
/// Each consumer Secret contains one user's credentials, which no other consumer has.
pub(in crate::rules) fn secret_single_consumer(evidence: &Evidence, findings: &mut Findings) {
    let subjects = subjects(evidence);
    if subjects.is_empty() {
        nothing_found(evidence, findings, NO_SECRET)
    } else {
        findings.not_applicable("no Secret holds a kubeconfig")
    }
    let namespaces = namespaces(evidence);
    // Each credential, with the consumer and the Secret that first had it.
    let mut owners: BTreeMap<&Credential, (&str, &Secret)> = BTreeMap::new();
    for subject in &subjects {
        let secret = subject.secret;
        let Some(kubeconfig) = &secret.kubeconfig else {
            continue;
        };
        findings.examine();
        if let Some((one, other)) = two_users(kubeconfig) {
            findings.report(
                Finding::on(secret, "the Secret holds the credentials of more than one user")
                    .at("data.Config.users")
                    .expected("one user's credentials")
                    .observed(redacted(&format!("those of {} and of {}", one.name, other.name))),
            );
        }
        // Another rule reports a namespace without a consumer's name.
        let namespace = namespaces.get(secret.namespace.as_str());
        let Some(consumer) = namespace.and_then(|namespace| consumer(namespace)) else {
            continue;
        };
        let shared: Vec<(&str, &Secret)> = kubeconfig
            .users
            .iter()
            .flat_map(credentials)
            .map(|credential| *owners.entry(credential).or_insert((consumer, secret)))
            .filter(|(owner, _)| *owner != consumer)
            .collect();
        if let Some((owner, other)) = shared.first() {
            findings.report(
                Finding::on(secret, "two consumers are given the same credential")
                    .at("data.Config.users")
                    .expected(format!("a credential of consumer {consumer} alone"))
                    .observed(format!(
                        "that of consumer {owner} in {}/{}",
                        other.namespace, other.name
                    )),
            );
        }
    }
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
