//! Consumers' Secrets that do not say whose credentials they hold (KEP-4322 › Secret format).

use std::collections::HashSet;

use evidence::{
    Evidence, ObjectRef, ProfileHistory, UnlabelledSecret,
    api::{endpoints, names},
};

use super::{
    kubeconfig::{is_at, servers},
    subject::{consumer, nothing_found, subjects},
};
use crate::{
    subjects::{Finding, Findings},
    text::{ABSENT, redacted},
};

/// `consumers/secret-labelled`
///
/// In a consumer's namespace, each Secret with a kubeconfig of a member has the label that names the profile.
///
/// Where a labelled Secret of the same member lies beside it, the other is a copy of the consumer's own.
pub(in crate::rules) fn secret_labelled(evidence: &Evidence, findings: &mut Findings) {
    let namespaces = evidence.namespaces.iter();
    let consumers: HashSet<&str> = namespaces
        .filter(|namespace| consumer(namespace).is_some())
        .map(|namespace| namespace.name.as_str())
        .collect();
    if consumers.is_empty() {
        let what = "no namespace with label x-k8s.io/cluster-inventory-consumer was found";
        nothing_found(evidence, findings, what);
    }
    findings.examined += consumers.len();
    let mut suspects = evidence.unlabelled_secrets.iter().peekable();
    if suspects.peek().is_none() {
        return;
    }
    let known: Vec<(&ProfileHistory, Vec<String>)> = evidence
        .histories()
        .filter(|history| history.deleted.is_none())
        .map(|history| (history, servers(evidence, history)))
        .collect();
    let served = served(evidence);
    for secret in suspects.filter(|secret| consumers.contains(secret.namespace.as_str())) {
        let members: Vec<&ProfileHistory> = known
            .iter()
            .filter(|(_, servers)| leads_to(secret, servers))
            .map(|(history, _)| *history)
            .collect();
        let is_copy = |history: &&ProfileHistory| served.contains(&(secret.namespace.as_str(), uid(history)));
        let Some(first) = members.first().filter(|_| !members.iter().any(is_copy)) else {
            continue;
        };
        findings.report(
            Finding::on(
                secret,
                "a Secret with a member's kubeconfig does not name the profile",
            )
            .at(format!("metadata.labels[{}]", names::LABEL_SECRET_PROFILE))
            .expected(redacted(&first.last().metadata.name))
            .observed(redacted(&format!(
                "{ABSENT}, though data.{} leads to {}",
                secret.key,
                ObjectRef::from(first.last())
            ))),
        );
    }
}

/// The namespaces that hold a labelled Secret for a profile.
fn served(evidence: &Evidence) -> HashSet<(&str, &str)> {
    let subjects = subjects(evidence).into_iter();
    subjects
        .flat_map(|subject| {
            let namespace = subject.secret.namespace.as_str();
            let profiles = subject.profiles.into_iter();
            profiles.map(move |history| (namespace, uid(history)))
        })
        .collect()
}

fn uid(history: &ProfileHistory) -> &str {
    &history.last().metadata.uid
}

/// Whether a kubeconfig leads to one of these servers.
fn leads_to(secret: &UnlabelledSecret, servers: &[String]) -> bool {
    secret.servers.iter().any(|written| {
        let server = endpoints::normal(written);
        servers
            .iter()
            .any(|known| known == written || server.as_ref().is_some_and(|server| is_at(server, known)))
    })
}
