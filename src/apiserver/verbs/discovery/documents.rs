//! Discovery: the served groups, versions and resources.

use std::{cmp::Reverse, collections::BTreeMap};

use base64::{Engine, engine::general_purpose::STANDARD};
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use crate::{
    context::request::Context,
    object::status::{Failure, Outcome},
    request::{form::conversions, reply::Reply},
    store::{
        builtin::{OWN_GROUPS, is_own},
        resource::{Family, Resource, Version, path_of, priority},
        storage::{Documents, Storage},
    },
    verbs::discovery::{
        openapi,
        openapi::{INDEX, JSON},
    },
};

const OWN_VERBS: &str = "create delete deletecollection get list patch update watch";
const NAMESPACE_VERBS: &str = "create delete get list patch update watch";
/// The order of verbs of custom resources.
const CUSTOM_VERBS: &str = "delete deletecollection get list patch create update watch";
/// Paths besides those of groups.
const OTHERS: &str = "/healthz /livez /openapi/v2 /openapi/v3 /readyz /version";
/// The kinds of some subresources.
const SCALE: [&str; 3] = ["autoscaling", "v1", "Scale"];
const TOKEN_REQUEST: [&str; 3] = ["authentication.k8s.io", "v1", "TokenRequest"];
/// The content type of aggregated discovery, which only the roots have.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
/// The parameters in an Accept header that ask for it.
const AGGREGATION: (&str, &str, &str) = ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2");

impl Context<'_> {
    /// Answers a discovery request.
    pub(crate) fn discover(&self, path: &str) -> Outcome<Reply> {
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        let wishes: Vec<_> = conversions(self.accept).collect();
        let kind = match segments.as_slice() {
            ["openapi", ..] if wishes.is_empty() => return Err(Failure::plain(406, "")),
            ["openapi", "v3"] => INDEX,
            ["api" | "apis"] if wishes.contains(&AGGREGATION) => AGGREGATED,
            ["api" | "apis", ..] if wishes.iter().all(|(kind, ..)| !kind.is_empty()) => {
                return Err(Failure::not_acceptable(&[JSON]));
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
            (None, ["openapi", "v3", ..]) => Err(Failure::plain(404, "")),
            (None, ["api", _]) => Err(Failure::no_such_resource()),
            (None, ["apis", name, _]) if is_own(name) => Err(Failure::no_such_resource()),
            _ => Err(Failure::no_such_path()),
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
        let place = OWN_GROUPS.iter().position(|own| *own == resource.group);
        let place = (place.unwrap_or(OWN_GROUPS.len()), resource.group.as_str());
        let version_place = (Reverse(priority(&version.name)), version.name.as_str());
        let group = groups.entry(place).or_default();
        let known = group.entry(version_place).or_default();
        known.push(described(resource, version));
    }
    let mut documents = BTreeMap::new();
    let mut tell = |path: &str, kind, document: Value| {
        documents.insert((path.to_owned(), kind), document.to_string().into());
    };
    let mut paths = ["/api", "/api/v1", "/apis"].map(str::to_owned).to_vec();
    // APIGroupList sorts custom groups by the names of their versions.
    let (mut items, mut summaries) = (Vec::new(), BTreeMap::new());
    for ((place, name), versions) in groups {
        let first = versions.keys().map(|(_, version)| *version).min();
        let (mut aggregated, mut told) = (Vec::new(), Vec::new());
        let mut version_paths = Vec::new();
        for ((_, version), resources) in versions {
            let (listed, nested): (Vec<_>, Vec<_>) = resources.into_iter().unzip();
            let listed = listed.concat();
            aggregated.push(json!({"version": version, "resources": nested, "freshness": "Current"}));
            let path = path_of(name, version);
            let group_version = path.splitn(3, '/').nth(2);
            told.push(json!({"groupVersion": group_version, "version": version}));
            let mut list =
                json!({"kind": "APIResourceList", "groupVersion": group_version, "resources": listed});
            // The core group's list omits it.
            if !name.is_empty() {
                list["apiVersion"] = "v1".into();
            }
            tell(&path, JSON, list);
            version_paths.push(path);
        }
        if name.is_empty() {
            let core = vec![json!({"metadata": {}, "versions": aggregated})];
            tell("/api", AGGREGATED, all_of(core));
            continue;
        }
        items.push(json!({"metadata": {"name": name}, "versions": aggregated}));
        let mut group = json!({"name": name, "versions": told, "preferredVersion": told.first()});
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
    tell("/apis", AGGREGATED, all_of(items));
    documents
}

/// A list of aggregated groups.
fn all_of(groups: Vec<Value>) -> Value {
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": groups,
    })
}

/// A resource and its subresources, for lists and for aggregated discovery.
fn described(resource: &Resource, version: &Version) -> (Vec<Value>, Value) {
    let (plural, kind, namespaced) = (&resource.plural, &resource.kind, resource.namespaced);
    // Built-in resources omit their group and version.
    let own_kind: [&str; 3] = if is_own(&resource.group) {
        ["", "", kind]
    } else {
        [&resource.group, &version.name, kind]
    };
    let tell_kind =
        |[group, version, kind]: [&str; 3]| json!({"group": group, "version": version, "kind": kind});
    let verbs = words(match resource.family {
        Family::Custom => CUSTOM_VERBS,
        Family::Review => "create",
        Family::Namespace => NAMESPACE_VERBS,
        _ => OWN_VERBS,
    });
    let mut listed = json!({
        "name": plural, "singularName": resource.singular, "namespaced": namespaced, "kind": kind, "verbs": verbs,
    });
    let scope = if namespaced { "Namespaced" } else { "Cluster" };
    let mut nested = json!({
        "resource": plural, "singularResource": resource.singular, "scope": scope, "verbs": verbs,
        "responseKind": tell_kind(own_kind),
    });
    if resource.family != Family::Review {
        listed["storageVersionHash"] = storage_hash(resource).into();
    }
    for (field, names) in [
        ("shortNames", &resource.short_names),
        ("categories", &resource.categories),
    ] {
        if !names.is_empty() {
            listed[field] = names.clone().into();
            nested[field] = names.clone().into();
        }
    }
    let (mut listed, mut below) = (vec![listed], Vec::new());
    let is_account = resource.family == Family::ServiceAccount;
    for (is_there, name, foreign, verbs) in [
        (version.status_subresource, "status", None, "get patch update"),
        (version.scale.is_some(), "scale", Some(SCALE), "get patch update"),
        (is_account, "token", Some(TOKEN_REQUEST), "create"),
    ] {
        if !is_there {
            continue;
        }
        let name_below = format!("{plural}/{name}");
        let mut told =
            json!({"name": name_below, "singularName": "", "namespaced": namespaced, "kind": kind});
        told["verbs"] = words(verbs).into();
        if let Some([group, version, kind]) = foreign {
            told["group"] = group.into();
            told["version"] = version.into();
            told["kind"] = kind.into();
        }
        listed.push(told);
        let kind = tell_kind(foreign.unwrap_or(own_kind));
        below.push(json!({"subresource": name, "responseKind": kind, "verbs": words(verbs)}));
    }
    if !below.is_empty() {
        nested["subresources"] = below.into();
    }
    (listed, nested)
}

/// A hash of the storage version.
fn storage_hash(resource: &Resource) -> String {
    let version = match resource.family {
        // kube-apiserver stores CRDs as v1beta1.
        Family::Definition => "v1beta1",
        _ => &resource.storage_version().name,
    };
    let stored = format!("{}/{version}/{}", resource.id().0, resource.kind);
    STANDARD.encode(&digest(&SHA256, stored.as_bytes()).as_ref()[..8])
}
