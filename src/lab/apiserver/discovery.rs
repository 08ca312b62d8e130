//! Discovery: which groups, versions and resources there are.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use super::body::Reply;
use super::context::Context;
use super::form::Wish;
use super::openapi;
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
/// The server's own groups, in their order; custom ones follow by name.
const OWN_GROUPS: [&str; 6] = [
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "rbac.authorization.k8s.io",
    "apiextensions.k8s.io",
    "coordination.k8s.io",
];
/// The content type of a list of all groups with all that is in them; only the roots have it.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

impl Context<'_> {
    /// Answers a request about the API itself.
    pub(super) fn discover(&self, path: &str) -> Outcome<Reply> {
        let storage = self.server.storage();
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        if matches!(segments.first(), Some(&"api" | &"apis")) {
            let is_aggregated =
                |wish: &Wish<'_>| wish.conversion() == ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2");
            if segments.len() == 1 && self.json_wishes().any(|wish| is_aggregated(&wish)) {
                let groups = aggregated(&storage, segments[0] == "api");
                return Ok(Reply::typed(AGGREGATED, groups.to_string()));
            }
            if !self.json_wishes().any(|wish| wish.conversion().0.is_empty()) {
                return Err(Failure::not_acceptable(&["application/json"]));
            }
        }
        let found = match segments.as_slice() {
            [] => Some(root(&storage)),
            ["api"] => Some(json!({
                "kind": "APIVersions", "versions": ["v1"],
                "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}],
            })),
            ["api", version] => resources(&storage, "", version),
            ["apis"] => {
                let mut groups = groups(&storage);
                // Here, custom groups are in the order of their versions' names.
                let first = |(name, versions): &(String, Vec<String>)| {
                    let versions = versions.iter().map(|version| format!("{version}.{name}"));
                    (place_of(name), versions.min())
                };
                groups.sort_by_key(first);
                let groups: Vec<Value> = groups
                    .iter()
                    .map(|(name, versions)| group(name, versions))
                    .collect();
                Some(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
            }
            ["apis", name] => groups(&storage)
                .iter()
                .find(|group| group.0 == *name)
                .map(|(_, versions)| {
                    let mut group = group(name, versions);
                    group["kind"] = "APIGroup".into();
                    group["apiVersion"] = "v1".into();
                    group
                }),
            ["apis", name, version] => resources(&storage, name, version),
            ["openapi", ..] => return self.open_api(&storage, &segments[1..]),
            _ => None,
        };
        match (found, segments.as_slice()) {
            (Some(found), _) => Ok(Reply::value(200, &found)),
            (None, ["api", _]) => Err(Failure::no_such_resource()),
            (None, ["apis", name, _]) if is_own(name) => Err(Failure::no_such_resource()),
            _ => Err(Failure::no_such_path()),
        }
    }

    /// Answers a request for a description of the API. What is not there is told without a word.
    fn open_api(&self, storage: &Storage, segments: &[&str]) -> Outcome<Reply> {
        if self.json_wishes().next().is_none() {
            return Err(Failure::wordless(406));
        }
        let document = match segments {
            ["v2"] => Some(openapi::swagger(storage)),
            // The type is not what is in it, but so it is told.
            ["v3"] => {
                let index = openapi::index(storage).to_string();
                return Ok(Reply::typed("text/plain; charset=utf-8", index));
            }
            ["v3", "api", version] => openapi::document(storage, "", version),
            ["v3", "apis", group, version] => openapi::document(storage, group, version),
            ["v3", ..] => None,
            _ => return Err(Failure::no_such_path()),
        };
        let document = document.ok_or_else(|| Failure::wordless(404))?;
        Ok(Reply::value(200, &document))
    }

    fn json_wishes(&self) -> impl Iterator<Item = Wish<'_>> {
        Wish::all(self.accept).filter(Wish::is_json)
    }
}

/// Whether a group is the server's own, and not defined by anyone.
pub(super) fn is_own(group: &str) -> bool {
    group.is_empty() || OWN_GROUPS.contains(&group)
}

/// Where a group stands among the server's own; custom ones follow these.
fn place_of(group: &str) -> usize {
    let place = OWN_GROUPS.iter().position(|own| *own == group);
    place.unwrap_or(OWN_GROUPS.len())
}

fn root(storage: &Storage) -> Value {
    let mut paths = vec!["/api".to_owned(), "/api/v1".to_owned(), "/apis".to_owned()];
    for (group, versions) in groups(storage) {
        paths.push(format!("/apis/{group}"));
        paths.extend(versions.iter().map(|version| format!("/apis/{group}/{version}")));
    }
    paths.extend(
        [
            "/healthz",
            "/livez",
            "/openapi/v2",
            "/openapi/v3",
            "/readyz",
            "/version",
        ]
        .map(str::to_owned),
    );
    json!({"paths": paths})
}

/// All groups but the core one, with their served versions, the preferred first.
fn groups(storage: &Storage) -> Vec<(String, Vec<String>)> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
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
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(name, _)| place_of(name));
    groups
}

/// The core group, or all others, with all that is in them.
fn aggregated(storage: &Storage, core: bool) -> Value {
    let groups = match core {
        true => vec![(String::new(), vec!["v1".to_owned()])],
        false => groups(storage),
    };
    let items = groups.iter().map(|(group, versions)| {
        let versions = versions.iter().map(|version| {
            let listed = resources(storage, group, version).unwrap_or_default();
            let listed = listed["resources"].as_array().map_or(&[][..], Vec::as_slice);
            json!({"version": version, "resources": nested(listed, group, version), "freshness": "Current"})
        });
        let metadata = match group.as_str() {
            "" => json!({}),
            group => json!({"name": group}),
        };
        json!({"metadata": metadata, "versions": versions.collect::<Vec<_>>()})
    });
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {},
        "items": items.collect::<Vec<_>>(),
    })
}

/// Resources as they are listed for one version, with their subresources in them.
fn nested(listed: &[Value], group: &str, version: &str) -> Vec<Value> {
    // The server's own leave out what goes without saying.
    let (group, version) = match is_own(group) {
        true => ("", ""),
        false => (group, version),
    };
    let common = |resource: &Value| {
        let told = |field: &str, unsaid: &str| resource[field].as_str().unwrap_or(unsaid).to_owned();
        let kind = json!({"group": told("group", group), "version": told("version", version), "kind": resource["kind"]});
        json!({"responseKind": kind, "verbs": resource["verbs"]})
    };
    let mut nested: Vec<Value> = Vec::new();
    for resource in listed {
        let mut described = common(resource);
        let name = resource["name"].as_str().unwrap_or_default();
        if let (Some((_, subresource)), Some(main)) = (name.split_once('/'), nested.last_mut()) {
            described["subresource"] = subresource.into();
            if main["subresources"].is_null() {
                main["subresources"] = json!([]);
            }
            main["subresources"]
                .as_array_mut()
                .into_iter()
                .for_each(|all| all.push(described.clone()));
            continue;
        }
        described["resource"] = name.into();
        described["singularResource"] = resource["singularName"].clone();
        described["scope"] = match resource["namespaced"] == true {
            true => "Namespaced".into(),
            false => "Cluster".into(),
        };
        for field in ["shortNames", "categories"] {
            if let Some(names) = resource.get(field) {
                described[field] = names.clone();
            }
        }
        nested.push(described);
    }
    nested
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
    let group_version = match group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    };
    (!listed.is_empty()).then(|| {
        let mut list = json!({"kind": "APIResourceList", "groupVersion": group_version, "resources": listed});
        // The core group's list does not say so.
        if !group.is_empty() {
            list["apiVersion"] = "v1".into();
        }
        list
    })
}

fn describe(resource: &Resource, version: &Version) -> Vec<Value> {
    let mut verbs = match resource.family {
        Family::Custom => CUSTOM_VERBS.to_vec(),
        Family::Review => vec!["create"],
        _ => OWN_VERBS.to_vec(),
    };
    verbs.retain(|verb| resource.family != Family::Namespace || *verb != "deletecollection");
    let mut main = json!({
        "name": resource.plural, "singularName": resource.singular, "namespaced": resource.namespaced,
        "kind": resource.kind, "verbs": verbs,
    });
    if resource.family != Family::Review {
        main["storageVersionHash"] = storage_hash(resource).into();
    }
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
    if version.scale.is_some() {
        described.push(json!({
            "name": format!("{}/scale", resource.plural), "singularName": "", "namespaced": resource.namespaced,
            "group": "autoscaling", "version": "v1", "kind": "Scale", "verbs": ["get", "patch", "update"],
        }));
    }
    if resource.kind == "ServiceAccount" {
        described.push(json!({
            "name": "serviceaccounts/token", "singularName": "", "namespaced": true, "group": "authentication.k8s.io",
            "version": "v1", "kind": "TokenRequest", "verbs": ["create"],
        }));
    }
    described
}

/// What changes with the version in which objects are stored.
fn storage_hash(resource: &Resource) -> String {
    let (group, version) = match (resource.family, resource.kind.as_str()) {
        // These are stored as they were before they had this group, or this version.
        (Family::Other, "Event") => ("", "v1"),
        (Family::Definition, _) => (resource.group.as_str(), "v1beta1"),
        _ => (resource.group.as_str(), resource.storage_version().name.as_str()),
    };
    let stored = format!("{group}/{version}/{}", resource.kind);
    STANDARD.encode(&digest(&SHA256, stored.as_bytes()).as_ref()[..8])
}
