//! The content of a consumer's kubeconfig (KEP-4322 › Secret format).

use evidence::{
    CredentialKind, Kubeconfig, KubeconfigCluster, ProfileHistory,
    api::{
        endpoints::{self, Endpoints},
        names,
    },
};

use crate::{
    engine::{Answer, ConsumerSecret, Hub},
    subjects::Finding,
    text::{ABSENT, holds_credential, redacted},
};

/// `consumers/secret-has-kubeconfig`
///
/// `data.Config` is a kubeconfig with a current, or only, context that names a cluster with a server, and a user.
pub(in crate::rules) fn secret_has_kubeconfig(secret: &ConsumerSecret, _: &Hub) -> Answer {
    let secret = secret.secret;
    let path = format!("data.{}", names::SECRET_CONFIG_KEY);
    let broken = |path: String, expected: &str, observed: String| {
        let finding = Finding::on(secret, "the Secret contains no usable kubeconfig").at(path);
        Answer::broken(finding.expected(expected).observed(observed))
    };
    if let Some(error) = &secret.kubeconfig_error {
        return broken(path, "a kubeconfig", redacted(error));
    }
    match secret.kubeconfig.as_ref().map(resolve) {
        Some(Ok(_)) => Answer::Kept,
        Some(Err(unresolved)) => broken(
            format!("{path}.{}", unresolved.path),
            unresolved.expected,
            unresolved.observed,
        ),
        None if secret.keys.is_empty() => broken(path, "a kubeconfig", ABSENT.to_owned()),
        None => {
            let keys = secret.keys.join(", ");
            broken(
                path,
                "a kubeconfig",
                redacted(&format!("{ABSENT}; there are {keys}")),
            )
        }
    }
}

/// Why the context of a kubeconfig has no cluster or user.
struct Unresolved {
    path: &'static str,
    expected: &'static str,
    observed: String,
}

/// Resolves the current context, or the only context if none is current, to its cluster and user.
fn resolve(kubeconfig: &Kubeconfig) -> Result<&KubeconfigCluster, Unresolved> {
    let unresolved = |path, expected, name: &str| Unresolved {
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
    let context = context.ok_or_else(|| unresolved("current-context", "the name of a context", current))?;
    let cluster = kubeconfig
        .clusters
        .iter()
        .find(|cluster| cluster.name == context.cluster)
        .ok_or_else(|| unresolved("contexts.cluster", "the name of a cluster", &context.cluster))?;
    if !kubeconfig.users.iter().any(|user| user.name == context.user) {
        return Err(unresolved("contexts.user", "the name of a user", &context.user));
    }
    if cluster.server.is_empty() {
        Err(unresolved("clusters.server", "the URL of an API server", ""))
    } else {
        Ok(cluster)
    }
}

/// `consumers/kubeconfig-self-contained`
///
/// The kubeconfig names no file and runs no plugin.
pub(in crate::rules) fn kubeconfig_self_contained(secret: &ConsumerSecret, _: &Hub) -> Answer {
    let Some(kubeconfig) = &secret.secret.kubeconfig else {
        return Answer::NotApplicable;
    };
    let of_clusters = kubeconfig
        .clusters
        .iter()
        .map(|cluster| ("clusters", &cluster.name, &cluster.files));
    let of_users = kubeconfig
        .users
        .iter()
        .map(|user| ("users", &user.name, &user.files));
    let files = of_clusters.chain(of_users).flat_map(|(list, name, files)| {
        files
            .iter()
            .map(move |field| format!("data.Config.{list}[{name}].{field}"))
    });
    let files = files.map(|path| {
        Finding::on(
            secret.secret,
            "the kubeconfig refers to a file, which its reader does not have",
        )
        .at(redacted(&path))
        .expected("the data itself")
        .observed("a path")
    });
    let runs_plugin = |kind: CredentialKind| kind == CredentialKind::Exec;
    let users = kubeconfig.users.iter();
    let users = users.filter(|user| {
        user.credentials
            .iter()
            .any(|credential| runs_plugin(credential.kind))
    });
    let plugins = users.map(|user| {
        Finding::on(
            secret.secret,
            "the kubeconfig runs a plugin, which its reader may not have",
        )
        .at(redacted(&format!("data.Config.users[{}].exec", user.name)))
        .expected("a credential")
        .observed("an exec plugin")
    });
    Answer::all(files.chain(plugins))
}

/// `consumers/kubeconfig-points-at-member`
///
/// The kubeconfig's server is, or is below, an endpoint or an access provider's server that the profile had in the last 2 min.
pub(in crate::rules) fn kubeconfig_points_at_member(secret: &ConsumerSecret, hub: &Hub) -> Answer {
    let Some(Ok(cluster)) = secret.secret.kubeconfig.as_ref().map(resolve) else {
        return Answer::NotApplicable;
    };
    let living = || secret.profiles.iter().filter(|history| history.deleted.is_none());
    let mut known: Vec<String> = living().flat_map(|history| servers(hub, history)).collect();
    if known.is_empty() {
        return Answer::NotApplicable;
    }
    known.sort_unstable();
    known.dedup();
    let is_known = known.iter().any(|known| is_at(&cluster.server, known));
    Answer::broken_if(!is_known, || {
        let mut endpoints = living()
            .flat_map(|history| hub.recent(history))
            .filter_map(|profile| profile.property(names::PROPERTY_ENDPOINTS));
        // A normalized endpoint may be an unrecognizable piece of a credential.
        let expected = if endpoints.any(|property| holds_credential(&property.value)) {
            "one of the profile's endpoints".to_owned()
        } else {
            format!("one of {}", known.join(", "))
        };
        Finding::on(
            secret.secret,
            "the kubeconfig's server is not an endpoint of the profile",
        )
        .at(redacted(&format!(
            "data.Config.clusters[{}].server",
            cluster.name
        )))
        .expected(redacted(&expected))
        .observed(redacted(&cluster.server))
    })
}

/// Whether a written server is at a normalized endpoint. A proxy may add a path, and an endpoint may omit the port.
pub(super) fn is_at(written: &str, endpoint: &str) -> bool {
    let server = endpoints::normal(written);
    let rest = server.as_ref().and_then(|server| server.strip_prefix(endpoint));
    written == endpoint || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', ':']))
}

/// The API servers that a profile had in the last 2 min, normalized where possible.
pub(super) fn servers(hub: &Hub, history: &ProfileHistory) -> Vec<String> {
    let mut servers = Vec::new();
    for profile in hub.recent(history) {
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
