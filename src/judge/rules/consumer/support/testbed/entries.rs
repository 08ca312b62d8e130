//! The access providers of a profile, as a consumer may use them.

use std::{collections::BTreeSet, net::IpAddr};

use evidence::{
    ConsumerSpec,
    api::{
        AccessProvider, ClusterProfile, Json,
        address::{Address, Schemes, url_fault},
        names,
    },
};
use rustls_pki_types::{CertificateDer, pem::PemObject as _};
use serde_json::Value;

use crate::shared::base64::decode;

/// The entries of the providers that the consumer has a plugin for. Of two with one name in both lists, that of
/// `accessProviders` counts: the other list is deprecated.
pub(crate) fn known<'p>(
    profile: &'p ClusterProfile,
    claims: &ConsumerSpec,
) -> impl Iterator<Item = &'p AccessProvider> {
    entries(profile).filter(|entry| claims.providers.contains(&*entry.name))
}

/// The entries of all other providers.
pub(crate) fn unknown<'p>(
    profile: &'p ClusterProfile,
    claims: &ConsumerSpec,
) -> impl Iterator<Item = &'p AccessProvider> {
    entries(profile).filter(|entry| !claims.providers.contains(&*entry.name))
}

fn entries(profile: &ClusterProfile) -> impl Iterator<Item = &AccessProvider> {
    let mut names = BTreeSet::new();
    profile.access().filter(move |entry| names.insert(&*entry.name))
}

/// The known entries that a consumer has no reason to leave alone: it selects their profile, they can be used, are not of the
/// deprecated list, which newer consumers do not read, and their member is well and not about to go.
pub(crate) fn inviting<'p>(
    profile: &'p ClusterProfile,
    claims: &ConsumerSpec,
) -> impl Iterator<Item = &'p AccessProvider> {
    let says = |kind: &str, status: &str| {
        let mut conditions = profile.status.conditions.iter();
        conditions.any(|condition| *condition.kind == *kind && *condition.status == *status)
    };
    let is_well = says(names::CONDITION_HEALTHY, "True")
        && !says(names::CONDITION_JOINED, "False")
        && !says(names::CONDITION_JOINED, "Unknown");
    let is_going = profile.metadata.deletion_timestamp.is_some();
    let is_selected = is_selected(profile, claims);
    let listed = profile.status.access_providers.iter();
    listed.filter(move |entry| {
        let is_known = claims.providers.contains(&*entry.name);
        is_selected && is_well && !is_going && is_known && !server(entry).is_empty() && !is_malformed(entry)
    })
}

/// Whether the consumer reads a profile, by its namespace and its labels.
pub(crate) fn is_selected(profile: &ClusterProfile, claims: &ConsumerSpec) -> bool {
    let metadata = &profile.metadata;
    let is_read = claims.namespaces.is_empty() || claims.namespaces.contains(&*metadata.namespace);
    let has = |(key, value): (&String, &String)| metadata.labels.get(key).is_some_and(|own| *own == **value);
    is_read && claims.labels.iter().all(has)
}

/// The URL of an entry; empty if there is none.
pub(crate) fn server(entry: &AccessProvider) -> &str {
    entry.cluster.server.as_deref().unwrap_or_default()
}

/// The name that an entry has for TLS, if it has TLS.
pub(crate) fn tls_name(entry: &AccessProvider) -> Option<&str> {
    let name = entry.cluster.tls_server_name.as_deref();
    name.filter(|name| !name.is_empty() && !is_plain(entry))
}

/// Whether a client that uses an entry may send that server name: the one that the entry has, or else the URL's host or none.
/// IP addresses are not sent.
pub(crate) fn may_ask_for(entry: &AccessProvider, sent: Option<&str>) -> bool {
    let name = tls_name(entry).unwrap_or_else(|| Address::split(server(entry)).host);
    match sent {
        Some(sent) => bare(name).eq_ignore_ascii_case(bare(sent)),
        None => tls_name(entry).is_none() || name.parse::<IpAddr>().is_ok(),
    }
}

/// The proxy by which an entry's server is to be reached.
pub(crate) fn proxy(entry: &AccessProvider) -> Option<&str> {
    let proxy = entry.cluster.proxy_url.as_deref();
    proxy.filter(|proxy| !proxy.is_empty())
}

/// Whether an entry's server is to be reached without TLS.
pub(crate) fn is_plain(entry: &AccessProvider) -> bool {
    Address::split(server(entry)).has_scheme("http")
}

/// Whether who asks a proxy for that host and port comes out at a server.
pub(crate) fn is_way_to(url: &str, asked: &str) -> bool {
    let (url, asked) = (Address::split(url), Address::split(asked));
    let implied = if url.has_scheme("http") { "80" } else { "443" };
    let port = url.port.filter(|port| !port.is_empty()).unwrap_or(implied);
    bare(url.host).eq_ignore_ascii_case(bare(asked.host)) && asked.port.is_none_or(|asked| asked == port)
}

/// A name without the dot of a fully qualified one.
fn bare(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

/// Whether a client that uses an entry trusts that authority. Without one of its own, the system's count.
pub(crate) fn trusts(entry: &AccessProvider, ca_data: &str) -> bool {
    entry.cluster.insecure_skip_tls_verify == Some(true)
        || authority(entry).is_none_or(|named| {
            let theirs = certificates(ca_data);
            named == ca_data || certificates(named).iter().any(|own| theirs.contains(own))
        })
}

fn authority(entry: &AccessProvider) -> Option<&str> {
    let data = entry.cluster.certificate_authority_data.as_deref();
    data.filter(|data| !data.is_empty())
}

/// The certificates of PEM in base64. Other blocks are skipped, as clients do.
fn certificates(data: &str) -> Vec<CertificateDer<'static>> {
    let pem = decode(data).unwrap_or_default();
    CertificateDer::pem_slice_iter(&pem)
        .filter_map(Result::ok)
        .collect()
}

/// The content of an entry's extension of that name.
pub(crate) fn extension<'p>(entry: &'p AccessProvider, name: &str) -> Option<&'p Json> {
    let mut extensions = entry.cluster.extensions.iter();
    let found = extensions.find(|extension| &*extension.name == name);
    found.map(|extension| &extension.extension)
}

/// The arguments that an entry adds to a run of its plugin.
pub(crate) fn arguments(entry: &AccessProvider) -> Vec<String> {
    let value = extension(entry, names::EXTENSION_ARGS).map(|json| json.value());
    let list = value.iter().filter_map(Value::as_array).flatten();
    list.filter_map(|argument| argument.as_str().map(str::to_owned))
        .collect()
}

/// The variables that an entry adds, as `NAME=value`.
pub(crate) fn variables(entry: &AccessProvider) -> BTreeSet<String> {
    let value = extension(entry, names::EXTENSION_ENVS).map(|json| json.value());
    let fields = value.iter().filter_map(Value::as_object).flatten();
    fields
        .filter_map(|(name, value)| Some(format!("{name}={}", value.as_str()?)))
        .collect()
}

/// Whether an entry cannot be used: its server is no URL, its authority no certificate, or an extension has another form.
pub(crate) fn is_malformed(entry: &AccessProvider) -> bool {
    let url = server(entry);
    let has =
        |name, is_form: fn(&Value) -> bool| extension(entry, name).is_none_or(|json| is_form(&json.value()));
    let are_texts = |list: &Value| {
        list.as_array()
            .is_some_and(|list| list.iter().all(Value::is_string))
    };
    let maps_texts = |map: &Value| {
        map.as_object()
            .is_some_and(|map| map.values().all(Value::is_string))
    };
    (!url.is_empty() && url_fault(url, Schemes::Of(&["https", "http"])).is_some())
        || authority(entry).is_some_and(|data| certificates(data).is_empty())
        || !has(names::EXTENSION_ARGS, are_texts)
        || !has(names::EXTENSION_ENVS, maps_texts)
        || !has(names::EXTENSION_EXEC, Value::is_object)
}
