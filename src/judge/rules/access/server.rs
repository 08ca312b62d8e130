//! How consumers reach the member: server, proxy and TLS.

use evidence::{
    Evidence,
    api::address::{Address, Schemes, url_fault},
};

use super::entries::{entries, examined, filled};
use crate::rules::{
    finding::Findings,
    presence::TOO_EARLY,
    text::{redacted_address, redacted_or_absent},
};

/// `access/server-is-url`
///
/// Each server of an access provider is an absolute URL with a host.
///
/// A provider without a server is the matter of `access/server-told`.
pub(in crate::rules) fn server_is_url(evidence: &Evidence, findings: &mut Findings) {
    let servers = filled(
        evidence,
        findings,
        "no access provider tells a server",
        |provider| provider.cluster.server.as_deref(),
    );
    for (entry, server) in servers {
        if let Some(fault) = url_fault(server, Schemes::Of(&["https", "http"])) {
            findings.report(
                entry
                    .finding(".cluster.server", format!("server {fault}"))
                    .expected("an absolute URL with a host, such as https://a.example:6443")
                    .observed(redacted_address(server)),
            );
        }
    }
}

/// `access/server-told`
///
/// Each access provider has a server, once the grace period is over.
///
/// An entry of the deprecated list does not count where the newer list has the same provider: consumers take that one.
pub(in crate::rules) fn server_told(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no profile has an access provider");
    let mut is_early = false;
    for entry in entries(evidence).filter(|entry| !entry.is_replaced()) {
        let server = entry.provider.cluster.server.as_deref().unwrap_or_default();
        if server.is_empty() && !evidence.is_settled(entry.profile) {
            is_early = true;
            continue;
        }
        findings.examine();
        if server.is_empty() {
            findings.report(
                entry
                    .finding(".cluster.server", "access provider tells no server")
                    .expected("the URL by which consumers reach the member")
                    .observed(redacted_or_absent(entry.provider.cluster.server.as_deref())),
            );
        }
    }
    if is_early && findings.examined == 0 {
        findings.cannot_tell(TOO_EARLY);
    }
}

/// `access/tls-verified`
///
/// Clients use TLS and verify the server's certificate.
pub(in crate::rules) fn tls_verified(evidence: &Evidence, findings: &mut Findings) {
    for entry in examined(evidence, findings) {
        let cluster = &entry.provider.cluster;
        if cluster.insecure_skip_tls_verify == Some(true) {
            findings.report(
                entry
                    .finding(
                        ".cluster.insecure-skip-tls-verify",
                        "the server's certificate is not verified",
                    )
                    .expected("false")
                    .observed("true"),
            );
        }
        let server = cluster.server.as_deref().map(Address::split);
        if server.is_some_and(|server| server.has_scheme("http")) {
            findings.report(
                entry
                    .finding(".cluster.server", "server is accessed without TLS")
                    .expected("https")
                    .observed("http"),
            );
        }
    }
}

/// `access/proxy-url-well-formed`
///
/// Each proxy is a URL that clients support.
pub(in crate::rules) fn proxy_url_well_formed(evidence: &Evidence, findings: &mut Findings) {
    let proxies = filled(
        evidence,
        findings,
        "no access provider tells a proxy",
        |provider| provider.cluster.proxy_url.as_deref(),
    );
    for (entry, proxy) in proxies {
        if let Some(fault) = url_fault(proxy, Schemes::Of(&["http", "https", "socks5"])) {
            findings.report(
                entry
                    .finding(".cluster.proxy-url", format!("proxy {fault}"))
                    .expected("an http, https or socks5 URL with a host")
                    .observed(redacted_address(proxy)),
            );
        }
    }
}
