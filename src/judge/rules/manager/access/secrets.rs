//! Profiles contain no credentials.

use std::borrow::Cow;

use evidence::{
    api::{ClusterProfile, address::Address},
    leak::{Grade, Leak, LeakKind, leaks_in_text, leaks_under},
};
use serde_json::Value;

use super::providers::{Entry, all_entries};
use crate::{
    engine::{Answer, Hub},
    shared::{base64::decode, leaks::LeakFindings},
};

/// `access/no-secrets`
///
/// No access provider contains a credential: readers may have read one that was removed.
pub(in crate::rules) fn no_secrets(profile: &ClusterProfile, _: &Hub) -> Answer {
    Answer::each(all_entries(profile), |entry| {
        let mut leaks = LeakFindings::of("access provider");
        add_entry_leaks(&entry, &mut leaks);
        leaks.answer()
    })
}

fn add_entry_leaks(entry: &Entry, leaks: &mut LeakFindings) {
    let cluster = &entry.provider.cluster;
    leaks.text(&entry.provider.name, || entry.path(".name"));
    for (field, address) in [
        (".cluster.server", &cluster.server),
        (".cluster.proxy-url", &cluster.proxy_url),
    ] {
        leaks.add(leaks_in_address(address.as_deref().unwrap_or_default()), || {
            entry.path(field)
        });
    }
    for (field, text) in [
        (".cluster.tls-server-name", &cluster.tls_server_name),
        (".cluster.certificate-authority", &cluster.certificate_authority),
    ] {
        leaks.text(text.as_deref().unwrap_or_default(), || entry.path(field));
    }
    let data = cluster.certificate_authority_data.as_deref().unwrap_or_default();
    leaks.add(leaks_in_ca_data(data), || {
        entry.path(".cluster.certificate-authority-data")
    });
    for extension in &cluster.extensions {
        let path = |part: &str| entry.path(&format!(".cluster.extensions[{}].{part}", extension.name));
        leaks.text(&extension.name, || path("name"));
        let content = match extension.extension.value() {
            Value::String(text) => leaks_under(&extension.name, &text),
            _ => leaks_in_text(extension.extension.text()),
        };
        leaks.add(content, || path("extension"));
    }
}

/// `access/no-secrets-elsewhere`
///
/// No other part of a profile contains a credential.
pub(in crate::rules) fn no_secrets_elsewhere(profile: &ClusterProfile, _: &Hub) -> Answer {
    let mut leaks = LeakFindings::of("profile");
    leaks.map("metadata.labels", &profile.metadata.labels);
    leaks.map("metadata.annotations", &profile.metadata.annotations);
    let display_name = profile.spec.display_name.as_deref().unwrap_or_default();
    leaks.text(display_name, || "spec.displayName".to_owned());
    leaks.text(profile.manager(), || "spec.clusterManager.name".to_owned());
    let status = &profile.status;
    let version = status.version.kubernetes.as_deref().unwrap_or_default();
    leaks.text(version, || "status.version.kubernetes".to_owned());
    for property in status.properties.iter() {
        let path = |part: &str| format!("status.properties[{}].{part}", property.name);
        leaks.text(&property.name, || path("name"));
        leaks.add(leaks_under(&property.name, &property.value), || path("value"));
    }
    for condition in status.conditions.iter() {
        let path = |part: &str| format!("status.conditions[{}].{part}", condition.kind);
        leaks.text(&condition.kind, || path("type"));
        leaks.text(&condition.reason, || path("reason"));
        leaks.text(&condition.message, || path("message"));
    }
    leaks.answer()
}

/// Credentials in an address, with or without a scheme. A user's name in it is not a credential, but unexpected.
fn leaks_in_address(address: &str) -> Vec<Leak> {
    if !address.contains('@') {
        return leaks_in_text(address);
    }
    let url = if address.contains("://") {
        address.to_owned()
    } else {
        format!("https://{}", address.trim_start_matches('/'))
    };
    let leaks = leaks_in_text(&url);
    let userinfo = Address::split(&url).userinfo.unwrap_or_default();
    if !leaks.is_empty() || userinfo.is_empty() {
        return leaks;
    }
    vec![Leak {
        kind: LeakKind::UserInfo,
        grade: Grade::Possible,
        length: userinfo.len(),
        place: String::new(),
        encoded: false,
        key: None,
        at: None,
    }]
}

/// Credentials in CA data, outside of the certificates.
fn leaks_in_ca_data(data: &str) -> Vec<Leak> {
    const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
    const END: &str = "-----END CERTIFICATE-----";
    let decoded = decode(data).unwrap_or_default();
    let pem: Cow<'_, str> = String::from_utf8_lossy(&decoded);
    if !pem.contains(BEGIN) {
        return leaks_in_text(data);
    }
    let mut rest = &*pem;
    let mut outside = String::new();
    while let Some((before, after)) = rest.split_once(BEGIN) {
        outside.push_str(before);
        rest = after.split_once(END).map_or("", |(_, after)| after);
    }
    outside.push_str(rest);
    leaks_in_text(&outside)
}
