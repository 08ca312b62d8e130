//! Discovery: which groups, versions and resources there are.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use super::body::{Reply, ReplyBody};
use super::context::Context;
use super::form::conversions;
use super::openapi;
use super::resource::{Family, Resource, Version};
use super::status::{Failure, Outcome};
use super::storage::Storage;

const OWN_VERBS: &str = "create delete deletecollection get list patch update watch";
const NAMESPACE_VERBS: &str = "create delete get list patch update watch";
/// The order in which custom resources tell theirs.
const CUSTOM_VERBS: &str = "delete deletecollection get list patch create update watch";
/// The server's own groups, in their order; custom ones follow by name.
const OWN_GROUPS: [&str; 6] = [
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "rbac.authorization.k8s.io",
    "apiextensions.k8s.io",
    "coordination.k8s.io",
];
/// What is there besides groups.
const OTHERS: &str = "/healthz /livez /openapi/v2 /openapi/v3 /readyz /version";
/// The content type of a list of all groups with all that is in them; only the roots have it.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

impl Context<'_> {
    /// Answers a request about the API itself.
    pub(super) fn discover(&self, path: &str) -> Outcome<Reply> {
        let storage = self.server.storage();
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        let conversions: Vec<_> = conversions(&self.accept).collect();
        if let ["openapi", path @ ..] = segments.as_slice() {
            return describe_api(&storage, &path.join("/"), !conversions.is_empty());
        }
        if let [root @ ("api" | "apis"), rest @ ..] = segments.as_slice() {
            let aggregation = ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2");
            if rest.is_empty() && conversions.contains(&aggregation) {
                return Ok(Reply::typed(AGGREGATED, &aggregated(&storage, *root == "api")));
            }
            if !conversions.iter().any(|(kind, ..)| kind.is_empty()) {
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
                let mut groups = groups(&storage, false);
                // Here, custom groups are in the order of their versions' names.
                groups.sort_by_key(|(name, versions)| {
                    let versions = versions.iter().map(|version| format!("{version}.{name}"));
                    (place_of(name), versions.min())
                });
                let groups: Vec<Value> = groups.iter().map(described).collect();
                Some(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
            }
            ["apis", name] => {
                let groups = groups(&storage, false);
                groups.iter().find(|group| group.0 == *name).map(|group| {
                    let mut group = described(group);
                    group["kind"] = "APIGroup".into();
                    group["apiVersion"] = "v1".into();
                    group
                })
            }
            ["apis", name, version] => resources(&storage, name, version),
            _ => None,
        };
        match (found, segments.as_slice()) {
            (Some(found), _) => Ok(Reply::value(200, &found)),
            (None, ["api", _]) => Err(Failure::no_such_resource()),
            (None, ["apis", name, _]) if is_own(name) => Err(Failure::no_such_resource()),
            _ => Err(Failure::no_such_path()),
        }
    }
}

/// Answers a request for a description of the API. What is not there is told without a word.
fn describe_api(storage: &Storage, path: &str, is_spoken: bool) -> Outcome<Reply> {
    if !is_spoken {
        return Err(Failure::wordless(406));
    }
    let documents = storage.documents.get_or_init(|| openapi::documents(storage));
    match (path, documents.get(path)) {
        // The type is not what is in it, but so it is told.
        ("v3", Some(index)) => Ok(Reply {
            body: ReplyBody::Typed("text/plain; charset=utf-8", index.clone()),
            ..Reply::json(200, Bytes::new())
        }),
        (_, Some(document)) => Ok(Reply::json(200, document.clone())),
        (path, None) if path.starts_with("v3/") => Err(Failure::wordless(404)),
        _ => Err(Failure::no_such_path()),
    }
}

/// The path of a group and version: `/apis/multicluster.x-k8s.io/v1alpha1`.
pub(super) fn path_of(group: &str, version: &str) -> String {
    match group {
        "" => format!("/api/{version}"),
        group => format!("/apis/{group}/{version}"),
    }
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
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
    let mut paths = ["/api", "/api/v1", "/apis"].map(str::to_owned).to_vec();
    for (group, versions) in groups(storage, false) {
        paths.push(format!("/apis/{group}"));
        paths.extend(versions.iter().map(|version| path_of(&group, version)));
    }
    paths.extend(words(OTHERS));
    json!({"paths": paths})
}

/// The core group, or all others, with their served versions, the preferred first.
fn groups(storage: &Storage, core: bool) -> Vec<(String, Vec<String>)> {
    let mut groups: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for (resource, version) in storage.served() {
        if resource.group.is_empty() == core {
            let place = (place_of(&resource.group), resource.group.clone());
            groups.entry(place).or_default().push(version.name.clone());
        }
    }
    let sorted = groups.into_iter().map(|((_, name), mut versions)| {
        versions.sort_by_cached_key(|version| (Reverse(priority(version)), version.clone()));
        versions.dedup();
        (name, versions)
    });
    sorted.collect()
}

/// The order among versions that clients prefer: `v2` above `v1` above `v2beta1` above `v1beta2` above `v1alpha1`, and
/// these above all else.
pub(super) fn priority(version: &str) -> impl Ord + use<> {
    kube::core::Version::parse(version).priority()
}

fn described((name, versions): &(String, Vec<String>)) -> Value {
    let version = |version: &String| json!({"groupVersion": format!("{name}/{version}"), "version": version});
    let all: Vec<Value> = versions.iter().map(version).collect();
    json!({"name": name, "versions": all, "preferredVersion": all.first()})
}

/// The core group, or all others, with all that is in them.
fn aggregated(storage: &Storage, core: bool) -> Value {
    let items = groups(storage, core).into_iter().map(|(group, versions)| {
        let versions = versions.iter().map(|version| {
            let listed = resources(storage, &group, version).unwrap_or_default();
            // The server's own leave out what goes without saying.
            let unsaid = if is_own(&group) { ("", "") } else { (group.as_str(), version.as_str()) };
            json!({"version": version, "resources": nested(&listed["resources"], unsaid), "freshness": "Current"})
        });
        let versions: Vec<Value> = versions.collect();
        match group.as_str() {
            "" => json!({"metadata": {}, "versions": versions}),
            group => json!({"metadata": {"name": group}, "versions": versions}),
        }
    });
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {},
        "items": items.collect::<Vec<_>>(),
    })
}

/// Resources as they are listed for one version, with their subresources in them.
fn nested(listed: &Value, (group, version): (&str, &str)) -> Vec<Value> {
    let mut nested: Vec<Value> = Vec::new();
    for resource in listed.as_array().into_iter().flatten() {
        let told = |field: &str, unsaid: &str| resource[field].as_str().unwrap_or(unsaid).to_owned();
        let kind = json!({"group": told("group", group), "version": told("version", version), "kind": resource["kind"]});
        let mut described = json!({"responseKind": kind, "verbs": resource["verbs"]});
        let name = told("name", "");
        if let (Some((_, subresource)), Some(main)) = (name.split_once('/'), nested.last_mut()) {
            described["subresource"] = subresource.into();
            let before = main["subresources"].as_array().into_iter().flatten();
            main["subresources"] = before.cloned().chain([described]).collect();
            continue;
        }
        described["resource"] = name.into();
        described["singularResource"] = resource["singularName"].clone();
        let scope = if resource["namespaced"] == true {
            "Namespaced"
        } else {
            "Cluster"
        };
        described["scope"] = scope.into();
        for field in ["shortNames", "categories"] {
            if let Some(names) = resource.get(field) {
                described[field] = names.clone();
            }
        }
        nested.push(described);
    }
    nested
}

/// The resources of a group and version, if there are any.
fn resources(storage: &Storage, group: &str, version: &str) -> Option<Value> {
    let served = storage.served();
    let served = served.filter(|(resource, served)| resource.group == group && served.name == version);
    let served: Vec<_> = served.collect();
    let group_version = served.first()?.0.api_version(version);
    let listed: Vec<Value> = served.into_iter().flat_map(listed).collect();
    let mut list = json!({"kind": "APIResourceList", "groupVersion": group_version, "resources": listed});
    // The core group's list does not say so.
    if !group.is_empty() {
        list["apiVersion"] = "v1".into();
    }
    Some(list)
}

/// A resource and its subresources, as they are listed.
fn listed((resource, version): (&Resource, &Version)) -> Vec<Value> {
    let Resource {
        plural,
        kind,
        namespaced,
        ..
    } = resource;
    let verbs = match resource.family {
        Family::Custom => CUSTOM_VERBS,
        Family::Review => "create",
        Family::Namespace => NAMESPACE_VERBS,
        _ => OWN_VERBS,
    };
    let mut main = json!({
        "name": plural, "singularName": resource.singular, "namespaced": namespaced, "kind": kind,
        "verbs": words(verbs),
    });
    if resource.family != Family::Review {
        main["storageVersionHash"] = storage_hash(resource).into();
    }
    for (field, names) in [
        ("shortNames", &resource.short_names),
        ("categories", &resource.categories),
    ] {
        if !names.is_empty() {
            main[field] = names.clone().into();
        }
    }
    let mut listed = vec![main];
    let is_account = resource.family == Family::ServiceAccount;
    for (is_there, name, [group, version, kind], verbs) in [
        (
            version.status_subresource,
            "status",
            ["", "", kind],
            "get patch update",
        ),
        (
            version.scale.is_some(),
            "scale",
            ["autoscaling", "v1", "Scale"],
            "get patch update",
        ),
        (
            is_account,
            "token",
            ["authentication.k8s.io", "v1", "TokenRequest"],
            "create",
        ),
    ] {
        let mut told = json!({
            "name": format!("{plural}/{name}"), "singularName": "", "namespaced": namespaced, "kind": kind,
            "verbs": words(verbs),
        });
        if !group.is_empty() {
            told["group"] = group.into();
            told["version"] = version.into();
        }
        listed.extend(is_there.then_some(told));
    }
    listed
}

/// What changes with the version in which objects are stored.
fn storage_hash(resource: &Resource) -> String {
    let version = match resource.family {
        // These are stored as they were before they had this version.
        Family::Definition => "v1beta1",
        _ => &resource.storage_version().name,
    };
    let stored = format!("{}/{version}/{}", resource.id().0, resource.kind);
    STANDARD.encode(&digest(&SHA256, stored.as_bytes()).as_ref()[..8])
}
