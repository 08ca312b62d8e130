//! Lists the consumers' Secrets at the end, and keeps digests instead of values.

use evidence::{Asked, Digester, Gap, Kind, Secret, UnlabelledSecret, Unreadable, api::names, lenient};
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::Value;

use super::{NO_CLAIM, NO_SECRETS, Wish, permissions::Permissions};
use crate::{
    connect::{
        call::{TimedClient, segment},
        failure::Failure,
    },
    watch::list::{fold_list, list},
};

/// The Secrets that could be read.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    pub secrets: Vec<Secret>,
    pub unreadable: Vec<Unreadable>,
}

/// Where the Secrets may be listed: everywhere (an empty name), or only in namespaces of the scope. Consumers'
/// namespaces are seldom those of the profiles, so everywhere is better.
pub(crate) fn places(permissions: &Permissions, scope: &[String]) -> Vec<String> {
    if permissions.allows("list", "", "secrets", "") != Some(false) {
        return vec![String::new()];
    }
    let allowed = |name: &&String| permissions.allows("list", "", "secrets", name) == Some(true);
    scope.iter().filter(allowed).cloned().collect()
}

/// The path of the labelled Secrets of a namespace, or of all where that is empty.
pub(crate) fn path(namespace: &str) -> String {
    selected(namespace, names::LABEL_SECRET_PROFILE)
}

/// The same for the Secrets that a label selector selects.
pub(crate) fn selected(namespace: &str, selector: &str) -> String {
    let namespace = match namespace {
        "" => String::new(),
        name => format!("namespaces/{}/", segment(name)),
    };
    format!("/api/v1/{namespace}secrets?labelSelector={}", segment(selector))
}

/// Types of Secrets that hold no kubeconfig. The hub leaves them out.
const OTHER_TYPES: [&str; 4] = [
    "helm.sh/release.v1",
    "kubernetes.io/dockerconfigjson",
    "kubernetes.io/service-account-token",
    "kubernetes.io/tls",
];

/// The path of the Secrets of a namespace that lack the label and may hold a kubeconfig.
fn path_of_unlabelled(namespace: &str) -> String {
    let label = segment(&format!("!{}", names::LABEL_SECRET_PROFILE));
    let types = OTHER_TYPES.map(|kind| format!("type!={kind}")).join(",");
    let (namespace, types) = (segment(namespace), segment(&types));
    format!("/api/v1/namespaces/{namespace}/secrets?labelSelector={label}&fieldSelector={types}")
}

/// Whether to read Secrets without the label. They may belong to anyone, so they are read only if the implementation
/// claims to push credentials.
pub(crate) fn unlabelled_asked(wish: &Wish) -> Asked {
    match wish {
        Wish::Asked => Asked::Yes,
        Wish::IfAllowed => Asked::No(NO_CLAIM),
        Wish::No(reason) => Asked::No(reason.clone()),
    }
}

/// Whether Secrets are to be asked for, and a gap if they cannot be read.
pub(crate) fn asked(wish: &Wish, permissions: &Permissions, scope: &[String]) -> (Asked, Option<Gap>) {
    wish.asked(!places(permissions, scope).is_empty(), Kind::Secrets, NO_SECRETS)
}

/// Lists and digests the labelled Secrets, sorted by namespace and name.
///
/// # Errors
/// When the hub refuses or does not answer. No message holds anything of a Secret.
pub(crate) async fn secrets(client: &TimedClient, places: &[String]) -> Result<Secrets, Failure> {
    let digester = new_digester();
    let mut found = Secrets::default();
    for namespace in places {
        let add = |json: &[u8]| {
            let digested = match serde_json::from_slice::<Value>(json) {
                Ok(value) => digester.secret(&value),
                Err(error) => Err(Box::new(Unreadable {
                    object: lenient::identity(json, "Secret"),
                    message: lenient::unparsable(json, &error),
                })),
            };
            match digested {
                Ok(secret) => found.secrets.push(secret),
                Err(unreadable) => found.unreadable.push(*unreadable),
            }
        };
        list(client, &path(namespace), add).await?;
    }
    found
        .secrets
        .sort_by(|one, other| (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name)));
    Ok(found)
}

/// Lists the Secrets of a namespace that lack the label, and keeps where those with a kubeconfig lead.
///
/// # Errors
/// When the hub refuses or does not answer. No message holds anything of a Secret.
pub(crate) async fn unlabelled(
    client: &TimedClient,
    namespace: &str,
) -> Result<Vec<UnlabelledSecret>, Failure> {
    let digester = new_digester();
    let add = |found: &mut Vec<UnlabelledSecret>, json: &[u8]| {
        let value = serde_json::from_slice::<Value>(json).unwrap_or_default();
        found.extend(digester.unlabelled(&value));
    };
    let mut found = fold_list(client, &path_of_unlabelled(namespace), add).await?;
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

/// A digester with a new key, which nothing else knows.
///
/// # Panics
/// When the system gives no random bytes, without which there is no TLS either.
pub fn new_digester() -> Digester {
    let mut key = [0; 32];
    SystemRandom::new()
        .fill(&mut key)
        .expect("the system gives random bytes");
    Digester::new(key)
}
