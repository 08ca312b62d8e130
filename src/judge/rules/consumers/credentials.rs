//! The owners of the credentials in a Secret (KEP-4322 › Secret format).

use std::collections::{BTreeMap, HashSet};

use evidence::{Credential, Evidence, Kubeconfig, KubeconfigUser, Secret};

use super::subject::{NO_SECRET, consumer, namespaces, nothing_found, subjects};
use crate::rules::{
    finding::{Finding, Findings},
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
        let shared = kubeconfig
            .users
            .iter()
            .flat_map(credentials)
            .map(|credential| *owners.entry(credential).or_insert((consumer, secret)))
            .find(|(owner, _)| *owner != consumer);
        if let Some((owner, other)) = shared {
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

/// Finds two entries that cannot belong to one user. They share no credential, and the kubeconfig does not use each
/// for a different server: one consumer may have several names on several clusters.
fn two_users(kubeconfig: &Kubeconfig) -> Option<(&KubeconfigUser, &KubeconfigUser)> {
    let users: Vec<&KubeconfigUser> = kubeconfig
        .users
        .iter()
        .filter(|user| credentials(user).next().is_some())
        .collect();
    let share = |one: &KubeconfigUser, other: &KubeconfigUser| {
        credentials(one).any(|credential| other.credentials.contains(credential))
    };
    let (first, rest) = users.split_first()?;
    rest.iter()
        .find(|other| !share(first, other) && !serve_different_servers(kubeconfig, first, other))
        .map(|other| (*first, *other))
}

fn serve_different_servers(kubeconfig: &Kubeconfig, one: &KubeconfigUser, other: &KubeconfigUser) -> bool {
    let servers = |user: &KubeconfigUser| -> HashSet<&str> {
        let contexts = kubeconfig
            .contexts
            .iter()
            .filter(|context| context.user == user.name);
        contexts
            .filter_map(|context| {
                kubeconfig
                    .clusters
                    .iter()
                    .find(|cluster| cluster.name == context.cluster)
            })
            .map(|cluster| cluster.server.as_str())
            .collect()
    };
    let (one, other) = (servers(one), servers(other));
    !one.is_empty() && !other.is_empty() && one.is_disjoint(&other)
}
