//! The suite `access`: whether `status.accessProviders` lets consumers reach a member.

use evidence::{
    Login, LoginCredential, LoginOutcome,
    api::{
        AccessProvider, Cluster,
        address::{Address, Schemes, url_fault},
    },
    certificate::Certificate,
};
use rustls_pki_types::{CertificateDer, pem::PemObject as _};

use crate::{
    engine::CLOCKS_APART,
    hash::HashSet,
    rules::prelude::*,
    text::{decode_base64, redacted_address},
};

const ACCESS_PROVIDERS: &str = "accessProviders";
const CREDENTIAL_PROVIDERS: &str = "credentialProviders";

const SERVER: &str = ".cluster.server";
const SERVER_NAME: &str = ".cluster.tls-server-name";
const PROXY: &str = ".cluster.proxy-url";
const CA_DATA: &str = ".cluster.certificate-authority-data";

/// One access provider of a profile.
#[derive(Clone, Copy)]
pub(super) struct ProviderEntry<'a> {
    /// The field name of the list that contains it.
    list: &'static str,
    /// Its index in that list.
    index: usize,
    /// Its content.
    pub(super) provider: &'a AccessProvider,
}

/// The access providers of both lists.
pub(super) fn all_entries(profile: &ClusterProfile) -> impl Iterator<Item = ProviderEntry<'_>> {
    let status = &profile.status;
    let lists = [
        (ACCESS_PROVIDERS, &status.access_providers),
        (CREDENTIAL_PROVIDERS, &status.credential_providers),
    ];
    lists.into_iter().flat_map(|(list, providers)| {
        let providers = providers.iter().enumerate();
        providers.map(move |(index, provider)| ProviderEntry {
            list,
            index,
            provider,
        })
    })
}

/// The access providers that consumers use. An entry of the deprecated list counts unless the newer list has its name.
pub(super) fn effective_entries(profile: &ClusterProfile) -> impl Iterator<Item = ProviderEntry<'_>> {
    let newer = &profile.status.access_providers;
    all_entries(profile).filter(|entry| {
        entry.list == ACCESS_PROVIDERS || newer.iter().all(|other| other.name != entry.provider.name)
    })
}

/// The effective entries that set a field, each with its text. An empty text is unset: Go serializes unset fields so.
fn entries_with<'a>(
    profile: &'a ClusterProfile,
    field: fn(&'a Cluster) -> Option<&'a str>,
) -> impl Iterator<Item = (ProviderEntry<'a>, &'a str)> {
    effective_entries(profile).filter_map(move |entry| {
        let text = field(&entry.provider.cluster).filter(|text| !text.is_empty())?;
        Some((entry, text))
    })
}

impl ProviderEntry<'_> {
    /// The path of a field, given as `part` with a leading dot. An entry without a name is identified by its index.
    pub(super) fn path(&self, part: &str) -> String {
        let list = self.list;
        match &*self.provider.name {
            "" => format!("status.{list}[{}]{part}", self.index),
            name => format!("status.{list}[{name}]{part}"),
        }
    }

    /// A finding on one of its fields.
    pub(super) fn finding(&self, part: &str, message: impl Into<String>) -> Finding {
        Finding::at_path(self.path(part), message)
    }

    /// A finding on one of its fields, in the words of the rule's file.
    pub(super) fn at_field(&self, part: &str, observed: impl Into<String>) -> Finding {
        Finding::at_field(self.path(part), observed)
    }

    /// The server; empty if unset.
    fn server(&self) -> Address<'_> {
        Address::split(self.provider.cluster.server.as_deref().unwrap_or_default())
    }
}

fn ca_data(cluster: &Cluster) -> Option<&str> {
    cluster.certificate_authority_data.as_deref()
}

/// `access/provider-named`: each access provider has a name that is unique in its list.
///
/// The two lists may name the same provider: the newer list takes precedence.
pub(crate) fn provider_named(profile: &ClusterProfile, _: &Hub) -> Answer {
    let mut names = HashSet::default();
    Answer::each(all_entries(profile), |entry| {
        let name = &*entry.provider.name;
        if name.trim().is_empty() {
            return Answer::broken(entry.at_field(".name", ABSENT));
        }
        Answer::broken_if(!names.insert((entry.list, name)), || {
            let message = "two access providers in a list have the same name";
            let finding = entry.finding(".name", message).observed(redacted(name));
            finding.expected("a unique name")
        })
    })
}

/// `access/not-deprecated-only`: a profile that fills the deprecated provider list also fills its replacement.
pub(crate) fn not_deprecated_only(profile: &ClusterProfile, _: &Hub) -> Answer {
    let deprecated = profile.status.credential_providers.len();
    let has_replacement = !profile.status.access_providers.is_empty();
    if deprecated == 0 && !has_replacement {
        return Answer::NotApplicable;
    }
    Answer::broken_if(!has_replacement, || {
        let observed = format!("{deprecated} in status.credentialProviders alone");
        Finding::at_field("status.credentialProviders", observed)
    })
}

/// `access/within-v1alpha2-limits`: access providers stay within the numbers and lengths that v1alpha2 accepts: 64
/// providers, 253 characters in a name, and 2048 in a URL.
///
/// The deprecated list is not examined: v1alpha2 lacks it.
pub(crate) fn within_v1alpha2_limits(profile: &ClusterProfile, _: &Hub) -> Answer {
    let providers = &profile.status.access_providers;
    let entries = all_entries(profile).filter(|entry| entry.list == ACCESS_PROVIDERS);
    let entries = Answer::each(entries, |entry| lengths_within_limits(&entry));
    if providers.len() <= 64 {
        return entries;
    }
    let message = "profile has more access providers than v1alpha2 accepts";
    let finding = Finding::at_path("status.accessProviders", message).expected("at most 64");
    Answer::broken(finding.observed(providers.len().to_string())).and(entries)
}

/// Judges the lengths of an entry's texts, in characters as the API server counts them.
fn lengths_within_limits(entry: &ProviderEntry) -> Answer {
    let cluster = &entry.provider.cluster;
    let fields = [
        (".name", Some(&*entry.provider.name), 253),
        (SERVER, cluster.server.as_deref(), 2048),
        (SERVER_NAME, cluster.tls_server_name.as_deref(), 253),
        (PROXY, cluster.proxy_url.as_deref(), 2048),
    ];
    let fields = fields.map(|(path, text, most)| (path.to_owned(), text.unwrap_or_default(), 0..=most));
    let extensions = cluster.extensions.iter().map(|extension| {
        let path = format!(".cluster.extensions[{}].name", extension.name);
        (path, &*extension.name, 1..=253)
    });
    Answer::each(fields.into_iter().chain(extensions), |(path, text, limits)| {
        let length = text.chars().count();
        Answer::broken_if(!limits.contains(&length), || {
            let at_least = if *limits.start() > 0 { "1 to " } else { "at most " };
            let finding = entry.at_field(&path, format!("{length} characters"));
            finding.expected(format!("{at_least}{} characters", limits.end()))
        })
    })
}

/// `access/server-is-url`: each server of an access provider is an absolute URL with a host.
///
/// client-go completes a server without a scheme, so such a server is only a warning up to edition 2026-07.
pub(crate) fn server_is_url(profile: &ClusterProfile, hub: &Hub) -> Answer {
    let needs_scheme = hub.edition(Role::Manager) >= Edition::Y2026M09;
    let servers = entries_with(profile, |cluster| cluster.server.as_deref());
    Answer::each(servers, |(entry, server)| {
        let Some(fault) = url_fault(server, Schemes::Of(&["https", "http"])) else {
            return Answer::Kept;
        };
        let finding = entry.finding(SERVER, format!("server {fault}"));
        let finding = finding.observed(redacted_address(server));
        Answer::all([finding.advisory_unless(needs_scheme || !lacks_only_scheme(server))])
    })
}

/// Whether a server is `host[:port][/path]`. A single word like `unknown` is not a host.
fn lacks_only_scheme(server: &str) -> bool {
    let completed = format!("https://{server}");
    let address = Address::split(server);
    let is_host = address.bare_host().contains(['.', ':']);
    address.scheme.is_none()
        && address.userinfo.is_none()
        && (is_host || address.port.is_some_and(|port| !port.is_empty()))
        && url_fault(&completed, Schemes::Of(&["https"])).is_none()
}

/// `access/server-told`: each access provider has a server.
pub(crate) fn server_present(profile: &ClusterProfile, _: &Hub) -> Answer {
    Answer::each(effective_entries(profile), |entry| {
        let server = entry.provider.cluster.server.as_deref();
        Answer::broken_if(server.unwrap_or_default().is_empty(), || {
            entry.at_field(SERVER, redacted_or_absent(server))
        })
    })
}

/// `access/tls-verified`: clients use TLS and verify the server's certificate.
pub(crate) fn tls_verified(profile: &ClusterProfile, _: &Hub) -> Answer {
    Answer::each(effective_entries(profile), |entry| {
        let is_unverified = entry.provider.cluster.insecure_skip_tls_verify == Some(true);
        let verifies = Answer::broken_if(is_unverified, || {
            entry.at_field(".cluster.insecure-skip-tls-verify", "true")
        });
        verifies.and(Answer::broken_if(entry.server().has_scheme("http"), || {
            let finding = entry.finding(SERVER, "server is accessed without TLS");
            finding.expected("https").observed("http")
        }))
    })
}

/// `access/proxy-url-well-formed`: each proxy is a URL that clients support.
pub(crate) fn proxy_url_well_formed(profile: &ClusterProfile, _: &Hub) -> Answer {
    let proxies = entries_with(profile, |cluster| cluster.proxy_url.as_deref());
    Answer::each(proxies, |(entry, proxy)| {
        let Some(fault) = url_fault(proxy, Schemes::Of(&["http", "https", "socks5"])) else {
            return Answer::Kept;
        };
        let finding = entry.finding(PROXY, format!("proxy {fault}"));
        Answer::broken(finding.observed(redacted_address(proxy)))
    })
}

/// `access/portable`: no access provider depends on `tls-server-name`, which v0.1.3 of the API's Go module drops.
pub(crate) fn portable(profile: &ClusterProfile, _: &Hub) -> Answer {
    Answer::each(effective_entries(profile), |entry| {
        let name = entry.provider.cluster.tls_server_name.as_deref();
        let name = name.unwrap_or_default();
        let is_other_name = !name.is_empty() && !name.eq_ignore_ascii_case(entry.server().bare_host());
        Answer::broken_if(is_other_name, || entry.at_field(SERVER_NAME, redacted(name)))
    })
}

/// `access/no-local-paths`: no access provider relies on a file, which consumers do not have. CA data override the path
/// of a file.
pub(crate) fn no_local_paths(profile: &ClusterProfile, _: &Hub) -> Answer {
    Answer::each(effective_entries(profile), |entry| {
        let is_set = |field: Option<&str>| field.is_some_and(|text| !text.is_empty());
        let cluster = &entry.provider.cluster;
        let has_path = is_set(cluster.certificate_authority.as_deref());
        Answer::broken_if(has_path && !is_set(ca_data(cluster)), || {
            entry.at_field(".cluster.certificate-authority", "a path")
        })
    })
}

/// `access/ca-data-is-certificates`: the CA data of an access provider decode to PEM with at least one certificate.
pub(crate) fn ca_data_is_certificates(profile: &ClusterProfile, hub: &Hub) -> Answer {
    Answer::each(entries_with(profile, ca_data), |(entry, data)| {
        let has_certificate = !hub.validities.get(data, validities).is_empty();
        Answer::broken_if(!has_certificate, || {
            let observed = match decode_base64(data) {
                Some(pem) => format!("{} bytes without a certificate", pem.len()),
                None => format!("{} bytes that are not base64", data.len()),
            };
            entry.at_field(CA_DATA, observed)
        })
    })
}

/// `access/ca-data-current`: at least one certificate of each CA bundle is valid. Clocks may differ by 5 min.
pub(crate) fn ca_data_current(profile: &ClusterProfile, arrival: ArrivalTime, hub: &Hub) -> Answer {
    let now = arrival.hub_time;
    Answer::each(entries_with(profile, ca_data), |(entry, data)| {
        let periods = hub.validities.get(data, validities);
        let Some((from, until)) = periods.iter().copied().max_by_key(|(_, until)| *until) else {
            return Answer::NotApplicable;
        };
        let is_valid =
            |(from, until): &(Micros, Micros)| from - CLOCKS_APART <= now && now <= until + CLOCKS_APART;
        Answer::broken_if(!periods.iter().any(is_valid), || {
            let observed = if now < from {
                format!("one not valid before {}", timestamp(from))
            } else {
                format!("one expired at {}", timestamp(until))
            };
            let finding = entry.at_field(CA_DATA, observed);
            finding.expected(format!("a certificate that is valid at {}", timestamp(now)))
        })
    })
}

/// The validity period of each certificate in base64 of PEM. Skips other blocks, as clients do.
fn validities(ca_data: &str) -> Vec<(Micros, Micros)> {
    let pem = decode_base64(ca_data).unwrap_or_default();
    let blocks = CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok);
    let validities = blocks.filter_map(|der| {
        let (certificate, rest) = Certificate::read(&der)?;
        let (not_before, not_after) = certificate.validity()?;
        let period = (
            not_before.cast_signed() * SECOND,
            not_after.cast_signed() * SECOND,
        );
        rest.is_empty().then_some(period)
    });
    validities.collect()
}

/// `access/plugin-yields-credential`: the plugin of an access provider returns a credential that the member accepts.
pub(crate) fn plugin_yields_credential(profile: &ClusterProfile, logins: &[&Login]) -> Answer {
    Answer::each(logins, |login| {
        let LoginCredential::Plugin(provider) = &login.credential else {
            return Answer::NotApplicable;
        };
        let (message, expected, observed) = match &login.outcome {
            LoginOutcome::Accepted { .. } => return Answer::Kept,
            LoginOutcome::Unanswered { reason } => return Answer::Unknown(reason.clone()),
            LoginOutcome::Refused { code, message } => (
                "the member rejects the credential that the plugin returns",
                "a credential that the member accepts",
                format!("it answers {code} {message}"),
            ),
            LoginOutcome::NoCredential { reason } => (
                "the access provider's plugin returns no credential",
                "an ExecCredential with a credential",
                reason.to_string(),
            ),
        };
        let entry = effective_entries(profile).find(|entry| *entry.provider.name == **provider);
        let list = entry.map_or(CREDENTIAL_PROVIDERS, |entry| entry.list);
        let path = format!("status.{list}[{}].cluster", redacted(provider));
        let finding = Finding::at_path(path, message).expected(expected);
        Answer::broken(finding.observed(redacted(&observed)))
    })
}

#[cfg(test)]
mod tests {
    use base64::prelude::{BASE64_STANDARD, Engine as _};

    use super::*;

    #[test]
    fn host_and_port_lack_only_a_scheme() {
        for server in "a.example a.example:6443/api node1:6443 10.0.0.1 [2001:db8::1]:6443".split(' ') {
            assert!(lacks_only_scheme(server), "{server}");
        }
        for server in "unknown|TODO|n/a|https:/a.example|https:a|user@a.example|2001:db8::1|".split('|') {
            assert!(!lacks_only_scheme(server), "{server}");
        }
    }

    #[test]
    fn blocks_without_a_certificate_are_skipped() {
        let certificate = rcgen::generate_simple_self_signed(["a.example".to_owned()]);
        let good = certificate.expect("a certificate").cert.pem();
        let broken = "-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n";
        let cut = good.replacen("-----END CERTIFICATE-----\n", "", 1);
        let count = |pem: &str| validities(&BASE64_STANDARD.encode(pem)).len();
        assert_eq!(count(&good), 1);
        assert_eq!(count(&format!("{good}{good}")), 2);
        assert_eq!(count(&format!("# an authority\n{good}")), 1);
        assert_eq!(count(&good.replace('\n', "\r\n")), 1);
        assert_eq!(count(&format!("{broken}{good}")), 1);
        assert_eq!(count(&format!("{good}{cut}")), 1);
        assert_eq!(count(broken), 0);
        assert_eq!(count(""), 0);
    }
}
