//! Discovery: which groups, versions and resources there are.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::body::Reply;
use super::context::Context;
use super::resource::{Family, Resource, Version};
use super::status::{Failure, Outcome};
use super::storage::Storage;

const OWN_VERBS: [&str; 8] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];
/// The order in which custom resources tell theirs.
const CUSTOM_VERBS: [&str; 8] = [
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];
/// Groups whose only resources are questions about oneself.
const REVIEWS: [(&str, &str, &str); 2] = [
    ("authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview"),
    (
        "authorization.k8s.io",
        "selfsubjectaccessreviews",
        "SelfSubjectAccessReview",
    ),
];

impl Context<'_> {
    /// Answers a request about the API itself.
    pub(super) fn discover(&self, path: &str) -> Outcome<Reply> {
        let storage = self.server.storage();
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        let found = match segments.as_slice() {
            [] => Some(root(&storage)),
            ["api"] => Some(json!({
                "kind": "APIVersions", "versions": ["v1"],
                "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}],
            })),
            ["api", version] => resources(&storage, "", version),
            ["apis"] => {
                let groups: Vec<Value> = groups(&storage)
                    .iter()
                    .map(|(name, versions)| group(name, versions))
                    .collect();
                Some(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
            }
            ["apis", name] => groups(&storage).get(*name).map(|versions| {
                let mut group = group(name, versions);
                group["kind"] = "APIGroup".into();
                group["apiVersion"] = "v1".into();
                group
            }),
            ["apis", name, version] => resources(&storage, name, version),
            _ => None,
        };
        match found {
            Some(found) => Ok(Reply::value(200, &found)),
            None => Err(Failure::no_such_path()),
        }
    }
}

fn root(storage: &Storage) -> Value {
    let mut paths = vec!["/api".to_owned(), "/api/v1".to_owned(), "/apis".to_owned()];
    for (group, versions) in groups(storage) {
        paths.push(format!("/apis/{group}"));
        paths.extend(versions.iter().map(|version| format!("/apis/{group}/{version}")));
    }
    paths.extend(["/healthz", "/livez", "/readyz", "/version"].map(str::to_owned));
    json!({"paths": paths})
}

/// All groups but the core one, with their served versions, the preferred first.
fn groups(storage: &Storage) -> BTreeMap<String, Vec<String>> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (group, _, _) in REVIEWS {
        groups.insert(group.to_owned(), vec!["v1".to_owned()]);
    }
    for table in storage.tables().filter(|table| !table.resource.group.is_empty()) {
        let versions = groups.entry(table.resource.group.clone()).or_default();
        for version in table.resource.versions.iter().filter(|version| version.served) {
            if !versions.contains(&version.name) {
                versions.push(version.name.clone());
            }
        }
    }
    for versions in groups.values_mut() {
        versions.sort_by_key(|version| std::cmp::Reverse(priority(version)));
    }
    groups.retain(|_, versions| !versions.is_empty());
    groups
}

/// `v2` before `v1` before `v2beta1` before `v1beta2` before `v1alpha1`, and these before all else.
pub(super) fn priority(version: &str) -> (u8, u32, u32) {
    let digits = |text: &str| -> Option<(u32, usize)> {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        Some((text[..end].parse().ok()?, end))
    };
    let read = || {
        let rest = version.strip_prefix('v')?;
        let (major, end) = digits(rest)?;
        let rest = &rest[end..];
        if rest.is_empty() {
            return Some((3, major, 0));
        }
        let (stage, rest) = match (rest.strip_prefix("beta"), rest.strip_prefix("alpha")) {
            (Some(rest), _) => (2, rest),
            (None, Some(rest)) => (1, rest),
            (None, None) => return None,
        };
        let (minor, end) = digits(rest)?;
        (end == rest.len()).then_some((stage, major, minor))
    };
    read().unwrap_or((0, 0, 0))
}

fn group(name: &str, versions: &[String]) -> Value {
    let version = |version: &String| json!({"groupVersion": format!("{name}/{version}"), "version": version});
    let all: Vec<Value> = versions.iter().map(version).collect();
    json!({"name": name, "versions": all, "preferredVersion": all.first()})
}

fn resources(storage: &Storage, group: &str, version: &str) -> Option<Value> {
    let mut listed = Vec::new();
    for table in storage.tables().filter(|table| table.resource.group == group) {
        if let Some(served) = table.resource.served_version(version) {
            listed.extend(describe(&table.resource, served));
        }
    }
    for (_, plural, kind) in REVIEWS
        .iter()
        .filter(|(name, ..)| *name == group && version == "v1")
    {
        listed.push(json!({
            "name": plural, "singularName": kind.to_lowercase(), "namespaced": false, "kind": kind,
            "verbs": ["create"],
        }));
    }
    let group_version = match group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    };
    (!listed.is_empty()).then(|| {
        json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": listed,
        })
    })
}

fn describe(resource: &Resource, version: &Version) -> Vec<Value> {
    let mut verbs = match resource.family {
        Family::Custom => CUSTOM_VERBS.to_vec(),
        _ => OWN_VERBS.to_vec(),
    };
    verbs.retain(|verb| resource.family != Family::Namespace || *verb != "deletecollection");
    let mut main = json!({
        "name": resource.plural, "singularName": resource.singular, "namespaced": resource.namespaced,
        "kind": resource.kind, "verbs": verbs,
    });
    if !resource.short_names.is_empty() {
        main["shortNames"] = resource.short_names.clone().into();
    }
    if !resource.categories.is_empty() {
        main["categories"] = resource.categories.clone().into();
    }
    let mut described = vec![main];
    if version.status_subresource {
        described.push(json!({
            "name": format!("{}/status", resource.plural), "singularName": "", "namespaced": resource.namespaced,
            "kind": resource.kind, "verbs": ["get", "patch", "update"],
        }));
    }
    described
}
