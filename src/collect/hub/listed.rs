//! Lists the Namespaces, and the Secrets of consumers, of which digests are kept instead of values.

use evidence::{Digester, Namespace, Secret, UnlabelledSecret, Unreadable, api::names, lenient};
use serde_json::Value;

use super::permissions::Permissions;
use crate::{
    connect::{RequestFailure, TimedClient, get, in_namespace, segment},
    random_bytes,
    watch::{fold_list, list},
};

/// The objects that could be read, and those that could not.
#[derive(Default)]
pub(crate) struct ListedObjects<T> {
    pub objects: Vec<T>,
    pub unreadable: Vec<Unreadable>,
}

impl<T> ListedObjects<T> {
    fn add(&mut self, read: Result<T, Box<Unreadable>>) {
        match read {
            Ok(object) => self.objects.push(object),
            Err(unreadable) => self.unreadable.push(*unreadable),
        }
    }
}

/// Whether the runner may list Namespaces, or get each of the scope.
pub(crate) fn may_read_namespaces(permissions: &Permissions, scope: &[String]) -> bool {
    let may_get = |name: &String| permissions.allows("get", "", "namespaces", name) != Some(false);
    let may_list = permissions.allows("list", "", "namespaces", "") != Some(false);
    may_list || (!scope.is_empty() && scope.iter().all(may_get))
}

/// All namespaces or, where these may not be listed, those of the scope. Sorted by name.
pub(crate) async fn namespaces(
    client: &TimedClient,
    permissions: &Permissions,
    scope: &[String],
) -> Result<ListedObjects<Namespace>, RequestFailure> {
    let mut namespaces = ListedObjects::default();
    if permissions.allows("list", "", "namespaces", "") != Some(false) {
        let add = |json: &[u8]| namespaces.add(lenient::namespace(json));
        list(client, "/api/v1/namespaces", add).await?;
    } else {
        for name in scope {
            match get::<Value>(client, &format!("/api/v1/namespaces/{}", segment(name))).await {
                Ok(object) => namespaces.add(lenient::namespace(object.to_string().as_bytes())),
                Err(failure) if failure.code() == 404 => {}
                Err(failure) => return Err(failure),
            }
        }
    }
    namespaces.objects.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(namespaces)
}

/// Where the Secrets may be listed: everywhere (an empty name), or only in namespaces of the scope. Consumers'
/// namespaces are seldom those of the profiles, so everywhere is better.
pub(crate) fn secret_places(permissions: &Permissions, scope: &[String]) -> Vec<String> {
    if permissions.allows("list", "", "secrets", "") != Some(false) {
        return vec![String::new()];
    }
    let allowed = |name: &&String| permissions.allows("list", "", "secrets", name) == Some(true);
    scope.iter().filter(allowed).cloned().collect()
}

/// The path of the Secrets that a label selector selects, in a namespace or in all.
pub(crate) fn secrets_path(namespace: &str, selector: &str) -> String {
    let secrets = in_namespace(namespace, "secrets");
    format!("/api/v1/{secrets}?labelSelector={}", segment(selector))
}

/// Types of Secrets that hold no kubeconfig. The hub leaves them out.
const OTHER_TYPES: [&str; 4] = [
    "helm.sh/release.v1",
    "kubernetes.io/dockerconfigjson",
    "kubernetes.io/service-account-token",
    "kubernetes.io/tls",
];

/// Lists and digests the labelled Secrets, sorted by namespace and name. No failure holds anything of a Secret.
pub(crate) async fn secrets(
    client: &TimedClient,
    places: &[String],
) -> Result<ListedObjects<Secret>, RequestFailure> {
    let digester = new_digester();
    let mut listed = ListedObjects::default();
    for namespace in places {
        let add = |json: &[u8]| {
            listed.add(match serde_json::from_slice::<Value>(json) {
                Ok(value) => digester.secret(&value),
                Err(error) => Err(Box::new(Unreadable {
                    object: lenient::identity(json, "Secret"),
                    message: lenient::unparsable(json, &error),
                })),
            });
        };
        list(client, &secrets_path(namespace, names::LABEL_SECRET_PROFILE), add).await?;
    }
    let secrets = &mut listed.objects;
    secrets.sort_by(|one, other| (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name)));
    Ok(listed)
}

/// Lists the Secrets of a namespace that lack the label, and keeps where those with a kubeconfig lead. No failure holds
/// anything of a Secret.
pub(crate) async fn unlabelled_secrets(
    client: &TimedClient,
    namespace: &str,
) -> Result<Vec<UnlabelledSecret>, RequestFailure> {
    let digester = new_digester();
    let add = |items: &mut Vec<UnlabelledSecret>, json: &[u8]| {
        let value = serde_json::from_slice::<Value>(json).unwrap_or_default();
        items.extend(digester.unlabelled(&value));
    };
    let unlabelled = secrets_path(namespace, &format!("!{}", names::LABEL_SECRET_PROFILE));
    let types = OTHER_TYPES.map(|kind| format!("type!={kind}")).join(",");
    let path = format!("{unlabelled}&fieldSelector={}", segment(&types));
    let mut secrets = fold_list(client, &path, add).await?;
    secrets.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(secrets)
}

/// A digester with a new key, which nothing else knows.
///
/// # Panics
/// When the system gives no random bytes, without which there is no TLS either.
pub fn new_digester() -> Digester {
    Digester::new(random_bytes())
}
