//! The access providers of a profile, as a consumer may use them.

use std::collections::BTreeSet;

use evidence::{
    ConsumerClaims, MemberAddress,
    api::{AccessProvider, ClusterProfile, Json, names},
};
use serde_json::Value;

use crate::shared::base64::decode;

/// The entries of the providers that the consumer has a plugin for. Of two with one name in both lists, that of
/// `accessProviders` counts: the other list is deprecated.
pub(crate) fn known<'p>(
    profile: &'p ClusterProfile,
    claims: &ConsumerClaims,
) -> impl Iterator<Item = &'p AccessProvider> {
    entries(profile).filter(|entry| claims.providers.contains(&*entry.name))
}

/// The entries of all other providers.
pub(crate) fn unknown<'p>(
    profile: &'p ClusterProfile,
    claims: &ConsumerClaims,
) -> impl Iterator<Item = &'p AccessProvider> {
    entries(profile).filter(|entry| !claims.providers.contains(&*entry.name))
}

fn entries(profile: &ClusterProfile) -> impl Iterator<Item = &AccessProvider> {
    let mut names = BTreeSet::new();
    profile.access().filter(move |entry| names.insert(&*entry.name))
}

/// The URL of an entry; empty if there is none.
pub(crate) fn server(entry: &AccessProvider) -> &str {
    entry.cluster.server.as_deref().unwrap_or_default()
}

/// The content of an entry's extension of that name.
pub(crate) fn extension<'p>(entry: &'p AccessProvider, name: &str) -> Option<&'p Json> {
    let mut extensions = entry.cluster.extensions.iter();
    let found = extensions.find(|extension| &*extension.name == name);
    found.map(|extension| &extension.extension)
}

/// Whether an authority is a certificate in PEM, as far as its frame tells.
fn is_certificate(data: &str) -> bool {
    let pem = decode(data).unwrap_or_default();
    let has = |text: &[u8]| pem.windows(text.len()).any(|part| part == text);
    has(b"-----BEGIN CERTIFICATE-----") && has(b"-----END CERTIFICATE-----")
}

/// Whether an entry leads to an address: by its URL and, where members are told apart by it, its server name.
pub(crate) fn leads_to(entry: &AccessProvider, address: &MemberAddress) -> bool {
    let name = entry.cluster.tls_server_name.as_deref();
    server(entry) == address.url && (address.server_name.is_none() || address.server_name.as_deref() == name)
}

/// Whether an entry cannot be used: its server is no URL, its authority no certificate, or an extension has another form.
pub(crate) fn is_malformed(entry: &AccessProvider) -> bool {
    let url = server(entry);
    let is_url = url.starts_with("https://") || url.starts_with("http://");
    let authority = entry.cluster.certificate_authority_data.as_deref();
    let is_list =
        |name, is_form: fn(&Value) -> bool| extension(entry, name).is_none_or(|json| is_form(&json.value()));
    (!url.is_empty() && !is_url)
        || authority.is_some_and(|data| !is_certificate(data))
        || !is_list(names::EXTENSION_ARGS, Value::is_array)
        || !is_list(names::EXTENSION_ENVS, Value::is_object)
        || !is_list(names::EXTENSION_EXEC, Value::is_object)
}
