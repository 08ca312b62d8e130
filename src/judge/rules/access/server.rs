//! How consumers reach the member: server, proxy and TLS.

use evidence::Evidence;

use super::{
    entries::{Entry, each_filled, each_present, entries},
    url::fault,
};
use crate::rules::{finding::Findings, text::redacted_address};

/// `access/server-is-url`
///
/// Each server of an access provider is an absolute URL with a host.
///
/// A provider without a server is accepted here: the hub's CRD decides whether a server is required.
pub(in crate::rules) fn server_is_url(evidence: &Evidence, findings: &mut Findings) {
    let has_server = |entry: &Entry| {
        entry
            .provider
            .cluster
            .server
            .as_deref()
            .is_some_and(|server| !server.is_empty())
    };
    let silent = entries(evidence).filter(|entry| !has_server(entry)).count();
    if silent > 0 {
        findings.note(format!(
            "{silent} access providers have no server, so consumers cannot reach the member with them"
        ));
    }
    each_filled(
        evidence,
        findings,
        "no access provider tells a server",
        |provider| provider.cluster.server.as_deref(),
        |entry, server| {
            let fault = fault(server, &["https", "http"])?;
            let finding = entry
                .finding(".cluster.server", format!("server {fault}"))
                .expected("an absolute URL with a host, such as https://a.example:6443")
                .observed(redacted_address(server));
            Some(finding)
        },
    );
}

/// `access/tls-verified`
///
/// Clients use TLS and verify the server's certificate.
pub(in crate::rules) fn tls_verified(evidence: &Evidence, findings: &mut Findings) {
    each_present(evidence, findings, |entry| {
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
        let scheme = cluster
            .server
            .as_deref()
            .and_then(|server| server.split_once("://"));
        let is_plain = scheme.is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("http"));
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
pub(in crate::rules) fn proxy_url_well_formed(evidence: &Evidence, findings: &mut Findings) {
    each_filled(
        evidence,
        findings,
        "no access provider tells a proxy",
        |provider| provider.cluster.proxy_url.as_deref(),
        |entry, proxy| {
            let fault = fault(proxy, &["http", "https", "socks5"])?;
            let finding = entry
                .finding(".cluster.proxy-url", format!("proxy {fault}"))
                .expected("an http, https or socks5 URL with a host")
                .observed(redacted_address(proxy));
            Some(finding)
        },
    );
}
