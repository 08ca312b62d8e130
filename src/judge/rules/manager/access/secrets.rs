//! Profiles contain no credentials.

use std::{borrow::Cow, sync::Arc};

use evidence::{
    api::{AccessProvider, ClusterProfile, address::Address},
    leak::{Grade, Leak, LeakKind, leaks_in_text, leaks_under},
};

use super::entries::{NO_PROVIDER, of_profile};
use crate::{
    hash::HashSet,
    shared::{
        base64::decode,
        leak_search::{Clean, LeakSearch, is_known},
    },
    subjects::{Findings, Profiles},
};

/// `access/no-secrets`
///
/// No access provider contains a credential, in any version seen: readers may have read one that was removed.
pub(in crate::rules) fn no_secrets(profiles: &Profiles, findings: &mut Findings) {
    findings.not_applicable(NO_PROVIDER);
    let has_any = |profile: &ClusterProfile| of_profile(profile).next().is_some();
    search(profiles, findings, "access provider", has_any, |search| {
        search.access()
    });
}

/// `access/no-secrets-elsewhere`
///
/// No other part of a profile contains a credential, in any version seen.
pub(in crate::rules) fn no_secrets_elsewhere(profiles: &Profiles, findings: &mut Findings) {
    search(
        profiles,
        findings,
        "profile",
        |_| true,
        |search| search.elsewhere(),
    );
}

/// Searches every version of each profile that has what is searched.
fn search(
    profiles: &Profiles,
    findings: &mut Findings,
    noun: &'static str,
    has_any: impl Fn(&ClusterProfile) -> bool,
    part: impl Fn(&mut Search),
) {
    let mut clean = Clean::default();
    for history in profiles.histories() {
        let mut versions = history.versions.iter();
        if !versions.any(|version| has_any(&version.object)) {
            continue;
        }
        findings.examine();
        let mut told = HashSet::default();
        let mut previous = None;
        for version in &history.versions {
            part(&mut Search {
                profile: &version.object,
                previous,
                leaks: LeakSearch {
                    object: &version.object,
                    noun,
                    told: &mut told,
                    clean: &mut clean,
                    findings,
                },
            });
            previous = Some(&version.object);
        }
    }
}

/// The search of one version of a profile.
struct Search<'e, 's> {
    profile: &'e ClusterProfile,
    /// The version before: what is shared with it has been searched.
    previous: Option<&'e ClusterProfile>,
    leaks: LeakSearch<'e, 's, ClusterProfile>,
}

impl<'e> Search<'e, '_> {
    fn elsewhere(&mut self) {
        let (profile, previous) = (self.profile, self.previous);
        let metadata = &profile.metadata;
        if !is_known(
            previous.map(|previous| &previous.metadata.labels),
            &metadata.labels,
        ) {
            self.leaks.map("metadata.labels", &metadata.labels);
        }
        if !is_known(
            previous.map(|previous| &previous.metadata.annotations),
            &metadata.annotations,
        ) {
            self.leaks.map("metadata.annotations", &metadata.annotations);
        }
        if !is_known(previous.map(|previous| &previous.spec), &profile.spec) {
            let name = profile.spec.display_name.as_deref().unwrap_or_default();
            self.leaks.text(name, || "spec.displayName".to_owned());
            self.leaks
                .text(profile.manager(), || "spec.clusterManager.name".to_owned());
        }
        let status = &profile.status;
        let version = status.version.kubernetes.as_deref().unwrap_or_default();
        self.leaks
            .text(version, || "status.version.kubernetes".to_owned());
        if !is_known(
            previous.map(|previous| &previous.status.properties),
            &status.properties,
        ) {
            for property in status.properties.iter() {
                let path = |part: &str| format!("status.properties[{}].{part}", property.name);
                self.leaks.field(&property.name, &property.value, path);
            }
        }
        if !is_known(
            previous.map(|previous| &previous.status.conditions),
            &status.conditions,
        ) {
            for condition in status.conditions.iter() {
                let path = |part: &str| format!("status.conditions[{}].{part}", condition.kind);
                self.leaks.common(&condition.kind, leaks_in_text, || path("type"));
                self.leaks
                    .common(&condition.reason, leaks_in_text, || path("reason"));
                self.leaks
                    .common(&condition.message, leaks_in_text, || path("message"));
            }
        }
    }

    fn access(&mut self) {
        let (profile, previous) = (self.profile, self.previous);
        let lists = |profile: &ClusterProfile| {
            let status = &profile.status;
            [&status.access_providers, &status.credential_providers].map(Arc::clone)
        };
        let are_known = previous.is_some_and(|previous| {
            lists(previous)
                .iter()
                .zip(&lists(profile))
                .all(|(one, other)| Arc::ptr_eq(one, other))
        });
        if are_known {
            return;
        }
        for entry in of_profile(profile) {
            let AccessProvider { name, cluster } = entry.provider;
            self.leaks.common(name, leaks_in_text, || entry.path(".name"));
            for (field, address) in [("server", &cluster.server), ("proxy-url", &cluster.proxy_url)] {
                let address = address.as_deref().unwrap_or_default();
                self.leaks
                    .add(in_address(address), || entry.path(&format!(".cluster.{field}")));
            }
            for (field, text) in [
                ("tls-server-name", &cluster.tls_server_name),
                ("certificate-authority", &cluster.certificate_authority),
            ] {
                let text = text.as_deref().unwrap_or_default();
                self.leaks.text(text, || entry.path(&format!(".cluster.{field}")));
            }
            if let Some(data) = cluster.certificate_authority_data.as_deref() {
                let path = || entry.path(".cluster.certificate-authority-data");
                self.leaks.common(data, in_authority, path);
            }
            for extension in &cluster.extensions {
                let path =
                    |part: &str| entry.path(&format!(".cluster.extensions[{}].{part}", extension.name));
                self.leaks.common(&extension.name, leaks_in_text, || path("name"));
                let leaks = match extension.extension.text() {
                    json if json.starts_with('"') => {
                        let text = extension.extension.value();
                        leaks_under(&extension.name, text.as_str().unwrap_or_default())
                    }
                    json => leaks_in_text(json),
                };
                self.leaks.add(leaks, || path("extension"));
            }
        }
    }
}

/// An address is a URL, or was meant to be one. A user's name in it is no credential, and has no business there.
fn in_address(address: &str) -> Vec<Leak> {
    if !address.contains('@') {
        return leaks_in_text(address);
    }
    let url = if address.contains("://") {
        address.to_owned()
    } else {
        format!("https://{}", address.trim_start_matches('/'))
    };
    let leaks = leaks_in_text(&url);
    let userinfo = Address::split(&url)
        .userinfo
        .filter(|userinfo| !userinfo.is_empty());
    if let (Some(userinfo), true) = (userinfo, leaks.is_empty()) {
        vec![Leak {
            kind: LeakKind::UserInfo,
            grade: Grade::Possible,
            length: userinfo.len(),
            place: String::new(),
            encoded: false,
            key: None,
            at: None,
        }]
    } else {
        leaks
    }
}

/// What stands in the data of an authority beside certificates.
fn in_authority(data: &str) -> Vec<Leak> {
    const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
    const END: &str = "-----END CERTIFICATE-----";
    let decoded = decode(data).unwrap_or_default();
    // Checking for UTF-8 is faster than mending it, which is seldom needed.
    let pem = str::from_utf8(&decoded).map_or_else(|_| String::from_utf8_lossy(&decoded), Cow::from);
    if !pem.contains(BEGIN) {
        return leaks_in_text(data);
    }
    let mut rest = &*pem;
    let mut beside = String::new();
    while let Some((before, after)) = rest.split_once(BEGIN) {
        beside.push_str(before);
        rest = after.split_once(END).map_or("", |(_, after)| after);
    }
    beside.push_str(rest);
    leaks_in_text(&beside)
}
