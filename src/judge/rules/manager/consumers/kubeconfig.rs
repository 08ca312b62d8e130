//! The content of a consumer's kubeconfig (KEP-4322 › Secret format).

use std::collections::HashSet;

use evidence::{
    CredentialKind, Evidence, Kubeconfig, KubeconfigCluster, ProfileHistory, Version,
    api::{
        endpoints::{self, Endpoints},
        names,
    },
};

use super::subject::{NO_SECRET, nothing_found, subjects};
use crate::{
    subjects::{Finding, Findings},
    text::{ABSENT, holds_credential, redacted},
    time::{GRACE_SECONDS, SECOND, end},
};

/// `consumers/secret-has-kubeconfig`
///
/// Each consumer Secret contains a kubeconfig with a usable current context.
pub(in crate::rules) fn secret_has_kubeconfig(evidence: &Evidence, findings: &mut Findings) {
    let subjects = subjects(evidence);
    if subjects.is_empty() {
        nothing_found(evidence, findings, NO_SECRET);
    }
    for subject in subjects {
        findings.examine();
        let secret = subject.secret;
        let report = |path: String, expected: &str, observed: String, findings: &mut Findings| {
            findings.report(
                Finding::on(secret, "the Secret contains no usable kubeconfig")
                    .at(path)
                    .expected(expected)
                    .observed(observed),
            );
        };
        let path = format!("data.{}", names::SECRET_CONFIG_KEY);
        match (&secret.kubeconfig, &secret.kubeconfig_error) {
            (_, Some(error)) => report(path, "a kubeconfig", redacted(error), findings),
            (None, None) => {
                let observed = match secret.keys.as_slice() {
                    [] => ABSENT.to_owned(),
                    keys => redacted(&format!("{ABSENT}; there are {}", keys.join(", "))),
                };
                report(path, "a kubeconfig", observed, findings);
            }
            (Some(kubeconfig), None) => {
                if let Err(fault) = resolve(kubeconfig) {
                    report(
                        format!("{path}.{}", fault.path),
                        fault.expected,
                        fault.observed,
                        findings,
                    );
                }
            }
        }
    }
}

/// Why a kubeconfig's context does not resolve.
struct Fault {
    path: &'static str,
    expected: &'static str,
    observed: String,
}

/// Resolves the current context, or the only context if none is current, to its cluster and user.
fn resolve(kubeconfig: &Kubeconfig) -> Result<&KubeconfigCluster, Fault> {
    let fault = |path, expected, name: &str| Fault {
        path,
        expected,
        observed: match name {
            "" => ABSENT.to_owned(),
            name => redacted(name),
        },
    };
    let current = kubeconfig.current_context.as_str();
    let context = match (current, kubeconfig.contexts.as_slice()) {
        ("", [only]) => Some(only),
        (current, contexts) => contexts.iter().find(|context| context.name == current),
    };
    let context = context.ok_or_else(|| fault("current-context", "the name of a context", current))?;
    let cluster = kubeconfig
        .clusters
        .iter()
        .find(|cluster| cluster.name == context.cluster)
        .ok_or_else(|| fault("contexts.cluster", "the name of a cluster", &context.cluster))?;
    if !kubeconfig.users.iter().any(|user| user.name == context.user) {
        return Err(fault("contexts.user", "the name of a user", &context.user));
    }
    if cluster.server.is_empty() {
        Err(fault("clusters.server", "the URL of an API server", ""))
    } else {
        Ok(cluster)
    }
}

/// `consumers/kubeconfig-self-contained`
///
/// No consumer kubeconfig refers to files or exec plugins.
pub(in crate::rules) fn kubeconfig_self_contained(evidence: &Evidence, findings: &mut Findings) {
    let subjects = subjects(evidence);
    if subjects.is_empty() {
        nothing_found(evidence, findings, NO_SECRET)
    } else {
        findings.not_applicable(NO_KUBECONFIG)
    }
    for subject in subjects {
        let Some(kubeconfig) = &subject.secret.kubeconfig else {
            continue;
        };
        findings.examine();
        let of_clusters = kubeconfig.clusters.iter().flat_map(|cluster| {
            cluster
                .files
                .iter()
                .map(|field| ("clusters", &cluster.name, field))
        });
        let of_users = kubeconfig
            .users
            .iter()
            .flat_map(|user| user.files.iter().map(|field| ("users", &user.name, field)));
        for (list, name, field) in of_clusters.chain(of_users) {
            findings.report(
                Finding::on(
                    subject.secret,
                    "the kubeconfig refers to a file, which its reader does not have",
                )
                .at(redacted(&format!("data.Config.{list}[{name}].{field}")))
                .expected("the data itself")
                .observed("a path"),
            );
        }
        for user in &kubeconfig.users {
            let mut credentials = user.credentials.iter();
            if credentials.any(|credential| credential.kind == CredentialKind::Exec) {
                findings.report(
                    Finding::on(
                        subject.secret,
                        "the kubeconfig runs a plugin, which its reader may not have",
                    )
                    .at(redacted(&format!("data.Config.users[{}].exec", user.name)))
                    .expected("a credential")
                    .observed("an exec plugin"),
                );
            }
        }
    }
}

const NO_KUBECONFIG: &str = "no Secret contains a usable kubeconfig";

/// `consumers/kubeconfig-points-at-member`
///
/// The server of a consumer kubeconfig is one of the profile's endpoints.
pub(in crate::rules) fn kubeconfig_points_at_member(evidence: &Evidence, findings: &mut Findings) {
    let subjects = subjects(evidence);
    if subjects.is_empty() {
        nothing_found(evidence, findings, NO_SECRET)
    } else {
        findings.not_applicable("no Secret's profile has an endpoint or a server")
    }
    for subject in subjects {
        let Some(Ok(cluster)) = subject.secret.kubeconfig.as_ref().map(resolve) else {
            continue;
        };
        let living = || {
            subject
                .profiles
                .iter()
                .filter(|history| history.deleted.is_none())
        };
        let known: HashSet<String> = living().flat_map(|history| servers(evidence, history)).collect();
        if known.is_empty() {
            continue;
        }
        findings.examine();
        let server = endpoints::normal(&cluster.server);
        let points_at = |known: &String| {
            *known == cluster.server || server.as_ref().is_some_and(|server| is_at(server, known))
        };
        if !known.iter().any(points_at) {
            let mut known: Vec<String> = known.into_iter().collect();
            known.sort_unstable();
            let mut properties = living().flat_map(|history| {
                let versions = history.versions.iter();
                versions.filter_map(|version| version.object.property(names::PROPERTY_ENDPOINTS))
            });
            // A normalized endpoint may be an unrecognizable piece of a credential.
            let expected = if properties.any(|property| holds_credential(&property.value)) {
                "one of the profile's endpoints".to_owned()
            } else {
                format!("one of {}", known.join(", "))
            };
            findings.report(
                Finding::on(
                    subject.secret,
                    "the kubeconfig's server is not an endpoint of the profile",
                )
                .at(redacted(&format!(
                    "data.Config.clusters[{}].server",
                    cluster.name
                )))
                .expected(redacted(&expected))
                .observed(redacted(&cluster.server)),
            );
        }
    }
}

/// Whether a server is at an endpoint, both normalized. A proxy may add a path, and an endpoint may omit the port.
pub(super) fn is_at(server: &str, endpoint: &str) -> bool {
    server
        .strip_prefix(endpoint)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', ':']))
}

/// The normalized API servers of the member (verbatim if they cannot be normalized) in recent versions of the
/// profile: the Secret may be slightly older than a change.
pub(super) fn servers(evidence: &Evidence, history: &ProfileHistory) -> Vec<String> {
    let lately = end(evidence).map(|end| end - GRACE_SECONDS * SECOND);
    let next = |index: usize| history.versions.get(index + 1);
    let held_lately = |(index, _): &(usize, &Version)| match (next(*index), lately) {
        (Some(next), Some(lately)) => next.received().as_microsecond() > lately,
        (Some(_), None) => false,
        (None, _) => true,
    };
    let mut servers = Vec::new();
    for (_, version) in history.versions.iter().enumerate().filter(held_lately) {
        let profile = &version.object;
        if let Some(property) = profile.property(names::PROPERTY_ENDPOINTS) {
            let endpoints = Endpoints::read(&property.value);
            servers.extend(endpoints.entries().iter().map(|endpoint| normal(endpoint)));
        }
        let of_providers = profile
            .access()
            .filter_map(|access| access.cluster.server.as_deref());
        servers.extend(of_providers.map(normal));
    }
    servers
}

fn normal(endpoint: &str) -> String {
    endpoints::normal(endpoint).unwrap_or_else(|| endpoint.to_owned())
}
