//! Discovery: the served groups, versions and resources.

use std::{cmp::Reverse, collections::BTreeMap};

use serde_json::{Value, json};

use crate::{
    context::Context,
    object::status::{HandlerResult, StatusFailure},
    request::{Reply, conversions},
    store::{
        builtin::{OWN_GROUPS, is_own},
        resource::{ApiVersion, Family, Resource, path_of, priority},
        storage::{Documents, Storage},
    },
    verbs::{
        openapi,
        openapi::{INDEX, JSON},
    },
};

const OWN_VERBS: &str = "create delete deletecollection get list patch update watch";
const NAMESPACE_VERBS: &str = "create delete get list patch update watch";
/// The order of verbs of custom resources.
const CUSTOM_VERBS: &str = "delete deletecollection get list patch create update watch";
/// Paths besides those of groups.
const OTHERS: &str = "/healthz /livez /openapi/v3 /readyz /version";

impl Context<'_> {
    /// Answers a discovery request.
    pub(crate) fn discover(&self, path: &str) -> HandlerResult<Reply> {
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        let conversions: Vec<_> = conversions(self.accept).collect();
        let kind = match segments.as_slice() {
            ["openapi", "v3", ..] if conversions.is_empty() => return Err(StatusFailure::plain(406, "")),
            ["openapi", "v3"] => INDEX,
            ["api" | "apis", ..] if conversions.iter().all(|(kind, ..)| !kind.is_empty()) => {
                return Err(StatusFailure::not_acceptable(&[JSON]));
            }
            _ => JSON,
        };
        let storage = self.state.storage();
        let documents = match segments.first() {
            Some(&"openapi") => storage.descriptions.get_or_init(|| openapi::documents(&storage)),
            _ => storage.documents.get_or_init(|| documents(&storage)),
        };
        let document = documents.get(&(format!("/{}", segments.join("/")), kind));
        match (document, segments.as_slice()) {
            (Some(document), _) => Ok(Reply::typed(kind, document.clone())),
            (None, ["openapi", "v3", ..]) => Err(StatusFailure::plain(404, "")),
            (None, ["api", _]) => Err(StatusFailure::no_such_resource()),
            (None, ["apis", name, _]) if is_own(name) => Err(StatusFailure::no_such_resource()),
            _ => Err(StatusFailure::no_such_path()),
        }
    }
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

/// All discovery documents of what is served now.
fn documents(storage: &Storage) -> Documents {
    let mut groups: BTreeMap<_, BTreeMap<_, Vec<_>>> = BTreeMap::new();
    for (resource, version) in storage.served() {
        let place = OWN_GROUPS.iter().position(|api| *api == resource.group);
        let place = (place.unwrap_or(OWN_GROUPS.len()), resource.group.as_str());
        let version_place = (Reverse(priority(&version.name)), version.name.as_str());
        let group = groups.entry(place).or_default();
        let resources_of_version = group.entry(version_place).or_default();
        resources_of_version.push(described(resource, version));
    }
    let mut documents = BTreeMap::new();
    let mut tell = |path: &str, kind, document: Value| {
        documents.insert((path.to_owned(), kind), document.to_string().into());
    };
    let mut paths = ["/api", "/api/v1", "/apis"].map(str::to_owned).to_vec();
    // APIGroupList sorts custom groups by the names of their versions.
    let mut summaries = BTreeMap::new();
    for ((place, name), versions) in groups {
        let first = versions.keys().map(|(_, version)| *version).min();
        let (mut entries, mut version_paths) = (Vec::new(), Vec::new());
        for ((_, version), resources) in versions {
            let resource_list = resources.concat();
            let path = path_of(name, version);
            let group_version = path.splitn(3, '/').nth(2);
            entries.push(json!({"groupVersion": group_version, "version": version}));
            let mut list =
                json!({"kind": "APIResourceList", "groupVersion": group_version, "resources": resource_list});
            // The core group's list omits it.
            if !name.is_empty() {
                list["apiVersion"] = "v1".into();
            }
            tell(&path, JSON, list);
            version_paths.push(path);
        }
        if name.is_empty() {
            continue;
        }
        let mut group = json!({"name": name, "versions": entries, "preferredVersion": entries.first()});
        summaries.insert((place, first, name), group.clone());
        group["kind"] = "APIGroup".into();
        group["apiVersion"] = "v1".into();
        let path = format!("/apis/{name}");
        tell(&path, JSON, group);
        paths.push(path);
        paths.extend(version_paths);
    }
    paths.extend(words(OTHERS));
    tell("/", JSON, json!({"paths": paths}));
    let address = json!({"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"});
    let core = json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [address]});
    tell("/api", JSON, core);
    let summaries: Vec<Value> = summaries.into_values().collect();
    let groups = json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": summaries});
    tell("/apis", JSON, groups);
    documents
}

/// A resource and its subresources, for lists.
fn described(resource: &Resource, version: &ApiVersion) -> Vec<Value> {
    let (plural, kind, namespaced) = (&resource.plural, &resource.kind, resource.namespaced);
    let verbs = words(match resource.family {
        Family::Custom => CUSTOM_VERBS,
        Family::Review => "create",
        Family::Namespace => NAMESPACE_VERBS,
        _ => OWN_VERBS,
    });
    let mut entry = json!({
        "name": plural, "singularName": resource.singular, "namespaced": namespaced, "kind": kind, "verbs": verbs,
    });
    for (field, names) in [
        ("shortNames", &resource.short_names),
        ("categories", &resource.categories),
    ] {
        if !names.is_empty() {
            entry[field] = names.clone().into();
        }
    }
    let mut all = vec![entry];
    if version.status_subresource {
        all.push(json!({
            "name": format!("{plural}/status"), "singularName": "", "namespaced": namespaced, "kind": kind,
            "verbs": words("get patch update"),
        }));
    }
    if resource.family == Family::ServiceAccount {
        all.push(json!({
            "name": format!("{plural}/token"), "singularName": "", "namespaced": namespaced,
            "group": "authentication.k8s.io", "version": "v1", "kind": "TokenRequest", "verbs": ["create"],
        }));
    }
    all
}
