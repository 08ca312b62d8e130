//! How consumers reach the member: server, proxy and TLS.

use evidence::api::{
    Edition,
    address::{Address, Schemes, url_fault},
};

use super::entries::{NO_PROVIDER, OF_ACCESS, each_entry_in, each_filled, each_present};
use crate::{
    shared::state::State,
    subjects::{Findings, Profiles},
    text::{redacted_address, redacted_or_absent},
};

/// `access/server-is-url`
///
/// Each server of an access provider is an absolute URL with a host.
///
/// client-go connects to a server of the form `host:port`, too: up to edition 2026-07, whose CRD accepts it, such a server
/// is a warning. `access/server-told` judges providers without a server.
pub(in crate::rules) fn server_is_url(profiles: &Profiles, findings: &mut Findings) {
    let is_strict = profiles.evidence().header.claim.edition >= Edition::Y2026M09;
    each_filled(
        profiles,
        findings,
        "no access provider has a server",
        |provider| provider.cluster.server.as_deref(),
        |entry, server| {
            let fault = url_fault(server, Schemes::Of(&["https", "http"]))?;
            let finding = entry
                .finding(".cluster.server", format!("server {fault}"))
                .expected("an absolute URL with a host, such as https://a.example:6443")
                .observed(redacted_address(server));
            Some(if !is_strict && lacks_only_scheme(server) {
                finding.advisory()
            } else {
                finding
            })
        },
    );
}

/// Whether a server is `host` or `host:port`, which clients complete with a scheme.
fn lacks_only_scheme(server: &str) -> bool {
    let completed = format!("https://{server}");
    let parts = Address::split(&completed);
    Address::split(server).scheme.is_none()
        && parts.userinfo.is_none()
        && matches!(parts.path, "" | "/")
        && url_fault(&completed, Schemes::Of(&["https"])).is_none()
}

/// `access/server-told`
///
/// Each access provider has a server, once the grace period is over.
///
/// An entry of the deprecated list does not count where the newer list has the same provider: consumers take that one.
pub(in crate::rules) fn server_told(profiles: &Profiles, findings: &mut Findings) {
    findings.not_applicable(NO_PROVIDER);
    let state = State {
        filled_later: true,
        ..OF_ACCESS
    };
    each_entry_in(profiles, state, findings, |entry| {
        let server = entry.provider.cluster.server.as_deref();
        let is_told = server.is_some_and(|server| !server.is_empty());
        let silent = (!is_told).then(|| {
            entry
                .finding(".cluster.server", "access provider has no server")
                .expected("the URL by which consumers reach the member")
                .observed(redacted_or_absent(server))
        });
        (!entry.is_replaced()).then(|| silent.into_iter().collect())
    });
}

/// `access/tls-verified`
///
/// Clients use TLS and verify the server's certificate.
pub(in crate::rules) fn tls_verified(profiles: &Profiles, findings: &mut Findings) {
    each_present(profiles, findings, |entry| {
        let cluster = &entry.provider.cluster;
        let unverified = (cluster.insecure_skip_tls_verify == Some(true)).then(|| {
            entry
                .finding(
                    ".cluster.insecure-skip-tls-verify",
                    "the server's certificate is not verified",
                )
                .expected("false")
                .observed("true")
        });
        let server = cluster.server.as_deref().map(Address::split);
        let is_plain = server.is_some_and(|server| server.has_scheme("http"));
        let plain = is_plain.then(|| {
            entry
                .finding(".cluster.server", "server is accessed without TLS")
                .expected("https")
                .observed("http")
        });
        unverified.into_iter().chain(plain).collect()
    });
}

/// `access/proxy-url-well-formed`
///
/// Each proxy is a URL that clients support.
pub(in crate::rules) fn proxy_url_well_formed(profiles: &Profiles, findings: &mut Findings) {
    each_filled(
        profiles,
        findings,
        "no access provider has a proxy",
        |provider| provider.cluster.proxy_url.as_deref(),
        |entry, proxy| {
            let fault = url_fault(proxy, Schemes::Of(&["http", "https", "socks5"]))?;
            let finding = entry
                .finding(".cluster.proxy-url", format!("proxy {fault}"))
                .expected("an http, https or socks5 URL with a host")
                .observed(redacted_address(proxy));
            Some(finding)
        },
    );
}
